"""Who uses the value of a node: None, one node, or a dict in the order they came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from fxls.engine.immutable_collections import immutable_dict, immutable_list
from fxls.engine.ir.arguments import ATOMS, Argument, Reference, parts
from fxls.engine.ir.snapshot import note_node

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = [
    "add_user",
    "add_uses",
    "forget_last_user",
    "hand_over",
    "has_users",
    "put_in_place",
    "remove_uses",
    "replace_use",
    "users_of",
]


def add_uses(user: Node) -> None:
    """Note with every node in the arguments of `user` that it uses them."""
    _add(user._args, user)
    if user._kwargs:
        _add(user._kwargs.values(), user)


def remove_uses(user: Node) -> None:
    """Note with every node in the arguments of `user` that it uses them no more."""
    _remove(user._args, user)
    if user._kwargs:
        _remove(user._kwargs.values(), user)


def put_in_place(user: Node, old: Node, new: Node) -> None:
    """Put a node in the place of another one in the arguments of `user`.

    The two are not told who uses them.
    """
    graph = user.graph
    if graph._were is not None:
        note_node(user)
    # For `_args`, what `replaced` does with a tuple: its call would be a tenth.
    found: list[Argument] = []
    kind: Any = type(old)
    for x in user._args:
        if x is old:
            found.append(new)
        elif type(x) is kind:  # half of the time of `isinstance`
            users: dict[Node, None] | Node | None = x._users
            if type(users) is dict:
                users.pop(user, None)
                users[user] = None
            found.append(x)
        elif type(x) in ATOMS:
            found.append(x)
        else:
            found.append(replaced(x, old, new, user))
    user._args = tuple(found)
    if user._kwargs:
        user._kwargs = replaced_values(user._kwargs, old, new, user)
    user._line = None
    graph._edits += 1


def replaced(a: Argument, old: Node, new: Node, user: Node) -> Argument:
    """An argument of `user` with a node in the place of another one.

    Whoever changes becomes the last user of all nodes that it uses, so it is also moved
    in the users of the nodes here that stay.
    """
    kind: Any = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind is tuple or kind is immutable_list:
        found: list[Argument] = []
        items: Any = a  # a cast is a call
        for x in items:
            if x is old:
                found.append(new)
            elif isinstance(x, Reference):
                used: Any = x
                users: dict[Node, None] | Node | None = used._users
                if type(users) is dict:
                    users.pop(user, None)
                    users[user] = None
                found.append(x)
            elif type(x) in ATOMS:
                found.append(x)
            else:
                found.append(replaced(x, old, new, user))
        return tuple(found) if kind is tuple else immutable_list(found)
    if isinstance(a, dict):
        return replaced_values(cast("dict[Any, Any]", a), old, new, user)
    if kind is slice:
        return slice(*replaced((a.start, a.stop, a.step), old, new, user))
    if isinstance(a, tuple | list):
        inside = replaced((*cast("Iterable[Any]", a),), old, new, user)
        if isinstance(a, list):
            return immutable_list(inside)
        return kind(*inside) if hasattr(kind, "_fields") else inside
    if isinstance(a, Reference):  # of another class of nodes than `old`
        replaced((a,), old, new, user)
    return a


def replaced_values(
    a: Mapping[Any, Argument], old: Node, new: Node, user: Node
) -> immutable_dict[Any, Argument]:
    """What `replaced` makes of a dict."""
    found = {**a}
    kind: Any = type(old)
    for key, x in a.items():
        if x is old:
            found[key] = new
        elif type(x) is kind:
            users: dict[Node, None] | Node | None = x._users
            if type(users) is dict:
                users.pop(user, None)
                users[user] = None
        elif type(x) not in ATOMS:
            found[key] = replaced(x, old, new, user)
    return immutable_dict(found)


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


def replace_use(user: Node, old: Node, new: Node) -> None:
    """Put a node in the place of another one in the arguments of one user."""
    put_in_place(user, old, new)
    users = old._users
    if users is user:
        old._users = None
    elif type(users) is dict and user in users:
        del users[user]
    else:
        return
    if old._last_user is not None:
        forget_last_user(old)
    if new._last_user is not None:
        forget_last_user(new)
    users = new._users
    if users is None:
        new._users = user
    elif type(users) is dict:
        users.pop(user, None)
        users[user] = None
    elif users is not user:
        new._users = {cast("Node", users): None, user: None}


def hand_over(users: Sequence[Node], old: Node, new: Node) -> None:
    """Note that several users of one node use another in its place."""
    if old._last_user is not None:
        forget_last_user(old)
    if new._last_user is not None:
        forget_last_user(new)
    held = old.users
    if len(held) == len(users):
        held.clear()
    else:
        for user in users:
            del held[user]
    held = new.users
    if held:
        for user in users:
            held.pop(user, None)
    held.update(dict.fromkeys(users))


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


def _add(arguments: Iterable[Argument], user: Node) -> None:
    for a in arguments:
        if isinstance(a, Reference):
            # What `add_user` does: half of the time is its call.
            used: Any = a
            if used._last_user is not None:
                forget_last_user(used)
            users = used._users
            if users is None:
                used._users = user
            elif type(users) is dict:
                users[user] = None
            elif users is not user:
                used._users = {cast("Node", users): None, user: None}
        elif type(a) not in ATOMS:
            _add(parts(a), user)


def _remove(arguments: Iterable[Argument], user: Node) -> None:
    for a in arguments:
        if isinstance(a, Reference):
            used: Any = a
            if used._last_user is not None:
                forget_last_user(used)
            users: dict[Node, None] | Node | None = used._users
            if users is user:
                used._users = None
            elif type(users) is dict:
                users.pop(user, None)
        elif type(a) not in ATOMS:
            _remove(parts(a), user)
