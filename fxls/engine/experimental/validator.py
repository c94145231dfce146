"""torch's own check of what symbolic sizes were taken to be."""

from __future__ import annotations

from fxls.engine.torch_fx.lent import lend

lend(__name__)
