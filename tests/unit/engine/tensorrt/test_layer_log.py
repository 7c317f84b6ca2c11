"""The builder's log, read into rows and numbers."""

from __future__ import annotations

from mlirtrt_nb.engine.tensorrt import layer_count, parse_layers, parse_memory
from mlirtrt_nb.engine.tensorrt.sources import metadata_of, names_in


def _tensor(name: str, dims: str = "1,8,4,4", dtype: str = "Float") -> str:
    return (
        f"{{ Name: {name}, Dimensions: [{dims}], Strides: [1], StrideOrder: [3,0,2,1], Datatype: {dtype}, "
        "Format: (NHWC) Channel major format }"
    )


def _layer(name: str, kind: str, inputs: str, constants: str, outputs: str, rest: str) -> str:
    lists = f"Inputs: [{inputs}], Constants: [{constants}], Outputs: [{outputs}]"
    return f"Name: {name}, LayerType: {kind}, {lists}, {rest}"


CONV = _layer(
    "conv_myl0_1",
    "correlation",
    f" {_tensor('x')}",
    f" {_tensor('w', '8,8,3,3')}, {_tensor('b', '8', 'Half')}",
    f" {_tensor('y')}, {_tensor('z', '-1,8', 'Int64')}",
    'TacticName: __myelin_CASK_STUB, StreamId: 1, Metadata: ["conv"]\x1f["relu"]\x1e["conv"]',
)
SIGNAL = _layer("s_0", "signal", "", "", "", "TacticName: , StreamId: 0, EventId: 1, Metadata: ")
TAIL = "\n\nI/O Tensors:\n Name: x, IOMode: Input, DataType: Float\n\nEngine Metadata:\n Multi-Device: Disabled"


def test_a_layer_is_read_whole() -> None:
    """Every field of a layer's line lands in its place; bytes follow from shapes and types."""
    (row,) = parse_layers(["Layers:\n" + CONV + TAIL])
    assert (row.name, row.kind, row.tactic, row.stream) == (
        "conv_myl0_1",
        "correlation",
        "__myelin_CASK_STUB",
        1,
    )
    assert (row.inputs, row.outputs) == (("x",), ("y", "z"))
    assert (row.shapes, row.dtypes) == (("1x8x4x4", "?x8"), ("f32", "i64"))
    assert row.formats == ("(NHWC) Channel major format",) * 2
    assert row.weights_bytes == 8 * 8 * 9 * 4 + 8 * 2
    assert row.output_bytes is None  # one output varies
    assert row.sources == ("conv", "relu")


def test_stream_ordering_rows_are_rows_and_not_layers() -> None:
    """Signals and waits are listed, and not counted as layers."""
    rows = parse_layers(["noise", "Layers:\n" + "\n".join([CONV, SIGNAL, CONV]) + TAIL])
    assert [row.kind for row in rows] == ["correlation", "signal", "correlation"]
    assert layer_count(rows) == 2
    assert rows[1].output_bytes == 0 and rows[1].sources == ()


def test_names_may_hold_anything() -> None:
    """Commas, braces, quotes, line breaks and other scripts in tensor and layer names do not derail it."""
    odd = 'x, Dimensions: "q" {é}\nü'
    line = _layer(
        "a {b}, [c]",
        "kgen",
        f" {_tensor(odd)}",
        "",
        f" {_tensor('naïve, y')}",
        "TacticName: t, StreamId: 0, Metadata: " + metadata_of([odd, "b]", '["c"]']),
    )
    first, second = parse_layers(["Layers:\n" + line + "\n" + CONV + TAIL])
    assert first.name == "a {b}, [c]"
    assert (first.inputs, first.outputs) == ((odd,), ("naïve, y",))
    assert first.sources == (odd, "b]", '["c"]')
    assert second.name == "conv_myl0_1"


def test_layers_outside_the_fusing_compiler() -> None:
    """The older form without constants, strides or a tactic's name is read as well."""
    line = (
        "Name: [ShapeHostToDeviceCopy 0], LayerType: ShapeHostToDevice, Inputs: [], Outputs: [ { Name: s, "
        "Location: Device, Dimensions: [], Datatype: Int32, Format: Format not available due to dynamic shapes "
        "}], "
        "ParameterType: ShapeH2D, shapeValues0: [-5], TacticValue: 0x0000000000000000, StreamId: 0, Metadata: "
    )
    (row,) = parse_layers(["Layers:\n" + line + TAIL])
    assert (row.name, row.outputs, row.shapes) == ("[ShapeHostToDeviceCopy 0]", ("s",), ("",))
    assert (row.tactic, row.output_bytes) == ("0x0000000000000000", 4)


def test_a_truncated_log_gives_what_is_there() -> None:
    """Cut anywhere, the text still parses; no layer appears that was not in it."""
    text = "Layers:\n" + CONV + "\n" + SIGNAL + TAIL
    for end in range(0, len(text), 7):
        assert len(parse_layers([text[:end]])) <= 2


def test_memory_numbers() -> None:
    """The three numbers come from their own messages, and are None where there is none."""
    numbers = parse_memory(["Total Weights Memory: 12 bytes", "Max Scratch Memory: 7 bytes", "other: 3 bytes"])
    assert (numbers.weights_bytes, numbers.activation_bytes, numbers.scratch_bytes) == (12, None, 7)


def test_sources_survive_the_trip() -> None:
    """Names of any kind come back from the metadata of layers joined by the builder."""
    parts = [["a b", 'q"q'], ["ü,]["], ["a b"]]
    assert names_in("\x1e".join(metadata_of(part) for part in parts)) == ("a b", 'q"q', "ü,][")


def test_the_parsers_own_metadata() -> None:
    """What NVIDIA's parser writes is read too, so that both engines can be compared layer by layer."""
    text = "[ONNX Layer: conv[1]][ONNX Layer: relu]\x1f[ONNX Layer: pool]"
    assert names_in(text) == ("conv[1]", "relu", "pool")


def test_metadata_keeps_within_the_builders_limit() -> None:
    """Too many names become fewer, with a count of the rest; nothing longer than the limit is made."""
    text = metadata_of([f"node_{n}" * 10 for n in range(500)])
    assert len(text) < 4096
    assert names_in(text)[-1].startswith("(+")
