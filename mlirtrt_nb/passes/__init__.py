"""Passes and pipelines. The module itself is callable: `mt.passes()` lists every pass."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def list_passes() -> pd.DataFrame:
    """Every pass of the package and the user's own: name, phase, options (name=default), help."""
    import pandas as pd

    from .base import available, options_of
    from .users import user_passes

    rows = []
    for name, cls in sorted(available().items(), key=lambda item: item[0]):
        made = cls()
        options = {key.replace("_", "-"): getattr(made, key) for key in options_of(cls)}
        rows.append((name, cls.phase, options, " ".join((cls.__doc__ or "").split())))
    rows += [(own.name, own.phase, {}, " ".join((own.__doc__ or "").split())) for own in user_passes()]
    return pd.DataFrame(rows, columns=["name", "phase", "options", "help"])


class _CallablePackage(ModuleType):
    """`mlirtrt_nb.passes` is both this package and the public function of that name."""

    def __call__(self) -> pd.DataFrame:
        return list_passes()


sys.modules[__name__].__class__ = _CallablePackage
