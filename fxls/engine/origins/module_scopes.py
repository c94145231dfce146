"""Which submodule is being called: FX's `Scope`, and the stack of modules in a node.

A node keeps one pointer to a `ScopeSnapshot`; snapshots of one trace form a tree, made
when the stack changes and shared by all nodes made until it changes again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, SupportsIndex

from fxls.engine.lasting import lasting

__all__ = ["ModuleStack", "Scope", "ScopeContextManager", "ScopeSnapshot"]


class Scope:
    """The path and the class of the submodule that is being called.

    The path is empty, and the class None, while the root itself runs.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """A block in which a tracer's scope says what `current_scope` says."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = (scope.module_path, scope.module_type)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *_raised: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class ScopeSnapshot:
    """The module stack at one moment: its last entry, and the snapshot before it."""

    __slots__ = ("caller", "key", "path", "type")

    def __init__(
        self, caller: ScopeSnapshot | None, key: str, path: str, kind: Any
    ) -> None:
        self.caller = caller
        self.key = key
        """The path, with ``@n`` behind it from the second call of the module on."""
        self.path = path
        self.type = kind

    def module_stack(self) -> OrderedDict[str, tuple[str, Any]]:
        """The stack as FX keeps it in ``meta["nn_module_stack"]``, outermost first."""
        entries: list[tuple[str, tuple[str, Any]]] = []
        at: ScopeSnapshot | None = self
        while at is not None:
            entries.append((at.key, (at.path, at.type)))
            at = at.caller
        return OrderedDict(reversed(entries))


_set = OrderedDict[str, tuple[str, Any]].__setitem__
_popitem = OrderedDict[str, tuple[str, Any]].popitem


@lasting("fxls.engine", "_ModuleStack")
class ModuleStack(OrderedDict[str, tuple[str, Any]]):
    """The module stack of a tracer, which always has a snapshot of itself at hand.

    Pushing (a new key) and popping the last entry cost O(1); any other change makes
    the snapshots anew.
    """

    def __init__(self, *args: Any) -> None:
        self.snapshot: ScopeSnapshot | None = None
        super().__init__(*args)

    def __setitem__(self, key: str, value: tuple[str, Any]) -> None:
        is_push = key not in self
        _set(self, key, value)
        if is_push:
            self.snapshot = ScopeSnapshot(self.snapshot, key, *value)
        else:
            self._retake()

    def popitem(self, last: bool = True) -> tuple[str, tuple[str, Any]]:  # noqa: FBT001, FBT002 - OrderedDict's signature
        item = _popitem(self, last)
        if last and self.snapshot is not None:
            self.snapshot = self.snapshot.caller
        else:
            self._retake()
        return item

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._retake()

    def pop(self, key: str, *args: Any, **kwargs: Any) -> Any:
        value = super().pop(key, *args, **kwargs)
        self._retake()
        return value

    def clear(self) -> None:
        super().clear()
        self.snapshot = None

    def move_to_end(self, key: str, last: bool = True) -> None:  # noqa: FBT001, FBT002 - OrderedDict's signature
        super().move_to_end(key, last)
        self._retake()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return ModuleStack, (list(self.items()),)

    def _retake(self) -> None:
        self.snapshot = snapshot_of(self)


def snapshot_of(stack: OrderedDict[str, tuple[str, Any]]) -> ScopeSnapshot | None:
    """A snapshot of any module stack; None for an empty one."""
    snapshot = None
    for key, entry in stack.items():
        snapshot = ScopeSnapshot(snapshot, key, *entry)
    return snapshot
