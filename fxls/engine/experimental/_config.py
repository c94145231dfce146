"""torch's own switches of symbolic shapes, which are torch's as well."""

from __future__ import annotations

from fxls.engine.torch_fx.lent import lend

lend(__name__)
