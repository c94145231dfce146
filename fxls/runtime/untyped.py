"""torch's own FX, as what it is to a type checker: an object of which nothing is known."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["fx"]

fx: Any = torch.fx
"""``import torch`` has loaded it."""
