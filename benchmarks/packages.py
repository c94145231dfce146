"""The two packages that are compared, which have the same names."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

__all__ = ["OURS", "THEIRS", "Fx"]

Fx: TypeAlias = Any
"""``torch.fx`` or ``fxls.engine``."""

THEIRS = importlib.import_module("torch.fx")
OURS = importlib.import_module("fxls.engine")
