"""The MLIR passes from any upstream dialect to LLVM, in stages between which this package does its own part."""

from __future__ import annotations

from collections.abc import Set

__all__ = ["TO_LLVM", "TO_LOOPS", "TO_MEMORY", "TO_TENSORS", "VERIFY", "frontend_stages"]

_TO_LINALG = (
    "torch-backend-to-linalg-on-tensors-backend-pipeline",
    "func.func(tm-tensor-bufferize,tm-tensor-to-loops)",
    "refback-mlprogram-bufferize",
)
_TORCH = ("torchdynamo-export-to-torch-backend-pipeline", *_TO_LINALG)
_TORCH_ONNX = ("torch-onnx-to-torch-backend-pipeline", *_TO_LINALG)
_STABLEHLO = (
    "func.func(chlo-legalize-to-stablehlo,shape-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops)",
    "stablehlo-convert-to-signless",
    "stablehlo-legalize-to-linalg",
)
_TOSA = ("tosa-to-linalg-pipeline", "func.func(tosa-to-linalg,tosa-to-tensor,tosa-to-arith,tosa-to-scf)")

TO_TENSORS = (
    "convert-shape-to-std",
    "func.func(convert-elementwise-to-linalg,refback-generalize-tensor-concat)",
    "canonicalize",
    "linalg-fuse-elementwise-ops",
    "lower-affine",
    "canonicalize",
    "cse",
)
# While each op still is the one that the user wrote.
VERIFY = ("generate-runtime-verification",)
TO_MEMORY = (
    "canonicalize",
    "cse",
    "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops"
    " function-boundary-type-conversion=identity-layout-map}",
)
TO_LOOPS = (
    "convert-bufferization-to-memref",
    "func.func(refback-munge-memref-copy)",
    "convert-linalg-to-loops",
    "scf-forall-to-for",
    "expand-realloc",
    "memref-expand",
    "canonicalize",
    "cse",
)
TO_LLVM = (
    "convert-vector-to-scf",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-complex-to-libm",
    "convert-complex-to-standard",
    "math-extend-to-supported-types",
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "arith-expand{include-bf16=true}",
    "convert-math-to-funcs",
    "convert-math-to-llvm",
    "func.func(math-expand-ops)",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "convert-complex-to-llvm",
    "convert-index-to-llvm",
    "convert-ub-to-llvm",
    "convert-arith-to-llvm",
    "finalize-memref-to-llvm{use-generic-functions}",
    "convert-cf-to-llvm",
    "convert-func-to-llvm",
    "reconcile-unrealized-casts",
)


def frontend_stages(dialects: Set[str]) -> tuple[str, ...]:
    """The passes that take functions with ops of `dialects` to linalg, tensor, arith, math and scf.

    "torch.onnx" stands for ONNX ops in torch's generic operator.
    """
    stages: tuple[str, ...] = ()
    if "torch" in dialects:
        stages += _TORCH_ONNX if "torch.onnx" in dialects else _TORCH
    if dialects & {"stablehlo", "chlo"}:
        stages += _STABLEHLO
    if "tosa" in dialects:
        stages += _TOSA
    return stages
