"""Something to be done as soon as a module is imported, and not to import it for that."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of `typing`: every program under `fxls run` imports this

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

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

    def start(self) -> None:
        """Wait for the module, unless it is there."""
        module = sys.modules.get(self._name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            self._action()
        else:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

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
