"""torch's own recording of what is asked of symbolic sizes."""

from __future__ import annotations

from fxls.engine.torch_fx.lent import lend

lend(__name__)
