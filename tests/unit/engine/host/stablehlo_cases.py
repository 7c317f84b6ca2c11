"""StableHLO functions that the host and StableHLO's own interpreter are both given."""

from __future__ import annotations

__all__ = ["CASES"]


def _chain(kind: str, ops: str, inputs: int, *, result: str | None = None) -> str:
    """One function that gives the result of each op, so that all are compiled at once."""
    names = ops.split()
    arguments = ", ".join(f"%{n}: {kind}" for n in ("a", "b")[:inputs])
    operands = ", ".join(("%a", "%b")[:inputs])
    kinds = ", ".join([kind] * inputs)
    out = result or kind
    lines = [f'  %r{n} = "stablehlo.{name}"({operands}) : ({kinds}) -> {out}' for n, name in enumerate(names)]
    values = ", ".join(f"%r{n}" for n in range(len(names)))
    results = ", ".join([out] * len(names))
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n  return {values} : {results}\n}}"


def _one(signature: str, body: str) -> str:
    return f"func.func @main{signature} {{\n{body}\n}}"


def _converts(source: str, targets: str) -> str:
    names = targets.split()
    kinds = [f"tensor<2x3x{name}>" for name in names]
    given = f"tensor<2x3x{source}>"
    lines = [f"  %r{n} = stablehlo.convert %a : ({given}) -> {kind}" for n, kind in enumerate(kinds)]
    values = ", ".join(f"%r{n}" for n in range(len(names)))
    listed = ", ".join(kinds)
    return _one(f"(%a: {given}) -> ({listed})", "\n".join([*lines, f"  return {values} : {listed}"]))


def _compare(kind: str, how: str) -> str:
    flags = kind.rpartition("x")[0] + "xi1>"
    names = ["EQ", "NE", "LT", "GE", "GT", "LE"]
    lines = [
        f"  %r{n} = stablehlo.compare {d}, %a, %b{how} : ({kind}, {kind}) -> {flags}"
        for n, d in enumerate(names)
    ]
    values = ", ".join(f"%r{n}" for n in range(6))
    listed = ", ".join([flags] * 6)
    return _one(f"(%a: {kind}, %b: {kind}) -> ({listed})", "\n".join([*lines, f"  return {values} : {listed}"]))


_UNARY = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate "
    "round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"
)
_BINARY = "add subtract multiply divide maximum minimum power remainder"
_BITS = "and or xor shift_left shift_right_arithmetic shift_right_logical"

CASES = {
    **{f"unary {t}": _chain(f"tensor<2x3x{t}>", _UNARY, 1) for t in ("f32", "f64", "f16", "bf16")},
    **{f"binary {t}": _chain(f"tensor<5x{t}>", f"{_BINARY} atan2", 2) for t in ("f32", "f64", "f16", "bf16")},
    **{
        f"binary {t}": _chain(f"tensor<5x{t}>", f"{_BINARY} {_BITS}", 2)
        for t in ("i8", "i32", "ui8", "ui32", "i64")
    },
    "unary i32": _chain("tensor<5xi32>", "abs negate sign not popcnt count_leading_zeros", 1),
    "logic": _chain("tensor<4xi1>", "and or xor", 2),
    "is_finite": _chain("tensor<2x3xf32>", "is_finite", 1, result="tensor<2x3xi1>"),
    "compare f32": _compare("tensor<5xf32>", ""),
    "compare ui8": _compare("tensor<5xui8>", ", UNSIGNED"),
    "compare i32": _compare("tensor<5xi32>", ", SIGNED"),
    "convert f32": _converts("f32", "f64 f16 bf16 i32 ui8 i1"),
    "convert i32": _converts("i32", "f32 f16 i8 i64 i1"),
    "convert ui8": _converts("ui8", "f32 i32 i64"),
    "convert f64": _converts("f64", "f16 bf16 f32"),
    "reshape": _one(
        "(%a: tensor<2x3xf32>) -> tensor<6xf32>",
        "  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>\n  return %0 : tensor<6xf32>",
    ),
    "transpose": _one(
        "(%a: tensor<2x3xf32>) -> tensor<3x2xf32>",
        "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "  return %0 : tensor<3x2xf32>",
    ),
    "slice": _one(
        "(%a: tensor<4x5xf32>) -> tensor<2x2xf32>",
        "  %0 = stablehlo.slice %a [1:3, 0:4:2] : (tensor<4x5xf32>) -> tensor<2x2xf32>\n"
        "  return %0 : tensor<2x2xf32>",
    ),
    "concatenate": _one(
        "(%a: tensor<2x3xf32>, %b: tensor<2x2xf32>) -> tensor<2x5xf32>",
        "  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>\n"
        "  return %0 : tensor<2x5xf32>",
    ),
    "pad": _one(
        "(%a: tensor<2x3xf32>, %b: tensor<f32>) -> tensor<5x6xf32>",
        "  %0 = stablehlo.pad %a, %b, low = [1, 0], high = [1, 1], interior = [1, 1]"
        " : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x6xf32>\n  return %0 : tensor<5x6xf32>",
    ),
    "pad with a negative edge": _one(
        "(%a: tensor<2x3xf32>, %b: tensor<f32>) -> tensor<2x2xf32>",
        "  %0 = stablehlo.pad %a, %b, low = [0, -1], high = [0, 0], interior = [0, 0]"
        " : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>\n  return %0 : tensor<2x2xf32>",
    ),
    "select and clamp": _one(
        "(%p: tensor<2x3xi1>, %a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %l: tensor<f32>, %h: tensor<f32>)"
        " -> (tensor<2x3xf32>, tensor<2x3xf32>)",
        "  %0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>\n"
        "  %1 = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>\n"
        "  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>",
    ),
    "iota and reverse": _one(
        "(%a: tensor<2x3xf32>) -> (tensor<2x3xi32>, tensor<2x3xf32>)",
        "  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>\n"
        "  %1 = stablehlo.reverse %a, dims = [1] : tensor<2x3xf32>\n"
        "  return %0, %1 : tensor<2x3xi32>, tensor<2x3xf32>",
    ),
    "dot_general": _one(
        "(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32>",
        "  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]"
        " : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>\n  return %0 : tensor<2x3x5xf32>",
    ),
    "dot_general of i8": _one(
        "(%a: tensor<3x4xi8>, %b: tensor<4x5xi8>) -> tensor<3x5xi32>",
        "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
        " : (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xi32>\n  return %0 : tensor<3x5xi32>",
    ),
    "convolution": _one(
        "(%a: tensor<1x5x5x2xf32>, %b: tensor<3x3x2x4xf32>) -> tensor<1x3x3x4xf32>",
        "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],"
        " window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64,"
        " feature_group_count = 1 : i64} : (tensor<1x5x5x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x3x3x4xf32>\n"
        "  return %0 : tensor<1x3x3x4xf32>",
    ),
    "convolution in groups": _one(
        "(%a: tensor<1x2x5x5xf32>, %b: tensor<4x1x3x3xf32>) -> tensor<1x4x3x3xf32>",
        "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],"
        " window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}"
        " : (tensor<1x2x5x5xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x3x3xf32>\n"
        "  return %0 : tensor<1x4x3x3xf32>",
    ),
    "reduce": _one(
        "(%a: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<f32>)",
        "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]"
        " : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
        "  %1 = stablehlo.reduce(%a init: %c) applies stablehlo.maximum across dimensions = [0, 1]"
        " : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>\n  return %0, %1 : tensor<2xf32>, tensor<f32>",
    ),
    "reduce_window": _one(
        "(%a: tensor<1x4x4x1xf32>) -> tensor<1x2x2x1xf32>",
        "  %c = stablehlo.constant dense<-1.0e10> : tensor<f32>\n"
        '  %0 = "stablehlo.reduce_window"(%a, %c) <{window_dimensions = array<i64: 1,2,2,1>,'
        " window_strides = array<i64: 1,2,2,1>}> ({\n"
        "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %m = stablehlo.maximum %x, %y : tensor<f32>\n"
        "    stablehlo.return %m : tensor<f32>\n"
        "  }) : (tensor<1x4x4x1xf32>, tensor<f32>) -> tensor<1x2x2x1xf32>\n  return %0 : tensor<1x2x2x1xf32>",
    ),
    "gather": _one(
        "(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) -> tensor<2x3xf32>",
        '  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],'
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,"
        " slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>\n"
        "  return %0 : tensor<2x3xf32>",
    ),
    "dynamic slices": _one(
        "(%a: tensor<4x5xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>) -> (tensor<2x2xf32>, tensor<4x5xf32>)",
        "  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 2]"
        " : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>\n"
        "  %1 = stablehlo.dynamic_update_slice %a, %u, %i, %i"
        " : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>\n"
        "  return %0, %1 : tensor<2x2xf32>, tensor<4x5xf32>",
    ),
    "while": _one(
        "(%n: tensor<i32>) -> tensor<i32>",
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n  %o = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %c, %s = %c) : tensor<i32>, tensor<i32> cond {\n"
        "    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n  } do {\n    %i2 = stablehlo.add %i, %o : tensor<i32>\n"
        "    %s2 = stablehlo.add %s, %i : tensor<i32>\n"
        "    stablehlo.return %i2, %s2 : tensor<i32>, tensor<i32>\n  }\n  return %0#1 : tensor<i32>",
    ),
    "if": _one(
        "(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32>",
        '  %0 = "stablehlo.if"(%p) ({\n    %x = stablehlo.negate %a : tensor<2xf32>\n'
        "    stablehlo.return %x : tensor<2xf32>\n  }, {\n    stablehlo.return %a : tensor<2xf32>\n"
        "  }) : (tensor<i1>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>",
    ),
    "case": _one(
        "(%p: tensor<i32>, %a: tensor<2xf32>) -> tensor<2xf32>",
        '  %0 = "stablehlo.case"(%p) ({\n    %x = stablehlo.negate %a : tensor<2xf32>\n'
        "    stablehlo.return %x : tensor<2xf32>\n  }, {\n    %y = stablehlo.add %a, %a : tensor<2xf32>\n"
        "    stablehlo.return %y : tensor<2xf32>\n  }, {\n    stablehlo.return %a : tensor<2xf32>\n"
        "  }) : (tensor<i32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>",
    ),
    "sort": _one(
        "(%a: tensor<3x7xf32>, %k: tensor<3x7xi32>) -> (tensor<3x7xf32>, tensor<3x7xi32>)",
        '  %0:2 = "stablehlo.sort"(%k, %a) <{dimension = 1 : i64, is_stable = true}> ({\n'
        "  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<f32>):\n"
        "    %m = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %m : tensor<i1>\n"
        "  }) : (tensor<3x7xi32>, tensor<3x7xf32>) -> (tensor<3x7xi32>, tensor<3x7xf32>)\n"
        "  return %0#1, %0#0 : tensor<3x7xf32>, tensor<3x7xi32>",
    ),
    "sort along the first axis": _one(
        "(%a: tensor<5x2x2xf32>) -> tensor<5x2x2xf32>",
        '  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
        "    %m = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %m : tensor<i1>\n"
        "  }) : (tensor<5x2x2xf32>) -> tensor<5x2x2xf32>\n  return %0 : tensor<5x2x2xf32>",
    ),
    "scatter of rows": _one(
        "(%a: tensor<4x3xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3xf32>) -> tensor<4x3xf32>",
        '  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
        " index_vector_dim = 1>}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    %m = stablehlo.subtract %x, %y : tensor<f32>\n    stablehlo.return %m : tensor<f32>\n"
        "  }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>\n"
        "  return %0 : tensor<4x3xf32>",
    ),
    "scatter of windows, some outside": _one(
        "(%a: tensor<3x4xi32>, %i: tensor<2x3xi64>, %u: tensor<3x2x2xi32>) -> tensor<3x4xi32>",
        '  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0>}> ({\n"
        "  ^bb0(%x: tensor<i32>, %y: tensor<i32>):\n    stablehlo.return %y : tensor<i32>\n"
        "  }) : (tensor<3x4xi32>, tensor<2x3xi64>, tensor<3x2x2xi32>) -> tensor<3x4xi32>\n"
        "  return %0 : tensor<3x4xi32>",
    ),
    "barrier and size": _one(
        "(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>)",
        "  %0 = stablehlo.optimization_barrier %a : tensor<2x3xf32>\n"
        "  %1 = stablehlo.get_dimension_size %0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>\n"
        "  return %0, %1 : tensor<2x3xf32>, tensor<i32>",
    ),
    "bits": _one(
        "(%a: tensor<3xf32>) -> (tensor<3xi32>, tensor<3xf32>)",
        "  %0 = stablehlo.bitcast_convert %a : (tensor<3xf32>) -> tensor<3xi32>\n"
        "  %1 = stablehlo.reduce_precision %a, format = e5m10 : tensor<3xf32>\n"
        "  return %0, %1 : tensor<3xi32>, tensor<3xf32>",
    ),
    "select_and_scatter": _one(
        "(%a: tensor<4x4xf32>, %s: tensor<2x2xf32>) -> tensor<4x4xf32>",
        "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '  %0 = "stablehlo.select_and_scatter"(%a, %s, %c) <{window_dimensions = array<i64: 2,2>,'
        " window_strides = array<i64: 2,2>}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    %m = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %m : tensor<i1>\n  }, {\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    %m = stablehlo.add %x, %y : tensor<f32>\n    stablehlo.return %m : tensor<f32>\n"
        "  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>\n"
        "  return %0 : tensor<4x4xf32>",
    ),
}
