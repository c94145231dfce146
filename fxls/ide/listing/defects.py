"""What is wrong in a graph, or looks so, node by node."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from fxls.ide.listing.document import Document
from fxls.ide.listing.value_checks import contradiction
from fxls.listing import KERNELS, Facts, Mark, Role
from fxls.text import Span

__all__ = ["MOST", "Defect", "DefectKind", "defects"]

MOST = 200
"""More defects than this nobody reads."""


class DefectKind(enum.Enum):
    DEAD = "dead-code"
    """Nobody reads the node, and it does nothing besides."""
    UNREAD = "unread-input"
    """An input of the graph that nobody reads."""
    EARLY = "read-before-definition"
    """A name is read above the statement that binds it, or no statement does."""
    FREED = "read-after-free"
    """A name is read behind the statement that set it to None."""
    SHAPE = "shape"
    """The shape or dtype that is known of a node is not one that its target gives."""


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong with a node, or with a name that is read."""

    span: Span
    kind: DefectKind
    message: str
    cause: Mark | None = None
    """Where the name is bound, or was freed."""


def defects(document: Document) -> tuple[Defect, ...]:
    """What is wrong, in the order of the text.

    Of code that a compiler wrote nothing is said: who reads a buffer that is returned,
    or what a name holds that is used again, is not in its facts.
    """
    if document.listing.identity.stage.rpartition(", ")[2] == KERNELS:
        return ()
    found = [*islice(_order(document), MOST), *islice(_nodes(document), MOST)]
    return tuple(sorted(found, key=lambda defect: defect.span)[:MOST])


def _order(document: Document) -> Iterator[Defect]:
    """Names that are read where they have no value."""
    state: dict[int, Mark] = {}
    bound: list[Mark] = []
    line = -1
    binds, frees = Role.BINDS, Role.FREES  # each is asked of every mark
    for mark in document.listing.marks:
        if mark.line != line:
            # A statement binds its name when all that it reads was read.
            for one in bound:
                state[one.node] = one
            bound.clear()
            line = mark.line
        role = mark.role
        if role is binds:
            bound.append(mark)
            continue
        if role is frees:
            state[mark.node] = mark
            continue
        last = state.get(mark.node)
        if last is not None and last.role is not frees:
            continue
        name = document.listing.nodes[mark.node].name
        if last is None:
            message = f"{name} is read before it is defined"
            yield Defect(
                mark.span, DefectKind.EARLY, message, document.binding(mark.node)
            )
        else:
            message = f"{name} is read after it was set to None"
            yield Defect(mark.span, DefectKind.FREED, message, last)


def _nodes(document: Document) -> Iterator[Defect]:
    for node, facts in enumerate(document.listing.nodes):
        if not facts.users and facts.opcode == "placeholder":
            message = f"nothing reads the input {facts.name}"
            focus = document.destination(node).focus
            yield Defect(focus, DefectKind.UNREAD, message)
        elif not facts.users and not _has_effect(facts):
            message = f"nothing reads {facts.name}: it is dead code"
            yield Defect(document.destination(node).whole, DefectKind.DEAD, message)
        wrong = contradiction(document.listing, node)
        if wrong is not None:
            yield Defect(document.destination(node).focus, DefectKind.SHAPE, wrong)


def _has_effect(facts: Facts) -> bool:
    """Whether a node that nobody reads is there for what it does."""
    if facts.opcode == "output" or facts.impure:
        return True
    name = facts.target.rpartition(".")[2]
    # An in-place method or function ends in one underscore.
    in_place = name.endswith("_") and not name.endswith("__")
    acts = name in _EFFECTS or name.startswith("_assert")
    return in_place or acts or any(key == "out" for key, _ in facts.kwargs)


_EFFECTS = {"assert_fn", "setitem", "delitem", "setattr", "print"}
