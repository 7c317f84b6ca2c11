"""These tests build real engines; they need TensorRT-RTX, but no GPU."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorrt_rtx_bindings", reason="TensorRT-RTX is not installed")
