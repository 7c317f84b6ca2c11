"""Messages about a value of the wrong kind."""

from __future__ import annotations

import numpy as np
import pytest

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InputError, OptionError, SourceError
from mlirtrt_nb.kind_name import kind_name

RELU = """func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}"""


@pytest.mark.parametrize(
    ("value", "name"),
    [(3, "an int"), (None, "None"), ("x", "a str"), (np.ones(2), "a ndarray"), (object(), "an object")],
)
def test_a_kind_has_its_article(value: object, name: str) -> None:
    """Vowels take "an"; None, the only one of its kind, takes none."""
    assert kind_name(value) == name


def test_messages_read_as_sentences() -> None:
    """What is refused goes by one name everywhere, with the article that it takes."""
    with pytest.raises(SourceError, match=r"cannot load a program from None\n"):
        mt.load(None)
    with pytest.raises(OptionError, match="progress= is an int"):
        mt.compile(mt.from_mlir(RELU), progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "said"), [(2, "the other profile does not fit"), (3, "none of the other profiles")]
)
def test_profiles_that_do_not_fit(count: int, said: str) -> None:
    """Of one other profile and of several."""
    shapes = [{"arg0": (size, 4)} for size in (1, 2, 3)[:count]]
    session = mt.compile(mt.from_mlir(RELU), shapes=shapes, isolate=False).session("cpu")
    with pytest.raises(InputError, match=said):
        session(np.ones((9, 4), np.float32))
