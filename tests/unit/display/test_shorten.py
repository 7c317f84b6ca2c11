"""Constants of which a display says type and size, not values."""

from __future__ import annotations

import pytest

from mlirtrt_nb.display.shorten import shortened

LONG = ", ".join(["1.000000e+00"] * 16)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "%0 = onnx.Constant dense_resource<w> : tensor<64x3x7x7xf32>",
            "%0 = onnx.Constant dense_resource<w> : tensor<64x3x7x7xf32>  // 36.8 KiB",
        ),
        (
            "%0 = onnx.Constant dense_resource<w> : tensor<3xi4>  // fc.weight",
            "%0 = onnx.Constant dense_resource<w> : tensor<3xi4>  // fc.weight, 2 B",
        ),
        (
            f"%0 = arith.constant dense<[{LONG}]> : tensor<16xf32>",
            "%0 = arith.constant dense<…> : tensor<16xf32>  // 64 B",
        ),
        (
            f'%0 = arith.constant dense<"0x{"00" * 64}"> : tensor<64xi8>',
            "%0 = arith.constant dense<…> : tensor<64xi8>  // 64 B",
        ),
        (
            "%0 = onnx.Constant dense<[1, 2]> : tensor<2xi64>",
            "%0 = onnx.Constant dense<[1, 2]> : tensor<2xi64>",
        ),
        ("%0 = a.op {w = dense_resource<w> : tensor<4xf32>} %x : f32", None),
    ],
)
def test_sizes(line: str, shown: str | None) -> None:
    """Weights and long literals are followed by their bytes; short literals and other ops stay as they are."""
    assert shortened(line) == (shown or line)


def test_what_is_left_out_of_a_run_is_counted() -> None:
    """The line that stands for the rest of a run says how many bytes they have."""
    lines = [f"%{n} = onnx.Constant dense_resource<w{n}> : tensor<256xf32>" for n in range(9)]
    shown = shortened("\n".join(lines)).split("\n")
    assert shown == [*(f"{line}  // 1.0 KiB" for line in lines[:3]), "// … 6 more constants, 6.0 KiB"]
