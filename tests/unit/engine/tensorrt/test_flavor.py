"""Which library builds for which target, and what is said when it cannot."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from mlirtrt_nb.engine.tensorrt import check_target, flavor, import_tensorrt, targets
from mlirtrt_nb.errors import MissingDependencyError, OptionError, TargetError


def test_the_ahead_of_time_targets() -> None:
    """TensorRT-RTX builds for six architectures with no GPU; TensorRT only for the one that is present."""
    assert targets("tensorrt_rtx") == ("sm75", "sm80", "sm86", "sm89", "sm120", "sm121", "cuda")
    assert targets("tensorrt") == ("cuda",)
    for target in targets("tensorrt_rtx")[:-1]:
        check_target("tensorrt_rtx", target)
        member = flavor.compute_capability(import_tensorrt(), target)
        assert member.name == target.upper()


def test_an_unknown_target_lists_the_known_ones() -> None:
    """sm90 is not among them, and the message says which are."""
    with pytest.raises(TargetError, match="cannot build for 'sm90'") as caught:
        check_target("tensorrt_rtx", "sm90")
    assert "sm89" in str(caught.value)


def test_the_other_flavour_is_pointed_to() -> None:
    """Asking TensorRT for sm89 names the flavour that can."""
    with pytest.raises(TargetError) as caught:
        check_target("tensorrt", "sm89")
    assert "TensorRT-RTX" in str(caught.value)


def test_cuda_without_a_gpu_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no driver the message says so and names what works without one."""

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(flavor.ctypes, "CDLL", missing)
    with pytest.raises(TargetError) as caught:
        check_target("tensorrt_rtx", "cuda")
    assert "no NVIDIA driver" in str(caught.value) and "sm89" in str(caught.value)


def test_an_unknown_flavour() -> None:
    """A flavour that does not exist is an option error that lists those that do."""
    with pytest.raises(OptionError, match="tensorrt_lean"):
        import_tensorrt("tensorrt_lean")


def test_a_flavour_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the command that installs it."""
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    import_tensorrt.cache_clear()
    with pytest.raises(MissingDependencyError) as caught:
        import_tensorrt("tensorrt")
    assert "pip install tensorrt" in str(caught.value)


def test_a_library_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing native library becomes a message with its reason."""

    def broken(name: str) -> ModuleType:
        raise OSError("libnvinfer.so.11: cannot open shared object file")

    import_tensorrt.cache_clear()
    monkeypatch.setattr(flavor, "import_module", broken)
    with pytest.raises(MissingDependencyError, match=r"does not load: libnvinfer\.so\.11"):
        import_tensorrt("tensorrt")
    import_tensorrt.cache_clear()
