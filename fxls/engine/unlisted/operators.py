"""How the operators are written that a class of one's own is given, as a proxy is."""

from __future__ import annotations

from fxls.engine.ir.target_names import INPLACE_OPERATORS, OPERATORS
from fxls.engine.tracing.proxy_operators import UNREFLECTED

__all__ = ["inplace_methods", "magic_methods", "reflectable_magic_methods"]

magic_methods = dict(OPERATORS)
"""By the name of the function in `operator`, a form with ``{}`` for each operand."""
reflectable_magic_methods = {
    name: form for name, form in OPERATORS.items() if name not in UNREFLECTED
}
"""Those that have a reflection, as ``__radd__`` is one of ``__add__``."""
inplace_methods = dict(INPLACE_OPERATORS)
"""Those that change their first operand."""
