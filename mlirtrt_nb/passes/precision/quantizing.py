"""Writes quantize and dequantize ops into a program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch_mlir import ir

from ...ir import dtypes, shapes
from ...ir.builder import Op, create
from ...ir.constants import attribute_of, handle_name, value_of
from ...program import Program
from ..input.rewriting import functions, only_user
from ..tensorrt.matching import constant, erase_unused, maker, operations
from .marks import kept_type, mark, wants_weights
from .operands import Product, product_of, products, with_kernel_operands
from .placement import Site, joined, sites
from .rounding_weights import LIMITS, Rounded, block_of, in_blocks, per_channel, per_tensor
from .tensor_names import tensor_names

__all__ = ["Quantizer"]

# A table that rows are gathered from is worth quantizing from this many elements on.
_TABLE = 1 << 14
_RECURRENCES = ("lstm", "gru", "rnn")
_NO_ROWS = "the weights of an output channel do not lie in a row, as blocks have to"


class Quantizer:
    """Quantizes the ops of one program.

    `kind` is the small type, `rest` the type around it: no scale is smaller than its smallest normal number.
    """

    def __init__(self, program: Program, kind: str, rest: str, block: int) -> None:
        self._program = program
        self._kind = kind
        self._rest = rest
        self._block = block
        self._least = 2.0**-14 if rest == "f16" else 2.0**-126
        self._rounded: dict[tuple[ir.Value, str], ir.Value] = {}
        self._pairs: dict[tuple[ir.Value, float], ir.Value] = {}
        with_kernel_operands(program)

    def weights_only(self) -> None:
        """Store weights of products, and of tables that rows are gathered from, in the small type."""
        for product in products(self._program):
            if product.constant is None or kept_type(product.operation) is not None:
                continue
            if self._has_finite_weights(product.operation):
                self._weight(product, self._kind)
            else:
                self._leave(product.operation, "its weights hold NaN or infinity")
        self._tables()
        self._recurrences()

    def with_activations(self, ranges: Mapping[str, float]) -> None:
        """Quantize products with their activations, whose ranges are given by tensor name."""
        names: dict[ir.Value, str] = {}
        for function in functions(self._program):
            names |= tensor_names(function)
        listed = sites(self._program, self._rest)
        taken = [site for site in listed if self._has_range(site, names, ranges)]
        for site in taken:
            self._activation(site, ranges[names[site.root]] / LIMITS[self._kind])
            product = product_of(site.operation)
            if product is not None and product.constant is not None:
                self._weight(product, self._kind)
        for product in products(self._program):
            stored = wants_weights(product.operation)
            if stored is not None and product.constant is not None:
                self._weight(product, stored)
        if self._kind == "i8" and self._rest != "f32":
            self._tables()
        self._recurrences()

    def _has_range(self, site: Site, names: Mapping[ir.Value, str], ranges: Mapping[str, float]) -> bool:
        """Whether the site can be quantized; else it is marked with the reason."""
        name = names.get(site.root)
        if name is None or name not in ranges:
            reason = "its input has no range in the calibration"
        elif ranges[name] == 0:
            reason = "the range of its input is 0"
        elif ranges[name] / LIMITS[self._kind] < 2.0**-126:
            reason = "the range of its input is denormal"
        elif not self._has_finite_weights(site.operation):
            reason = "its weights hold NaN or infinity"
        else:
            return True
        self._leave(site.operation, reason)
        return False

    def _has_finite_weights(self, operation: ir.Operation) -> bool:
        product = product_of(operation)
        held = None if product is None else product.constant
        array = None if held is None else constant(held.results[0], self._program.weights)
        return array is None or not array.size or bool(np.isfinite([array.max(), array.min()]).all())

    def _recurrences(self) -> None:
        """Say of recurrences, whose layers take no rounded weights, that they are left out."""
        for operation in operations(self._program, *_RECURRENCES):
            self._leave(operation, "a recurrence: its weights and states are not quantized")

    def _leave(self, operation: ir.Operation, reason: str) -> None:
        """Mark an op as not quantized: it gets the type of the rest, or keeps what a model has it in."""
        own = str(ir.RankedTensorType(operation.results[0].type).element_type)
        mark(operation, self._rest if own == "f32" else own, reason)

    # Activations

    def _activation(self, site: Site, scale: float) -> None:
        value = site.value
        if maker(value, "dequantize") is not None:
            return
        self._round_before(value, site.root, scale)
        site.operation.operands[site.operand] = self._pair(value, scale)

    def _round_before(self, value: ir.Value, root: ir.Value, scale: float) -> None:
        """Round what is moved or joined to make `value` too, if nobody else reads it: the ops in between then
        work on the small type."""
        chain = _moves(value, root)
        if chain:
            chain[0].operands[0] = self._pair(root, scale)
        whole = joined(root)
        if whole is not None:
            for number, part in enumerate(list(whole.operands)):
                if maker(part, "constant") is None and maker(part, "dequantize") is None:
                    whole.operands[number] = self._pair(part, scale)

    def _pair(self, value: ir.Value, scale: float) -> ir.Value:
        """`value` rounded to the small type and back; one pair for each value and scale."""
        scale = max(scale, self._least)
        key = (value, scale)
        if key not in self._pairs:
            point, location = _after(value), _location(value)
            step = self._constant(np.array(scale, np.float32), "scale", point, location)
            small = shapes.tensor(ir.RankedTensorType(value.type).shape, ir.Type.parse(self._kind))
            down = create("tensorrt.quantize", [value, step], {}, [small], loc=location, ip=point)
            up = create(
                "tensorrt.dequantize", [down.results[0], step], {}, [value.type], loc=location, ip=point
            )
            self._pairs[key] = up.results[0]
        return self._pairs[key]

    # Weights

    def _weight(self, product: Product, kind: str) -> None:
        held = product.constant
        assert held is not None and product.weight is not None
        key = (held.results[0], f"{kind} {product.channel}")
        if key not in self._rounded:
            array = constant(held.results[0], self._program.weights)
            assert array is not None
            made = self._in_blocks(product, held, array) if kind == "i4" else None
            if kind == "i4" and made is None:
                turned = product.is_convolution and product.channel != 0
                self._leave(product.operation, _NO_ROWS if turned else "too few weights in a row for a block")
                return
            if made is None:
                scaled = self._scaled(array, kind, product.channel)
                made = self._dequantized(held, scaled, product.operation)
            self._rounded[key] = made
        product.operation.operands[product.weight] = self._rounded[key]
        erase_unused(held)

    def _scaled(self, array: np.ndarray, kind: str, axis: int) -> Rounded:
        if kind == "f8E4M3FN":
            return per_tensor(array, kind, self._least)
        return per_channel(array, kind, axis, self._least)

    def _in_blocks(self, product: Product, held: ir.Operation, array: np.ndarray) -> ir.Value | None:
        """The weight in blocks; of a convolution as a matrix of a row per channel, reshaped afterwards."""
        depth, matrix = product.depth, array
        if product.is_convolution:
            if product.channel != 0:
                return None
            depth, matrix = 1, array.reshape(array.shape[0], -1)
        block = block_of(matrix.shape[depth], self._block)
        # One block in all would be one scale, which TensorRT takes for another form.
        if block is None or block == matrix.size:
            return None
        least = 2.0**-14 if array.dtype == np.float16 else self._least
        made = self._dequantized(held, in_blocks(matrix, "i4", depth, block, least), product.operation)
        if matrix is array:
            return made
        kind = held.results[0].type
        point, location = ir.InsertionPoint(held), product.operation.location
        return create("tensorrt.reshape", [made], {}, [kind], loc=location, ip=point).results[0]

    def _dequantized(self, held: ir.Operation, rounded: Rounded, reader: ir.Operation) -> ir.Value:
        """The constant `held` from rounded weights, by an op that belongs to the node of `reader`."""
        name = handle_name(held.attributes["weights"]) or "weight"
        point, location = ir.InsertionPoint(held), held.location
        small = str(dtypes.by_numpy(rounded.weights.dtype).mlir)
        stored = self._constant(rounded.weights, f"{name}.{small}", point, location)
        element = ir.RankedTensorType(held.results[0].type).element_type
        scale = rounded.scale.astype(dtypes.by_mlir(element).np, copy=False)  # of the type that it gives
        step = self._constant(scale, f"{name}.scale", point, location)
        kind = shapes.tensor(list(rounded.weights.shape), element)
        attributes = {"axis": rounded.axis} if rounded.axis is not None else {}
        made = create("tensorrt.dequantize", [stored, step], attributes, [kind], loc=reader.location, ip=point)
        return made.results[0]

    def _tables(self) -> None:
        """Tables that rows are gathered from: i8 with a scale per column, which gathering leaves alone."""
        for operation in operations(self._program, "gather"):
            held = maker(operation.operands[0], "constant")
            if held is None or kept_type(operation) is not None or Op.of(operation).attr("axis") != 0:
                continue
            array = value_of(held.attributes["weights"], self._program.weights)
            if (
                array.dtype != np.float32
                or array.ndim != 2
                or array.size < _TABLE
                or not np.isfinite(array).all()
            ):
                continue
            key = (held.results[0], "i8 1")
            if key not in self._rounded:
                columns = per_channel(array, "i8", 1, self._least)
                self._rounded[key] = self._dequantized(held, columns, operation)
            operation.operands[0] = self._rounded[key]
            erase_unused(held)

    def _constant(
        self, array: np.ndarray, name: str, point: ir.InsertionPoint, location: ir.Location
    ) -> ir.Value:
        attribute = attribute_of(array, self._program.weights, name)
        return create("tensorrt.constant", [], {"weights": attribute}, loc=location, ip=point).results[0]


def _moves(value: ir.Value, root: ir.Value) -> list[ir.Operation]:
    """The ops between `root` and `value`, in order; none if anybody else reads what is in between."""
    chain: list[ir.Operation] = []
    while value != root:
        owner = value.owner
        assert not isinstance(owner, ir.Block)
        if owner.operation.name == "tensorrt.dequantize" or (chain and only_user(value) is None):
            return []
        chain.insert(0, owner.operation)
        value = owner.operation.operands[0]
    return chain


def _after(value: ir.Value) -> ir.InsertionPoint:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint.after(owner.operation)


def _location(value: ir.Value) -> ir.Location:
    return ir.Location.unknown() if isinstance(value.owner, ir.Block) else value.owner.operation.location
