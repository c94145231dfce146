"""What says that a part of a module cannot be made, cannot be run, or differs."""

from __future__ import annotations

from fxls.engine.lasting import lasting

__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
]


@lasting("fxls.engine.passes.net_min_base")
class FxNetMinimizerBadModuleError(Exception):
    """Raised when some nodes cannot be made a submodule of their own."""


@lasting("fxls.engine.passes.net_min_base")
class FxNetMinimizerRunFuncError(Exception):
    """Raised when `run_a` or `run_b` raises."""


@lasting("fxls.engine.passes.net_min_base")
class FxNetMinimizerResultMismatchError(Exception):
    """Raised when the comparison says that the results differ."""
