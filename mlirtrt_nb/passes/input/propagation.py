"""One sweep over a function that makes types more precise and replaces what is known by constants.

Ops are taken in order, so that a shape that becomes known shapes what follows: in a single sweep, static
input shapes turn all shape arithmetic that hangs on them into constants. Erasing waits for the end.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from torch_mlir import ir

from ...dialects.onnx.export import opset_import
from ...dialects.onnx.inference import TypeInference, is_settled, merge
from ...dialects.onnx.numpy_ops import compute, knows
from ...dialects.onnx.ops import constant, constant_value, is_absent
from ...dialects.onnx.shape_rules import misfit
from ...ir import dtypes
from ...ir.builder import Op
from ...ir.locations import sources_of
from ...ir.shapes import DYNAMIC
from ...program import Program
from ..firing import report
from ..tensorrt.conversions.dims import Dims
from .branches import demand_branch, joined_branches, take_branch
from .rewriting import has_uses

__all__ = ["Sweep"]

# Ops that may make a known shape out of one that is known in part.
_SHAPE_NAMES = "add cast concat div gather identity mul reshape shape size slice squeeze sub unsqueeze"
_SHAPE_OPS = frozenset(f"onnx.{name}" for name in _SHAPE_NAMES.split())
# Results that differ from run to run, and quantisation, which engines want to see.
_NEVER_NAMES = (
    "bernoulli constant custom dropout dynamicquantizelinear multinomial novalue quantizelinear randomnormal "
    "randomnormallike randomuniform randomuniformlike"
)
_NEVER = frozenset(f"onnx.{name}" for name in _NEVER_NAMES.split())
# Ops whose result has, dimension by dimension, the shape that an operand holds: which operand.
_SHAPED_BY = {"onnx.reshape": 1, "onnx.constantofshape": 0, "onnx.resize": 3}
_SIZES_OTHERWISE = ("axes", "keep_aspect_ratio_policy")  # attributes by which sizes are not the shape
_MOST_WANTED = 64  # elements of a value that the type of a reader may depend on

Evaluate = Callable[[list[ir.Operation]], dict[ir.Value, np.ndarray]]


class Sweep:
    """Refines and folds the ops of one function, in the current context.

    Args:
        program: weights are read from its table, and new ones are put there.
        function: a func.func of onnx ops.
        max_bytes: no op is folded whose result is larger than this and than its operands together.
        evaluate: computes ops that NumPy does not do, several at a time; None leaves those ops.
        shapes_only: fold only integers and booleans of up to 64 elements.
    """

    def __init__(
        self,
        program: Program,
        function: ir.Operation,
        *,
        max_bytes: int,
        evaluate: Evaluate | None = None,
        shapes_only: bool = False,
    ) -> None:
        self._weights = program.weights
        self._function = function
        self._max_bytes = max_bytes
        self._evaluate = evaluate
        self._shapes_only = shapes_only
        opsets = opset_import(function)
        self._dims = Dims(program.weights, opsets.get("", 1))
        self._inference = TypeInference(opsets, self._known)
        # Ops that wait for one common evaluation, and their results.
        self._pending: list[ir.Operation] = []
        self._waiting: set[ir.Value] = set()
        # Whether some branch cannot run with the types that are known; it is then never taken.
        self.impossible_region = False
        self.folded = 0

    @property
    def failure(self) -> tuple[ir.Operation, str] | None:
        """The first op, outside of regions, that cannot run with the types it is given, and why."""
        return self._inference.failure

    def run(self) -> None:
        """Sweep once, then set the function's result types to what is returned."""
        self._block(self._function.regions[0].blocks[0])
        self._flush()
        settle_signature(self._function)

    def _block(self, block: ir.Block) -> None:
        for op in list(block.operations):
            self._visit(op.operation)

    def _visit(self, operation: ir.Operation) -> None:
        if not operation.name.startswith("onnx.") or operation.name in ("onnx.constant", "onnx.novalue"):
            return
        if operation.name == "onnx.if" and self._inline_branch(operation):
            return
        if len(operation.regions):
            self._regions(operation)
            return
        self._want_shapes(operation)
        self._refine(operation, lambda: self._inference.results(operation))
        self._refine(operation, lambda: [self._shaped_by_parts(operation)])
        self._check(operation)
        self._fold(operation)

    def _check(self, operation: ir.Operation) -> None:
        """Note what inference does not look at: it takes the op's result, not its operands, for granted."""
        if self._inference.failure is None:
            wrong = misfit(operation, self._known)
            if wrong is not None:
                self._inference.failure = (operation, wrong)

    def _known(self, value: ir.Value) -> np.ndarray | None:
        return constant_value(value, self._weights)

    def _refine(self, operation: ir.Operation, infer: Callable[[], list[ir.Type | None]]) -> None:
        results = list(operation.results)
        if all(is_settled(result.type) for result in results):
            return
        for result, found in zip(results, infer(), strict=False):
            if not is_absent(result) and found is not None:
                better = merge(result.type, found)
                if better != result.type:
                    result.set_type(better)

    def _shaped_by_parts(self, operation: ir.Operation) -> ir.Type | None:
        """The result type of an op whose result's shape is an operand that is known in part."""
        index = _SHAPED_BY.get(operation.name)
        result = operation.results[0].type
        if index is None or index >= len(operation.operands) or not isinstance(result, ir.ShapedType):
            return None
        if operation.name == "onnx.resize" and any(key in operation.attributes for key in _SIZES_OTHERWISE):
            return None
        elements = self._dims.elements(operation.operands[index])
        if elements is None:
            return None
        data = operation.operands[0].type
        dims = [DYNAMIC] * len(elements)
        for axis, element in enumerate(elements):
            if isinstance(element, int) and element > 0:
                dims[axis] = element
            elif element == 0 and operation.name == "onnx.reshape":
                known = isinstance(data, ir.RankedTensorType) and axis < data.rank
                dims[axis] = data.shape[axis] if known else DYNAMIC  # type: ignore[attr-defined]
        return ir.RankedTensorType.get_unchecked(dims, result.element_type)

    # Regions ---------------------------------------------------------------------------------------

    def _inline_branch(self, operation: ir.Operation) -> bool:
        """Put the branch that a known condition takes in the place of the If."""
        condition = self._known(operation.operands[0])
        if condition is None or condition.size != 1:
            return False
        for moved in take_branch(operation, 0 if condition.reshape(()) else 1):
            self._visit(moved)
        self.folded += 1
        return True

    def _regions(self, operation: ir.Operation) -> None:
        before = self._inference.failure
        failed = [self._fails(region.blocks[0]) for region in operation.regions if len(region.blocks)]
        self._inference.failure = before
        if operation.name == "onnx.if" and sum(failed) == 1 and self._is_outermost(operation):
            demand_branch(operation, failed.index(False))
            self.folded += 1
            return
        self.impossible_region |= any(failed)
        if operation.name == "onnx.if":
            self._refine(operation, lambda: joined_branches(operation))

    def _fails(self, block: ir.Block) -> bool:
        """Sweep a region; whether it cannot run with the types that are known."""
        self._inference.failure = None
        self._block(block)
        return self._inference.failure is not None

    def _is_outermost(self, operation: ir.Operation) -> bool:
        return operation.parent is not None and operation.parent.operation == self._function

    # Folding ---------------------------------------------------------------------------------------

    def _fold(self, operation: ir.Operation) -> None:
        if operation.name in _NEVER or not len(operation.results):
            return
        if operation.name == "onnx.dequantizelinear" and not self._is_bias(operation):
            return
        array = self._from_parts(operation)
        if array is None and self._has_known_operands(operation) and self._within_limit(operation):
            array = self._compute(operation)
        if array is not None:
            self._replace(operation.results[0], array)

    def _from_parts(self, operation: ir.Operation) -> np.ndarray | None:
        """A shape value of which every element is known, though not every operand is."""
        result = operation.results[0]
        kind = result.type
        if operation.name not in _SHAPE_OPS or not isinstance(kind, ir.RankedTensorType) or kind.rank > 1:
            return None
        elements = self._dims.elements(result)
        if elements is None or not all(isinstance(element, int) for element in elements):
            return None
        array = np.array(elements, dtypes.by_mlir(kind.element_type).np)
        return array.reshape(()) if kind.rank == 0 else array

    def _has_known_operands(self, operation: ir.Operation) -> bool:
        given = [value for value in operation.operands if not is_absent(value)]
        return bool(given) and all(v in self._waiting or self._known(v) is not None for v in given)

    def _compute(self, operation: ir.Operation) -> np.ndarray | None:
        operands = [None if is_absent(value) else self._known(value) for value in operation.operands]
        waits = any(value in self._waiting for value in operation.operands)
        if not waits and knows(operation.name) and len(operation.results) == 1:
            array = compute(Op.of(operation), operands)
            if array is not None:
                return None if self._shapes_only and not _is_shape_like(array) else array
        if self._evaluate is not None and all(_is_plain(result) for result in operation.results):
            self._pending.append(operation)
            self._waiting.update(operation.results)
        return None

    def _within_limit(self, operation: ir.Operation) -> bool:
        made = sum(_nbytes(result.type) or 0 for result in operation.results if not is_absent(result))
        if made <= self._max_bytes:
            return True
        return made <= sum(_nbytes(value.type) or 0 for value in operation.operands)

    def _is_bias(self, operation: ir.Operation) -> bool:
        """Whether a DequantizeLinear is of int32, as biases are: no engine takes those quantised."""
        kind = operation.operands[0].type
        return isinstance(kind, ir.RankedTensorType) and str(kind.element_type) == "i32"

    def _replace(self, result: ir.Value, array: np.ndarray) -> None:
        operation = result.owner.operation
        name = next(iter(sources_of(operation.location)), "folded")
        with ir.InsertionPoint(operation):
            made = constant(array, self._weights, name, loc=operation.location)
        report(operation)
        result.replace_all_uses_with(made)
        self.folded += 1

    # Waiting ops -----------------------------------------------------------------------------------

    def _want_shapes(self, operation: ir.Operation) -> None:
        """Compute what waits if the type of a result may depend on it."""
        if not self._waiting or all(is_settled(result.type) for result in operation.results):
            return
        if any(value in self._waiting and _is_small(value.type) for value in operation.operands):
            self._flush()

    def _flush(self) -> None:
        if not self._pending or self._evaluate is None:
            return
        pending, waiting = self._pending, self._waiting
        self._pending, self._waiting = [], set()
        computed = self._evaluate(pending)
        inside = set(pending)
        for value, array in computed.items():
            read_outside = any(use.owner.operation not in inside for use in value.uses)
            if value in waiting and has_uses(value) and read_outside and array.dtype.kind not in "OUST":
                self._replace(value, array)


def settle_signature(function: ir.Operation) -> None:
    """Set the function's type to that of its arguments and of what it returns."""
    block = function.regions[0].blocks[0]
    returned = list(block.operations)[-1]
    kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _is_shape_like(array: np.ndarray) -> bool:
    return array.dtype.kind in "iub" and array.size <= _MOST_WANTED


def _is_plain(result: ir.Value) -> bool:
    return is_absent(result) or isinstance(result.type, ir.RankedTensorType | ir.UnrankedTensorType)


def _is_small(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return True
    return prod(kind.shape) <= _MOST_WANTED


def _nbytes(kind: ir.Type) -> int | None:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    try:
        return dtypes.by_mlir(kind.element_type).nbytes(prod(kind.shape))
    except KeyError:
        return None
