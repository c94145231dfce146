"""Putting a node in the place of another one in the arguments of those that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from fxls.engine.immutable_collections import immutable_dict, immutable_list
from fxls.engine.ir.arguments import ATOMS, Argument, Reference
from fxls.engine.ir.snapshot import note_node
from fxls.engine.ir.users import forget_last_user

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["replace_hooks", "replace_input_with", "replace_uses"]

_SETS_PAY = 16
"""For so many users sets of them are faster than a loop over them."""


def replace_input_with(self: Node, old_input: Node, new_input: Node) -> None:  # noqa: C901, PLR0915
    """Use `new_input` wherever this node uses `old_input`."""
    # It is one function, and a method of `Node`: passes call it for every node of a
    # graph, and each call inside of it would be a tenth of its time.
    graph = self.graph
    if graph._owning_module is not None:
        for hook in replace_hooks(graph):
            hook(old=old_input, new=new_input.name, user=self)
    if graph._were is not None:
        note_node(self)
    users: dict[Node, None] | Node | None
    if args := self._args:
        count = len(args)
        node = type(old_input)
        if count == 2:
            # What `replaced_each` does, in half of its time: most calls are like this,
            # or like the next.
            a, b = args
            if a is old_input:
                a = new_input
            elif type(a) is node:
                if type(users := a._users) is dict:
                    if self in users:
                        del users[self]
                    users[self] = None
            elif type(a) not in ATOMS:
                a = replaced(a, old_input, new_input, self)
            if b is old_input:
                b = new_input
            elif type(b) is node:
                if type(users := b._users) is dict:
                    if self in users:
                        del users[self]
                    users[self] = None
            elif type(b) not in ATOMS:
                b = replaced(b, old_input, new_input, self)
            self._args = (a, b)
        elif count == 3:
            a, b, c = args
            if a is old_input:
                a = new_input
            elif type(a) is node:
                if type(users := a._users) is dict:
                    if self in users:
                        del users[self]
                    users[self] = None
            elif type(a) not in ATOMS:
                a = replaced(a, old_input, new_input, self)
            if b is old_input:
                b = new_input
            elif type(b) is node:
                if type(users := b._users) is dict:
                    if self in users:
                        del users[self]
                    users[self] = None
            elif type(b) not in ATOMS:
                b = replaced(b, old_input, new_input, self)
            if c is old_input:
                c = new_input
            elif type(c) is node:
                if type(users := c._users) is dict:
                    if self in users:
                        del users[self]
                    users[self] = None
            elif type(c) not in ATOMS:
                c = replaced(c, old_input, new_input, self)
            self._args = (a, b, c)
        elif count == 1 and args[0] is old_input:
            self._args = (new_input,)
        else:
            self._args = tuple(replaced_each(args, old_input, new_input, self))
    if self._kwargs:
        self._kwargs = replaced_values(self._kwargs, old_input, new_input, self)
    self._line = None
    graph._edits += 1
    users = old_input._users
    if users is self:
        old_input._users = None
    elif type(users) is not dict or users.pop(self, users) is not None:
        return  # it did not use it
    if old_input._last_user is not None:
        forget_last_user(old_input)
    if new_input._last_user is not None:
        forget_last_user(new_input)
    after: Any = new_input._users
    if after is None:
        new_input._users = self
    elif type(after) is dict:
        if self in after:  # seldom; a `pop` is a call
            del after[self]
        after[self] = None
    elif after is not self:
        new_input._users = {after: None, self: None}


def replace_uses(  # noqa: C901, PLR0915
    users: Sequence[Node],
    old: Node,
    new: Node,
    are_all: bool,  # noqa: FBT001 - a keyword would be a twentieth for two users
) -> None:
    """Put a node in the place of another one in the arguments of several of its users.

    `are_all` says that there are no other users. What `replace_input_with` does for each
    of them, in half of its time: the graph and the two nodes are told of all users at
    once, and no call is made for each.
    """
    if old._last_user is not None:
        forget_last_user(old)
    if new._last_user is not None:
        forget_last_user(new)
    node = type(old)
    graph: Any = None
    used: dict[Node, None] | Node | None
    for user in users:
        if user.graph is not graph:  # all users are of one graph, but for odd ones
            graph = user.graph
            graph._edits += 1
        if graph._were is not None:
            note_node(user)
        args = user._args
        if len(args) == 2:
            # What the loop below does, in half of its time: most calls are like this.
            a, b = args
            if a is old:
                a = new
            elif type(a) is node:
                if type(used := a._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(a) not in ATOMS:
                a = replaced(a, old, new, user)
            if b is old:
                b = new
            elif type(b) is node:
                if type(used := b._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(b) not in ATOMS:
                b = replaced(b, old, new, user)
            user._args = (a, b)
        elif len(args) == 1 and args[0] is old:
            user._args = (new,)
        elif args:
            # What `replaced_each` does, without the call.
            found: list[Argument] = []
            for x in args:
                if x is old:
                    found.append(new)
                elif type(x) is node:
                    if type(used := x._users) is dict:
                        if user in used:
                            del used[user]
                        used[user] = None
                    found.append(x)
                elif type(x) in ATOMS:
                    found.append(x)
                else:
                    found.append(replaced(x, old, new, user))
            user._args = tuple(found)
        if user._kwargs:
            user._kwargs = replaced_values(user._kwargs, old, new, user)
        user._line = None
    before, after = old._users, new._users
    if are_all and not after and type(before) is dict:
        # Usually the new node was made for this.
        if after is None:
            new._users = {**before}
        else:
            after |= before
        before.clear()
    else:
        _move_users(users, old, new)


def replace_hooks(graph: Graph) -> Sequence[Callable[..., Any]]:
    """What a module wants to hear of before a node takes the place of another one."""
    module = graph._owning_module
    return () if module is None else tuple(getattr(module, "_replace_hooks", ()))


def replaced(a: Argument, old: Node, new: Node, user: Node) -> Argument:
    """An argument of `user` with a node in the place of another one.

    Whoever changes becomes the last user of all nodes that it uses, so it is also moved
    in the users of the nodes here that stay.
    """
    kind: Any = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind is tuple:
        return tuple(replaced_each(a, old, new, user))
    if kind is immutable_list:
        return immutable_list(replaced_each(a, old, new, user))
    if isinstance(a, dict):
        return replaced_values(cast("dict[Any, Argument]", a), old, new, user)
    if kind is slice:
        return slice(*replaced_each((a.start, a.stop, a.step), old, new, user))
    if isinstance(a, tuple | list):
        inside = replaced_each(cast("Iterable[Any]", a), old, new, user)
        if isinstance(a, list):
            return immutable_list(inside)
        return kind(*inside) if hasattr(kind, "_fields") else tuple(inside)
    if isinstance(a, Reference):  # of another class of nodes than `old`
        replaced_each((a,), old, new, user)
    return a


def replaced_values(
    pairs: dict[Any, Argument], old: Node, new: Node, user: Node
) -> immutable_dict[Any, Argument]:
    """What `replaced` gives for a dict, as that of the keyword arguments."""
    found = {**pairs}
    node: Any = type(old)
    for key in found:
        x = found[key]
        if x is old:
            found[key] = new
        elif type(x) is node:
            users: dict[Node, None] | Node | None = x._users
            if type(users) is dict:
                users.pop(user, None)
                users[user] = None
        elif type(x) not in ATOMS:
            found[key] = replaced(x, old, new, user)
    return immutable_dict(found)


def replaced_each(
    arguments: Iterable[Argument], old: Node, new: Node, user: Node
) -> list[Argument]:
    """What `replaced` gives for each of several arguments."""
    found: list[Argument] = []
    node: Any = type(old)
    for x in arguments:
        if x is old:
            found.append(new)
        elif type(x) is node or isinstance(x, Reference):
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
    return found


def _move_users(users: Sequence[Node], old: Node, new: Node) -> None:
    """Note that these of the users of one node use another one, as the last ones."""
    before, after = old.users, new.users
    if len(users) < _SETS_PAY:
        for user in users:
            if before.pop(user, user) is None:
                after.pop(user, None)
                after[user] = None
        return
    moved = dict.fromkeys(users)
    if not moved.keys() <= before.keys():
        moved = {user: None for user in moved if user in before}
    if len(moved) == len(before):
        before.clear()
    else:
        for user in moved:
            del before[user]
    if after:
        for user in after.keys() & moved:
            del after[user]
    after.update(moved)
