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

__all__ = ["replace_all_uses_with", "replace_input_with"]

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
            # What `replaced` does, in half of its time: most calls are like this, or
            # like the next.
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
            self._args = replaced(args, old_input, new_input, self)
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


def replace_all_uses_with(  # noqa: C901, PLR0915
    self: Node,
    replace_with: Node,
    delete_user_cb: Callable[[Node], bool] | None = None,
    *,
    propagate_meta: bool = False,
) -> list[Node]:
    """Let every user of this node (that `delete_user_cb` admits) use another.

    Returns the users that were changed. `propagate_meta` moves the meta along,
    which the other node must not have yet.
    """
    if propagate_meta:
        if replace_with.meta:
            raise AssertionError(
                f"replace_all_uses_with({replace_with}, propagate_meta=True):"
                " that node has meta of its own, which would be lost"
            )
        replace_with.meta.update(self.meta)
    # What `users_of` gives, without the call.
    held: Any = self._users
    if held is None:
        return []
    users: list[Node] = [*held] if type(held) is dict else [held]
    if delete_user_cb is not None:
        users = [user for user in users if delete_user_cb(user)]
    graph: Any = self.graph
    if graph._owning_module is not None and (hooks := replace_hooks(graph)):
        for user in users:
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            _replace_use(user, self, replace_with)
        return users
    # It is one function, and a method of `Node`: with a call for one user, or for all of
    # them, two users take a fifteenth more. The graph and the two nodes are told of all
    # users at once.
    node = type(self)
    graph = None
    used: dict[Node, None] | Node | None
    for user in users:
        if user.graph is not graph:  # all users are of one graph, but for odd ones
            graph = user.graph
            graph._edits += 1
        if graph._were is not None:
            note_node(user)
        args = user._args
        count = len(args)
        if count == 2:
            # What `replaced` does, in half of its time: most calls have two arguments,
            # or three.
            a, b = args
            if a is self:
                a = replace_with
            elif type(a) is node:
                if type(used := a._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(a) not in ATOMS:
                a = replaced(a, self, replace_with, user)
            if b is self:
                b = replace_with
            elif type(b) is node:
                if type(used := b._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(b) not in ATOMS:
                b = replaced(b, self, replace_with, user)
            user._args = (a, b)
        elif not count:
            pass  # asked for here, keyword arguments alone take a thirtieth less
        elif count == 1:
            a = args[0]
            user._args = (
                replace_with if a is self else replaced(a, self, replace_with, user),
            )
        elif count == 3:
            a, b, c = args
            if a is self:
                a = replace_with
            elif type(a) is node:
                if type(used := a._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(a) not in ATOMS:
                a = replaced(a, self, replace_with, user)
            if b is self:
                b = replace_with
            elif type(b) is node:
                if type(used := b._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(b) not in ATOMS:
                b = replaced(b, self, replace_with, user)
            if c is self:
                c = replace_with
            elif type(c) is node:
                if type(used := c._users) is dict:
                    if user in used:
                        del used[user]
                    used[user] = None
            elif type(c) not in ATOMS:
                c = replaced(c, self, replace_with, user)
            user._args = (a, b, c)
        else:
            user._args = replaced(args, self, replace_with, user)
        if user._kwargs:
            # What `replaced_values` does: its call is a twentieth.
            pairs = {**user._kwargs}
            for key in pairs:
                x = pairs[key]
                if x is self:
                    pairs[key] = replace_with
                elif type(x) is node:
                    if type(used := x._users) is dict:
                        if user in used:
                            del used[user]
                        used[user] = None
                elif type(x) not in ATOMS:
                    pairs[key] = replaced(x, self, replace_with, user)
            user._kwargs = immutable_dict(pairs)
        user._line = None
    if not users:
        return users
    if self._last_user is not None:
        forget_last_user(self)
    if replace_with._last_user is not None:
        forget_last_user(replace_with)
    before: Any = self._users
    if before is users[0]:  # the only user
        self._users = None
        after: Any = replace_with._users
        if after is None:
            replace_with._users = before
        elif type(after) is dict:
            if before in after:  # seldom; a `pop` is a call
                del after[before]
            after[before] = None
        elif after is not before:
            replace_with._users = {after: None, before: None}
        return users
    after = replace_with._users
    if delete_user_cb is None and type(before) is dict and not after:
        # Usually the other node was made for this.
        if after is None:
            replace_with._users = {**before}
        else:
            after |= before
        before.clear()
    else:
        _move_users(users, self, replace_with)
    return users


def replace_hooks(graph: Graph) -> Sequence[Callable[..., Any]]:
    """What a module wants to hear of before a node takes the place of another one."""
    module = graph._owning_module
    return () if module is None else tuple(getattr(module, "_replace_hooks", ()))


def replaced(a: Argument, old: Node, new: Node, user: Node) -> Argument:
    """An argument of `user`, or a tuple of them, with a node in the place of another.

    Whoever changes becomes the last user of all nodes that it uses, so it is also moved
    in the users of the nodes here that stay.
    """
    kind = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind is not tuple and kind is not immutable_list:
        return _replaced_other(a, old, new, user)
    found: list[Argument] = []
    node: Any = type(old)
    for x in a:
        if x is old:
            x = new
        elif type(x) is node:
            users: dict[Node, None] | Node | None = x._users
            if type(users) is dict:
                users.pop(user, None)
                users[user] = None
        elif type(x) not in ATOMS:
            x = replaced(x, old, new, user)
        found.append(x)
    return tuple(found) if kind is tuple else immutable_list(found)


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


def _replaced_other(a: Argument, old: Node, new: Node, user: Node) -> Argument:
    """What `replaced` gives for what is neither a tuple nor a list of a node's."""
    kind: Any = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if isinstance(a, Reference):  # another one than `old`
        used: Any = a
        users: dict[Node, None] | Node | None = used._users
        if type(users) is dict:
            users.pop(user, None)
            users[user] = None
        return a
    if isinstance(a, dict):
        return replaced_values(cast("dict[Any, Argument]", a), old, new, user)
    if kind is slice:
        return slice(*replaced((a.start, a.stop, a.step), old, new, user))
    if isinstance(a, tuple | list):
        inside = replaced(tuple(cast("Iterable[Any]", a)), old, new, user)
        if isinstance(a, list):
            return immutable_list(inside)
        return kind(*inside) if hasattr(kind, "_fields") else inside
    return a


def _replace_use(user: Node, old: Node, new: Node) -> None:
    """What `replace_all_uses_with` does for one user whose hooks were called."""
    note_node(user)
    user._args = replaced(user._args, old, new, user)
    if user._kwargs:
        user._kwargs = replaced_values(user._kwargs, old, new, user)
    user._line = None
    user.graph._edits += 1
    for node in (old, new):
        forget_last_user(node)
    _move_users((user,), old, new)


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
