"""Who uses the value of a node: None, one node, or a dict in the order they came."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, compress, repeat
from operator import is_not
from typing import TYPE_CHECKING, Any, cast

from fxls.engine.immutable_collections import immutable_dict, immutable_list
from fxls.engine.ir.arguments import (
    ATOMS,
    Argument,
    Arguments,
    Reference,
    freeze,
    map_references,
    parts,
)
from fxls.engine.ir.snapshot import note_node

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = [
    "add_user",
    "add_uses",
    "change_argument",
    "change_arguments",
    "forget_last_user",
    "has_users",
    "release_uses",
    "users_of",
]

_MANY = 16
"""Of so many arguments it pays to ask which of them stay."""

_SEQUENCES = (tuple, list)


def add_uses(user: Node) -> None:
    """Note with every node in the arguments of `user` that it uses them.

    It may be one of their users, and becomes the last one.
    """
    if user._args:
        _add(user._args, user)
    if user._kwargs:
        _add(user._kwargs.values(), user)


def change_arguments(
    user: Node, args: Arguments, kwargs: immutable_dict[str, Argument]
) -> None:
    """Give a node other arguments, which are frozen, and tell the nodes in both.

    What stays in its place is told once, and not that it goes and comes.
    """
    before = user._args
    if before and args is not before:
        if (
            len(args) == 1 == len(before)
            and type(args[0]) is type(before[0]) is immutable_list
            and not (kwargs or user._kwargs)
            and _are_reordered(before[0], args[0], user)
        ):
            user._args = args
            return
        _remove(before, user, args)
    if user._kwargs and kwargs is not user._kwargs:
        _remove(user._kwargs.values(), user, kwargs.values())
    user._args, user._kwargs = args, kwargs
    # What `add_uses` does, without the call.
    if args:
        _add(args, user)
    if kwargs:
        _add(kwargs.values(), user)


def change_argument(user: Node, index: int, argument: Argument) -> None:
    """Give a node another positional argument in the place of one."""
    args = list(user._args)
    before, args[index] = args[index], freeze(argument)
    note_node(user)
    _remove((before,), user, (args[index],))
    user._args = tuple(args)
    user._line = None
    user.graph._edits += 1
    add_uses(user)


def release_uses(user: Node) -> None:
    """Put None in the place of every node that an erased user had in its arguments."""
    if user._args:
        user._args = tuple(_released(user._args, user))
    if user._kwargs:
        values = _released(user._kwargs.values(), user)
        user._kwargs = immutable_dict(zip(user._kwargs, values, strict=True))


def add_user(used: Node, user: Node) -> None:
    """Note that `user` has `used` in its arguments."""
    if used._last_user is not None:
        forget_last_user(used)
    users: Any = used._users
    if users is None:
        used._users = user
    elif type(users) is dict:
        users[user] = None
    elif users is not user:
        used._users = {users: None, user: None}


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
    if type(users) is dict:
        return users
    only: Any = users  # each `cast` is a call
    return () if only is None else (only,)


def _add(arguments: Iterable[Argument], user: Node) -> None:
    node: Any = type(user)
    for a in arguments:
        if type(a) is not node:
            if type(a) in ATOMS:
                continue
            if not isinstance(a, Reference):
                _add(parts(a), user)
                continue
        # What `add_user` does: half of the time is its call.
        used: Any = a
        users: Any = used._users
        if users is user:
            continue
        if used._last_user is not None:
            forget_last_user(used)
        if users is None:
            used._users = user
        elif type(users) is dict:
            if user in users:  # seldom; a `pop` is a call
                del users[user]
            users[user] = None
        else:
            used._users = {users: None, user: None}


def _remove(
    arguments: Collection[Argument], user: Node, after: Collection[Argument] = ()
) -> None:
    """`after` is what comes in their place, and is told afterwards.

    So of many arguments, those that stay where they are need not be told here.
    """
    node: Any = type(user)
    are_many = len(arguments) >= _MANY
    going: Iterable[Argument] = arguments
    if are_many and _have_same_end(arguments, after):
        places = chain(after, repeat(None))
        going = compress(arguments, map(is_not, arguments, places))
    for a in going:
        if type(a) is not node:
            if type(a) in ATOMS:
                continue
            if not isinstance(a, Reference):
                place = () if are_many else _placed(a, arguments, after)
                _remove(parts(a), user, parts(place))
                continue
        used: Any = a
        if used._last_user is not None:
            forget_last_user(used)
        users: dict[Node, None] | Node | None = used._users
        if users is user:
            used._users = None
        elif type(users) is dict:
            users.pop(user, None)


def _are_reordered(before: list[Argument], after: list[Argument], user: Node) -> bool:
    """Whether all that `user` uses are many nodes, used by it alone, that change places.

    Then none has anything to learn. To ask takes half of the time of telling them: it is
    done in C, and the ends alone say no for most other changes.
    """
    count = len(after)
    if not _MANY <= count == len(before) or _have_same_end(before, after):
        return False
    try:
        for a in after:
            if a._users is not user:
                return False
    except AttributeError:
        return False  # one is no node
    # So many nodes that only `user` uses are those that it used before.
    return {*map(type, before)} == {type(user)} and len({*after}) == count


def _have_same_end(before: Collection[Argument], after: Collection[Argument]) -> bool:
    """Whether the first or the last is the same, as most edits of many leave it."""
    if not (isinstance(before, _SEQUENCES) and isinstance(after, _SEQUENCES) and after):
        return False
    one: Sequence[Argument] = before
    other: Sequence[Argument] = after
    return one[0] is other[0] or one[-1] is other[-1]


def _placed(
    a: Argument, before: Iterable[Argument], after: Iterable[Argument]
) -> Argument:
    """What is in the place that an argument had."""
    pairs = zip(before, after, strict=False)
    return next((new for old, new in pairs if old is a), None)


def _released(arguments: Iterable[Argument], user: Node) -> list[Argument]:
    """The arguments without nodes, which are told that `user` uses them no more."""
    found: list[Argument] = []
    node: Any = type(user)
    for a in arguments:
        if type(a) is node:
            # What `_remove` does: a second loop over the arguments would take as long.
            if a._last_user is not None:
                forget_last_user(a)
            users: dict[Node, None] | Node | None = a._users
            if users is user:
                a._users = None
            elif type(users) is dict:
                users.pop(user, None)
            found.append(None)
        elif type(a) in ATOMS:
            found.append(a)
        elif type(a) is immutable_list:
            inside = _released(cast("list[Argument]", a), user)
            found.append(immutable_list(inside))
        else:
            _remove((a,), user)
            found.append(map_references(a, _nothing))
    return found


def _nothing(_node: Node) -> None:
    return None
