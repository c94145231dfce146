"""Which values of a backward graph are gradients, and which of these blame no node.

The graphs that AOTAutograd makes of a backward compute the formulas of autograd node by
node. They read values that the forward kept, which may be bad without harm.
"""

from __future__ import annotations

from collections.abc import Mapping

from fxls.listing import Facts, Listing
from fxls.runtime.checks.statements import Statement
from fxls.runtime.torch_private import TANGENTS

__all__ = ["gradients_in", "is_hidden", "is_of_backward"]


def is_of_backward(listing: Listing | None) -> bool:
    """Whether a listing is of a graph that computes gradients, and nothing else."""
    return listing is not None and "backward" in listing.identity.stage


def gradients_in(statements: Mapping[str, Statement]) -> frozenset[str]:
    """The names of values that gradients from outside take part in."""
    found: set[str] = set()
    for name, statement in statements.items():
        if name.startswith(TANGENTS) or not found.isdisjoint(statement.reads):
            found.add(name)
    return frozenset(found)


def is_hidden(listing: Listing | None, name: str) -> bool:
    """Whether a bad gradient is not the doing of the node that has it.

    - Formulas divide by zero, and put the right number there afterwards. A mask of the
      model comes from another place of the source, and behind the gradient.
    - The gradients of a value with several users are added up. What reads the sum is
      named, as `torch.autograd.detect_anomaly` does; where nothing does, because the
      sum is returned, it is named itself.
    """
    if listing is None:
        return False
    nodes = listing.nodes
    at = next((i for i, one in enumerate(nodes) if one.name == name), None)
    if at is None or (origin := nodes[at].origin) is None:
        return False
    users = [nodes[user] for user in nodes[at].users]
    if _called(nodes[at]) == "add":
        adds_up = any(one.origin != origin for one in nodes if at in one.users)
        return adds_up and any(user.opcode != "output" for user in users)
    return all(user.origin == origin for user in users) and any(
        _called(user) in _MASKS for user in users
    )


def _called(node: Facts) -> str:
    """``add`` of ``aten.add.Tensor``."""
    return next(iter(node.target.removeprefix("torch.ops.").split(".")[1:]), "")


_MASKS = {"masked_fill", "where"}
