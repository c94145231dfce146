"""The rules that a value may break, by the names that people give them."""

from __future__ import annotations

import enum
from collections.abc import Iterable

__all__ = ["BrokenRule", "OnBreak", "Rule", "on_break_of", "rules_of"]


class Rule(enum.Enum):
    """What a program can be watched for."""

    NAN = "nan"
    """A value is NaN."""
    INF = "inf"
    """A value is infinite."""
    SHAPE = "shape"
    """A value has another shape than the listing has recorded for its node."""
    DTYPE_CHANGE = "dtype-change"
    """A value has another dtype than is recorded. Where none is, and for ``float64``
    always: another floating dtype than an input of its node, although the node does not
    ask for one."""
    GRAD_NAN = "grad-nan"
    """The gradient of a value is NaN."""


class OnBreak(enum.Enum):
    """What is done about a node that breaks a rule, besides stopping in a debugger."""

    REPORT = "report"
    """Say so, and go on."""
    RAISE = "raise"
    """Raise `BrokenRule` on the line of the node."""


class BrokenRule(RuntimeError):
    """A value broke a rule that was asked for; the message names the node."""


def rules_of(names: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of these names, each once, where a name may be several with commas.

    Raises ValueError, which says what there is.
    """
    found: dict[Rule, None] = {}
    for name in ",".join(names).split(","):
        if name.strip():
            found[_rule(name.strip())] = None
    return tuple(found)


def on_break_of(name: str) -> OnBreak:
    """What is to be done, by its name; raises as `rules_of`."""
    try:
        return OnBreak(name)
    except ValueError:
        known = " or ".join(one.value for one in OnBreak)
        raise ValueError(f"a broken rule can {known}, not {name!r}") from None


def _rule(name: str) -> Rule:
    try:
        return Rule(name)
    except ValueError:
        known = ", ".join(rule.value for rule in Rule)
        raise ValueError(f"there is no rule {name!r}; the rules are {known}") from None
