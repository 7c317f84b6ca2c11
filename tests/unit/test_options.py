"""Options as typed on a line."""

import pytest

from mlirtrt_nb.errors import OptionError, ShapeError
from mlirtrt_nb.options import parse_shape_options, parse_target_options, unknown_option
from mlirtrt_nb.program import TensorSpec


def test_shapes() -> None:
    """A shape, a range, and a name with an equals sign in it."""
    given = ["x=1x3x224x224", "y=1x8:2x8:4x8", "a=b=2"]
    assert parse_shape_options(given) == {"x": "1x3x224x224", "y": ("1x8", "2x8", "4x8"), "a=b": "2"}


def test_no_shapes() -> None:
    """Without options there are no shapes to pass on."""
    assert parse_shape_options([]) is None


@pytest.mark.parametrize("text", ["1x3", "=1x3", "x=1:2", "x=1:2:3:4"])
def test_malformed_shapes(text: str) -> None:
    """What is not understood is shown with the right form."""
    with pytest.raises(OptionError) as caught:
        parse_shape_options([text])
    assert repr(text) in str(caught.value)
    assert "--shape name=MIN:OPT:MAX" in str(caught.value)


def test_an_input_given_twice() -> None:
    """Two shapes for one input are refused rather than one of them ignored."""
    with pytest.raises(OptionError, match="'x' twice"):
        parse_shape_options(["x=1", "x=2"])


def test_targets() -> None:
    """Targets are repeated or separated by commas; the default counts where there are none."""
    assert parse_target_options(["cpu", "sm89, sm120"], "cuda") == ["cpu", "sm89", "sm120"]
    assert parse_target_options([], "cpu,sm89") == ["cpu", "sm89"]


def test_commas_in_a_range() -> None:
    """A range with commas is refused with the same range as it is to be written."""
    with pytest.raises(OptionError, match=r"MIN:OPT:MAX: x=1x3:2x3:4x3$"):
        parse_shape_options(["x=1x3,2x3,4x3"])


def test_dynamic_inputs_need_options() -> None:
    """The hint for a dynamic input without a shape is an option that can be pasted."""
    inputs = [TensorSpec("x", ("N", 3), "f32"), TensorSpec("y", (2,), "f32")]
    with pytest.raises(ShapeError, match=r"x: Nx3xf32\n  hint: .*: --shape x=1x3:1x3:4x3$"):
        parse_shape_options([], inputs)
    assert parse_shape_options(["x=2x3"], inputs) == {"x": "2x3"}


def test_unknown_options() -> None:
    """The near option is named, or else all."""
    assert (
        unknown_option("--taget=cpu", ["--target", "--shape"])
        == "unknown option --taget; did you mean --target?"
    )
    assert (
        unknown_option("--zzz", ["--target", "--shape"]) == "unknown option --zzz; options: --target, --shape"
    )
    assert unknown_option("word", ["--target"]) == "unexpected argument 'word'"
