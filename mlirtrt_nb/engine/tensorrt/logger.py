"""The builder's log, kept in Python: nothing reaches the terminal."""

from __future__ import annotations

from typing import Any

__all__ = ["BuildLog", "attach"]

_WANTED = ("Layers:", "Total Weights Memory:", "Total Activation Memory:", "Max Scratch Memory:")
# Said on every machine without a GPU, and of no consequence there.
_NO_DRIVER = ("CUDA driver version is insufficient", "no CUDA-capable device", "CUDA initialization failure")


class BuildLog:
    """What the builder said, in order.

    `errors`, `warnings`; `report`, the messages that `layer_log` reads; and `native`, lines that it
    wrote to the terminal by itself.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.report: list[str] = []
        self.native: list[str] = []

    def take(self, severity: int, message: str) -> None:
        """Keep a message. Severities: 0 internal error, 1 error, 2 warning, 3 info, 4 verbose."""
        if severity <= 1:
            if not any(text in message for text in _NO_DRIVER):
                self.errors.append(message)
        elif severity == 2:
            self.warnings.append(message)
        elif message.startswith(_WANTED):
            self.report.append(message)


def attach(trt: Any, log: BuildLog) -> Any:
    """A TensorRT logger that writes into `log`. The caller keeps it alive as long as the builder."""

    class Logger(trt.ILogger):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            log.take(int(severity), message)

    return Logger()
