"""Who uses the value of a node: None, one node, or a dict in the order they came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = ["add_user", "forget_last_user", "has_users", "remove_user", "users_of"]


def add_user(used: Node, user: Node) -> None:
    """Note that `user` has `used` in its arguments."""
    if used._last_user is not None:
        forget_last_user(used)
    users = used._users
    if users is None:
        used._users = user
    elif type(users) is dict:
        users[user] = None
    elif users is not user:
        used._users = {cast("Node", users): None, user: None}


def remove_user(used: Node, user: Node) -> None:
    """Note that `user` has `used` in its arguments no more."""
    if used._last_user is not None:
        forget_last_user(used)
    users = used._users
    if users is user:
        used._users = None
    elif type(users) is dict:
        users.pop(user, None)


def forget_last_user(used: Node) -> None:
    """Note that another node may be the last user, which the line of the old one says."""
    last = used._last_user
    used._last_user = None
    if last is not None:
        last._line = None


def has_users(node: Node) -> bool:
    """Whether any node uses this one, without making `users`."""
    return bool(node._users)


def users_of(node: Node) -> Iterable[Node]:
    """The users of a node, without making `users`; not while they change."""
    users = node._users
    if users is None:
        return ()
    return users if type(users) is dict else (cast("Node", users),)
