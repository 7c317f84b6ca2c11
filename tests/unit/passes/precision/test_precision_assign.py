"""precision-assign: which ops are exceptions, and the reasons that are written on them."""

from __future__ import annotations

import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.ir.builder import Op
from mlirtrt_nb.passes.base import PassContext
from mlirtrt_nb.passes.pipeline import make_pass
from mlirtrt_nb.passes.precision.marks import REASON, TYPE, WEIGHTS
from mlirtrt_nb.program import Program

from .programs import attributes_of, convolutions, text_program

BASE = ("specialize-shapes", "onnx-eliminate-identity", "onnx-to-tensorrt")


def assigned(program: Program, **options: object) -> Program:
    """A copy of the program after the pass."""
    copy = program.clone()
    make_pass("precision-assign", options).apply(copy, PassContext())
    return copy


def converted() -> Program:
    return mt.Pipeline.parse(",".join(BASE)).run(mt.load(convolutions()), keep_snapshots=False).program


def marked_ops(program: Program) -> dict[str, str]:
    """Op name -> reason, from the table of exceptions."""
    from mlirtrt_nb.passes.precision.kept import kept_ops

    frame = kept_ops(program.module.operation)
    return dict(zip(frame["op"], frame["reason"], strict=True))


def test_statistics_softmax_and_exponentials() -> None:
    """The chain of a layer norm from its mean to its root, softmax, and exp are kept in f32."""
    program = text_program(
        "%x: tensor<2x8xf32>, %eps: tensor<1x1xf32>",
        """
        %sq = tensorrt.element_wise <kPROD> (%x, %x : tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
        %m = tensorrt.reduce <kAVG> %sq
          {keepDimensions = true, reduceAxes = array<i64: 1>} : tensor<2x8xf32> -> tensor<2x1xf32>
        %v = tensorrt.element_wise <kSUM> (%m, %eps : tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
        %r = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kSQRT>} %v : tensor<2x1xf32>
        %n = tensorrt.element_wise <kDIV> (%x, %r : tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
        %s = tensorrt.softmax {axis = 1 : i64} %n : tensor<2x8xf32>
        %e = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kEXP>} %s : tensor<2x8xf32>
        """,
        "%e : tensor<2x8xf32>",
    )
    found = marked_ops(assigned(program))
    assert found["tensorrt.reduce"] == "statistics of a normalization"
    assert found["tensorrt.softmax"] == "softmax sums exponentials"
    made = assigned(program)
    assert "exp magnifies rounding errors" in attributes_of(made, REASON).values()
    # The quotient, which is as large as what it normalizes, is not among them.
    assert made.text().count("precision.reason") == 6


def test_large_sums_and_constants_beyond_fp16() -> None:
    """A sum of 4096 values, and an op with a constant of 1e5, are kept; those of 64 and 1e4 are not."""
    program = text_program(
        "%x: tensor<2x4096xf32>, %y: tensor<2x64xf32>",
        """
        %big = tensorrt.constant dense<1.0e5> : tensor<1x1xf32>
        %small = tensorrt.constant dense<1.0e4> : tensor<1x1xf32>
        %a = tensorrt.reduce <kSUM> %x
          {keepDimensions = true, reduceAxes = array<i64: 1>} : tensor<2x4096xf32> -> tensor<2x1xf32>
        %b = tensorrt.reduce <kSUM> %y
          {keepDimensions = true, reduceAxes = array<i64: 1>} : tensor<2x64xf32> -> tensor<2x1xf32>
        %c = tensorrt.element_wise <kSUM> (%a, %big : tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
        %d = tensorrt.element_wise <kSUM> (%b, %small : tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
        %e = tensorrt.element_wise <kSUM> (%c, %d : tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
        """,
        "%e : tensor<2x1xf32>",
    )
    text = assigned(program).text()
    assert text.count("a sum of 4096 values") == 1
    assert text.count("a constant of 1e+05, beyond fp16") == 1
    assert text.count("precision.reason") == 2
    assert assigned(program, rest="bf16").text().count("beyond fp16") == 0


def test_positions_and_indices() -> None:
    """What is computed from integers, or becomes integers, is kept: fp16 counts to 2048 only."""
    program = text_program(
        "%n: tensor<8xi32>, %x: tensor<8xf32>",
        """
        %p = tensorrt.cast %n : tensor<8xi32> to tensor<8xf32>
        %two = tensorrt.constant dense<2.0> : tensor<1xf32>
        %q = tensorrt.element_wise <kPROD> (%p, %two : tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
        %z = tensorrt.element_wise <kSUM> (%q, %x : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        %f = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kFLOOR>} %x : tensor<8xf32>
        %i = tensorrt.cast %f : tensor<8xf32> to tensor<8xi32>
        %back = tensorrt.cast %i : tensor<8xi32> to tensor<8xf32>
        %o = tensorrt.element_wise <kSUM> (%z, %back : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        """,
        "%o : tensor<8xf32>",
    )
    found = marked_ops(assigned(program))
    assert found["tensorrt.unary"] == "its results become integers"
    assert found["tensorrt.cast"] == "computed from integers: sizes, positions or a mask"
    assert assigned(program).text().count("precision.reason") == 4


def test_first_and_last_layer_for_int8() -> None:
    """The first keeps its numbers, the last its activations."""
    program = assigned(converted(), base="int8", rest="fp16")
    reasons = attributes_of(program, REASON)
    assert reasons["first"] == "first layer: it reads the input itself"
    assert reasons["last"] == "last layer: its results are the answer"
    assert attributes_of(program, TYPE) == {"first": "f16", "last": "f16"}
    assert not attributes_of(program, WEIGHTS)
    assert not attributes_of(assigned(converted(), base="fp8", rest="fp32"), REASON)


def test_weights_of_the_last_product() -> None:
    """They are quantized, since reading them is most of the work; not if the product is kept."""
    body = """
        %w = tensorrt.constant dense<1.0> : tensor<64x64xf32>
        %v = tensorrt.constant dense<1.0> : tensor<64x32xf32>
        %a = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
          op1 = #tensorrt.matrix_operation<kNONE>} ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>)
          -> tensor<8x64xf32>
        %b = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>,
          op1 = #tensorrt.matrix_operation<kNONE>} ins(%a, %v : tensor<8x64xf32>, tensor<64x32xf32>)
          -> tensor<8x32xf32>
        """
    program = text_program("%x: tensor<8x64xf32>", body, "%b : tensor<8x32xf32>")
    marked = assigned(program, base="int8", rest="fp16")
    (reason,) = [text for text in attributes_of(marked, REASON).values() if text.startswith("last")]
    assert reason == "last layer: its results are the answer; its weights are quantized all the same"
    assert list(attributes_of(marked, WEIGHTS).values()) == ["i8"]
    assert list(attributes_of(assigned(program, base="int8", rest="fp32"), WEIGHTS).values()) == ["i8"]
    by_user = assigned(program, base="int8", rest="fp16", keep=["matrix_multiply"])
    assert list(attributes_of(by_user, REASON).values()) == ["kept by matrix_multiply"] * 2
    assert not attributes_of(by_user, WEIGHTS)


@pytest.mark.parametrize(
    ("size", "channels", "rest", "kept"),
    [
        (6, 64, "fp16", False),
        (6, 32, "fp16", True),  # 32 values in a sum
        (6, 32, "fp32", False),  # the CPU's kernels have no such layer
        (1, 64, "fp16", True),
        (1, 64, "fp32", True),
        (1, 1025, "fp16", False),  # more weights than are read in no time
    ],
)
def test_small_convolutions(size: int, channels: int, rest: str, kept: bool) -> None:
    """A convolution of one position, and for TensorRT one that sums up few values, is left out."""
    kind = f"tensor<1x{channels}x{size}x{size}xf32>"
    body = f"%w = tensorrt.constant dense<1.0> : tensor<{channels}x{channels}x1x1xf32>\n"
    for made, given in (("a", "x"), ("b", "a"), ("c", "b")):
        body += f"""%{made} = tensorrt.convolution {{post_padding = array<i64: 0, 0>,
            pre_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>}} in(%{given} : {kind})
            kernel(%w : tensor<{channels}x{channels}x1x1xf32>) -> {kind}\n"""
    program = text_program(f"%x: {kind}", body, f"%c : {kind}")
    text = assigned(program, base="int8", rest=rest).text()
    assert text.count("precision.reason") == (3 if kept else 2)
    assert ("one position" in text or "sums of only 32 values" in text) == kept


def test_small_convolutions_that_are_joined() -> None:
    """Two that sum up 32 values each stay in int8 before a concatenation, which is rounded once for both."""
    kind, conv = "tensor<1x32x6x6xf32>", "post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>"
    body = "%w = tensorrt.constant dense<1.0> : tensor<32x32x1x1xf32>\n"
    for made, given in (("first", "x"), ("a", "first"), ("b", "first")):
        body += f"""%{made} = tensorrt.convolution {{{conv}, stride = array<i64: 1, 1>}} in(%{given} : {kind})
            kernel(%w : tensor<32x32x1x1xf32>) -> {kind}\n"""
    body += f"""%c = tensorrt.concatenation {{axis = 1 : i32}} ins(%a, %b : {kind}, {kind})
          -> tensor<1x64x6x6xf32>
        %v = tensorrt.constant dense<1.0> : tensor<8x64x1x1xf32>
        %last = tensorrt.convolution {{{conv}, stride = array<i64: 1, 1>}} in(%c : tensor<1x64x6x6xf32>)
          kernel(%v : tensor<8x64x1x1xf32>) -> tensor<1x8x6x6xf32>"""
    program = text_program(f"%x: {kind}", body, "%last : tensor<1x8x6x6xf32>")
    text = assigned(program, base="int8", rest="fp16").text()
    assert text.count("precision.reason") == 2 and "sums of only" not in text


def test_the_users_exceptions() -> None:
    """By op name, by a regular expression on source nodes, by a function, each with its type."""
    by_name = attributes_of(assigned(converted(), keep=["convolution"], defaults=False), REASON)
    assert set(by_name) == {"first", "middle", "last"} and by_name["first"] == "kept by convolution"
    by_source = attributes_of(assigned(converted(), keep=["relu.->fp16", "last"], defaults=False), TYPE)
    assert by_source == {"relu0": "f16", "relu1": "f16", "last": "f32"}

    def pooled(op: Op) -> bool:
        return op.name == "tensorrt.pooling"

    keep = mt.Keep(pooled)
    by_function = attributes_of(assigned(converted(), keep=[keep], defaults=False), REASON)
    assert by_function == {"pool": "kept by pooled()"}


def test_the_users_exceptions_come_first() -> None:
    """What the user says of an op stands, also where there is a default exception."""
    program = assigned(converted(), base="int8", rest="fp16", keep=["first"])
    assert attributes_of(program, TYPE)["first"] == "f32"


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("frist", "near names: first"),
        ("relu", "near names: relu"),
        ("convolutions", "near names: convolution"),
        ("zzzzzz", "ops are activation, convolution, pooling"),
    ],
)
def test_a_pattern_that_matches_nothing(pattern: str, hint: str) -> None:
    """The error lists near names."""
    with pytest.raises(mt.PrecisionError, match="matches no op") as caught:
        assigned(converted(), keep=[pattern])
    assert hint in (caught.value.hint or "")


def test_a_function_that_takes_nothing() -> None:
    """A function that says no to every op is an error too."""
    with pytest.raises(mt.PrecisionError, match="takes no op"):
        assigned(converted(), keep=[mt.Keep(lambda op: False)])


def test_a_function_has_no_text() -> None:
    """A pipeline's text names the function; reading it back is refused with the remedy."""
    pipeline = mt.Pipeline.default("cpu", mt.Precision("fp16", keep=lambda op: False))
    again = mt.Pipeline.parse(str(pipeline))
    with pytest.raises(mt.PrecisionError, match="names the function"):
        again.run(mt.load(convolutions()))


def test_depthwise_convolutions() -> None:
    """A convolution of one channel a group is kept for int8 and fp8; one of two channels a group is not."""
    body = """
        %w = tensorrt.constant dense<1.0> : tensor<8x1x3x3xf32>
        %v = tensorrt.constant dense<1.0> : tensor<8x2x3x3xf32>
        %a = tensorrt.convolution {num_groups = 8 : ui32, post_padding = array<i64: 1, 1>,
          pre_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>}
          in(%x : tensor<1x8x6x6xf32>) kernel(%w : tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
        %b = tensorrt.convolution {num_groups = 4 : ui32, post_padding = array<i64: 1, 1>,
          pre_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>}
          in(%a : tensor<1x8x6x6xf32>) kernel(%v : tensor<8x2x3x3xf32>) -> tensor<1x8x6x6xf32>
        """
    program = text_program("%x: tensor<1x8x6x6xf32>", body, "%b : tensor<1x8x6x6xf32>")
    for base in ("int8", "fp8"):
        assert assigned(program, base=base, rest="fp32").text().count("a depthwise convolution") == 1
    assert "precision.reason" not in assigned(program, base="int4", rest="fp32").text()
