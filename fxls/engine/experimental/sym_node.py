"""torch's own symbolic numbers, which are written against its dispatcher."""

from __future__ import annotations

from fxls.engine.torch_fx.lent import lend

lend(__name__)
