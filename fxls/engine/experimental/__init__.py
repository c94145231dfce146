"""Transforms that FX keeps in its package ``experimental``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxls.engine.late_names import late_modules

if not TYPE_CHECKING:
    __getattr__ = late_modules(__name__)
