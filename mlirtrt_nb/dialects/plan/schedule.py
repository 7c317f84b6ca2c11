"""Ops a Plan is written in: all that the runtime will do, in the order in which it does it."""

from __future__ import annotations

from torch_mlir import ir

from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, Region
from ...ir.verifier import reject
from .attributes import space_of

__all__ = ["OPS"]

_EFFECT: frozenset[str] = frozenset()


def _stream_type(op: Op) -> list[ir.Type]:
    return [ir.Type.parse("!plan.stream_handle")]


def _event_type(op: Op) -> list[ir.Type]:
    return [ir.Type.parse("!plan.event")]


def _verify_buffer(op: Op) -> None:
    offset, live = op.attr("offset"), op.attr("live")
    if (offset is None) != bool(op.attr("dynamic")):
        reject(op, "give either `at` an offset, or `dynamic`")
    if len(live) != 2 or not 0 <= live[0] <= live[1]:
        reject(op, f"live must be [first, last] step, got {live}")
    if offset is not None and offset < 0:
        reject(op, f"offset must not be negative, got {offset}")
    if offset is not None and op.attr("bytes") is None:
        reject(op, "a buffer in the arena needs its size")


def _verify_copy(op: Op) -> None:
    spaces = {
        space_of(value.type) for value in (op.operand("source"), op.operand("target")) if value is not None
    }
    if "device" in spaces and op.operand("stream") is None:
        reject(op, "a copy from or to the device needs a stream")


_STREAM = Operand("stream", doc="Of type !plan.stream_handle.")
_MAYBE_STREAM = Operand("stream", optional=True, doc="Of type !plan.stream_handle.")
_INS = Operand("ins", variadic=True, doc="In the order of the callee's arguments.")
_OUTS = Operand("outs", variadic=True, doc="In the order of the callee's results.")

OPS = (
    OpDef(
        "plan.program",
        "What the runtime does for one call on one kind of device; the region's arguments are the inputs.",
        attrs=(
            Attr("sym_name", "str"),
            Attr("function_type", "type", doc="The inputs' and outputs' memrefs."),
            Attr("device", "str", doc="cpu or cuda."),
            Attr("targets", "array", doc="The targets whose engines it can run."),
            Attr("arena_bytes", "i64", doc="Size of the one allocation that holds the placed buffers."),
            Attr(
                "peak_live_bytes", "i64", doc="The least any placement could do: bytes live at the worst step."
            ),
            Attr("staging_bytes", "i64", optional=True, doc="The same for pinned host memory."),
            Attr("arg_attrs", "array", optional=True, doc="One dictionary per input."),
            Attr("res_attrs", "array", optional=True, doc="One dictionary per output."),
        ),
        results=(),
        regions=(Region("body", "one per input"),),
        assembly="custom<ProgramSignature>($sym_name, $function_type, $arg_attrs, $res_attrs) "
        "attr-dict-with-keyword $body",
        traits=frozenset({"isolated"}),
        example="plan.program @main_cpu(%x: memref<4xf32, #plan.memory_space<host>>) "
        "-> memref<4xf32, #plan.memory_space<host>>\n"
        '    attributes {arena_bytes = 0 : i64, device = "cpu", peak_live_bytes = 0 : i64, '
        'targets = ["cpu"]} {\n'
        "  %y = plan.output 0 : memref<4xf32, #plan.memory_space<host>>\n"
        "  plan.call @trt_engines::@main_0 ins(%x) outs(%y)\n  plan.return %y\n}",
    ),
    OpDef(
        "plan.stream",
        "A queue of device work; work on one stream runs in order.",
        attrs=(Attr("index", "i64"),),
        assembly="$index attr-dict",
        traits=_EFFECT,
        infer=_stream_type,
    ),
    OpDef(
        "plan.buffer",
        "Memory of the program: a place in the arena, or made by the engine that fills it.",
        attrs=(
            Attr("offset", "i64", optional=True, doc="Bytes from the start of the arena of its memory space."),
            Attr(
                "dynamic", "unit", optional=True, doc="Its size is known at the call; the engine allocates it."
            ),
            Attr("bytes", "i64", optional=True, doc="Its size; of the largest shape where the shape varies."),
            Attr("live", "array<i64>", doc="First and last step that touch it."),
            Attr(
                "alias", "i64", optional=True, doc="Buffers of one number share bytes of the arena over time."
            ),
            Attr("role", "str", optional=True, doc="workspace, or staging; absent for a tensor's own memory."),
        ),
        assembly="(`at` $offset^)? (`dynamic` $dynamic^)? (`size` $bytes^)? (`alias` $alias^)? "
        "(`role` $role^)? `live` $live attr-dict `:` type($result)",
        traits=_EFFECT,
        verify=_verify_buffer,
        example="%in = plan.buffer at 0 size 602112 live [0, 1] "
        ": memref<1x3x224x224xf32, #plan.memory_space<device>>",
    ),
    OpDef(
        "plan.output",
        "The memory of the program's n-th output, which the caller gives or the session allocates.",
        attrs=(Attr("index", "i64"), Attr("dynamic", "unit", optional=True, doc="The engine allocates it.")),
        assembly="$index (`dynamic` $dynamic^)? attr-dict `:` type($result)",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.constant",
        "A value that the program holds in host memory.",
        attrs=(Attr("value", "elements"),),
        assembly="$value attr-dict `->` type($result)",
        traits=frozenset({"pure"}),
    ),
    OpDef(
        "plan.copy",
        "Copies a buffer, between host and device or on one of them.",
        operands=(Operand("source"), Operand("target"), _MAYBE_STREAM),
        results=(),
        assembly="$source `to` $target (`on` $stream^)? attr-dict",
        traits=_EFFECT,
        verify=_verify_copy,
        example="plan.copy %x to %in on %s0",
    ),
    OpDef(
        "plan.enqueue",
        "Puts an engine's work on a stream and returns at once.",
        operands=(
            _STREAM,
            _INS,
            _OUTS,
            Operand("workspace", optional=True, doc="Scratch memory of the engine."),
        ),
        attrs=(Attr("callee", "symbol"),),
        results=(),
        assembly="$callee `on` $stream `ins` `(` $ins `)` `outs` `(` $outs `)` "
        "(`workspace` `(` $workspace^ `)`)? attr-dict",
        traits=_EFFECT,
        example="plan.enqueue @trt_engines::@backbone on %s0 ins(%in) outs(%f) workspace(%w)",
    ),
    OpDef(
        "plan.call",
        "Runs an engine on the host and waits for it.",
        operands=(_INS, _OUTS),
        attrs=(Attr("callee", "symbol"),),
        results=(),
        assembly="$callee `ins` `(` $ins `)` `outs` `(` $outs `)` attr-dict",
        traits=_EFFECT,
        example="plan.call @host_0 ins(%f) outs(%t)",
    ),
    OpDef(
        "plan.record",
        "An event that is reached when all work put on the stream before it is done.",
        operands=(_STREAM,),
        assembly="`on` $stream attr-dict",
        traits=_EFFECT,
        infer=_event_type,
    ),
    OpDef(
        "plan.wait",
        "Makes a stream wait for an event.",
        operands=(Operand("event"), _STREAM),
        results=(),
        assembly="$event `on` $stream attr-dict",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.synchronize",
        "Makes the host wait until all work put on the stream is done.",
        operands=(_STREAM,),
        results=(),
        assembly="$stream attr-dict",
        traits=_EFFECT,
    ),
    OpDef(
        "plan.return",
        "Ends the program; its operands are the outputs.",
        operands=(Operand("values", variadic=True),),
        results=(),
        assembly="($values^)? attr-dict",
        traits=frozenset({"terminator"}),
    ),
)
