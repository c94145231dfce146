"""Something to be done as soon as a module is imported, and not to import it for that."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of `typing`: every program under `fxls run` imports this

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

__all__ = ["OnImport"]


class OnImport:
    """Calls `action` when a module is there: at once, or right after its import.

    - `action` must not raise.
    - In force from `start` to `stop`, and for one import.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        self._searching = False
        self._is_stopped = False

    def start(self) -> None:
        """Wait for the module, unless it is there."""
        module = sys.modules.get(self._name)
        spec = getattr(module, "__spec__", None)
        if module is None:
            sys.meta_path.insert(0, self)
        elif spec is not None and getattr(spec, "_initializing", False):
            # No finder is asked for it any more.
            _when_imported(spec, self._imported)
        else:
            self._action()

    def stop(self) -> None:
        """Wait no longer."""
        self._is_stopped = True
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _imported(self) -> None:
        if not self._is_stopped:
            self._action()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that calls the action."""
        if fullname != self._name or self._searching:
            return None
        from importlib import util  # noqa: PLC0415 - takes a moment

        self._searching = True
        try:
            spec = util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            self._follow(spec, spec.loader)
        return spec

    def _follow(self, spec: ModuleSpec, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # The loader is as it was found. Another who waits for it may have done that.
            vars(loader).pop("exec_module", None)
            self.stop()
            execute(module)
            self._action()

        # An attribute of this one loader, so that whoever looks at the module's spec
        # finds the class of loader that it expects.
        loader.exec_module = exec_module


def _when_imported(spec: ModuleSpec, action: Callable[[], None]) -> None:
    """Call it when an import ends that is under way: then Python writes into the spec of
    the module that it does not initialize it any more.
    """
    its: dict[str, Any] = spec.__dict__
    waiting: list[Callable[[], None]] = its.setdefault("_fxls_waiting", [])
    waiting.append(action)
    if len(waiting) > 1:
        return
    kind = type(spec)

    class Initializing(kind):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "_initializing" and not value:
                spec.__class__ = kind
                del its["_fxls_waiting"]
                for one in waiting:
                    one()

    spec.__class__ = Initializing
