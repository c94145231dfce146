"""Something put off until the program is about to make its first graph.

The runtime takes a fifth of a second to load, and many programs that import torch, as
every worker of a `DataLoader` does, make no graph. So what stands in torch until then
only tells that one is about to be made.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from fxls.on_import import OnImport

TYPE_CHECKING = False  # that of `typing`: every program under `fxls run` imports this

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

__all__ = ["FirstGraph", "forget", "is_awaited"]


class FirstGraph:
    """Calls `action` once, before a graph is made that it would be too late for.

    - `action` must not raise, and torch is imported when it is called.
    - In force from `start` until the action ran, or `forget`.
    """

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._has_torch = self._is_due = self._acts = self._is_done = False
        self._acts_in: int | None = None
        """The thread in which it is being done."""
        self._imports = [
            OnImport("torch", self._torch_is_there),
            OnImport("pydevd", self._come),  # a debugger is made ready at once
            OnImport("fxls.engine", self._engine_is_there),
            OnImport("fxls.runtime", self._come),
        ]
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._restored: set[tuple[Any, str]] = set()

    def start(self) -> None:
        """Wait, also for torch."""
        _waiting.append(self)
        sys.meta_path.insert(0, self)
        for one in self._imports:
            one.start()

    def stop(self) -> None:
        """Wait no longer; torch is as it was."""
        self._is_done = not self._acts
        if self in _waiting:
            _waiting.remove(self)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for one in self._imports:
            one.stop()
        while self._replaced:
            owner, name, before, ours = self._replaced.pop()
            if owner.__dict__.get(name) is ours:
                setattr(owner, name, before)
                self._restored.add((owner, name))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """What others find; who looks for some modules is about to make graphs."""
        if fullname not in _BEFORE_IMPORT:
            return None
        self._come()
        if not self._is_done:
            return None
        from importlib import util  # noqa: PLC0415 - takes a moment

        # Somebody may wait for this module from now on, whom the search has passed by.
        return util.find_spec(fullname)

    def _torch_is_there(self) -> None:
        self._has_torch = True
        if self._is_due:
            self._come()
            return
        fx: Any = sys.modules["torch.fx"]
        export: Any = sys.modules.get("torch.export.exported_program")
        self._tell(fx.GraphModule, "recompile")
        self._tell(fx.Tracer, "trace")
        if export is not None:
            self._tell(export.ExportedProgram, "__init__")

    def _engine_is_there(self) -> None:
        # The runtime imports the engine, and comes itself when it is there.
        if "fxls.runtime" not in sys.modules:
            self._come()

    def _tell(self, owner: Any, name: str) -> None:
        """Let the first call of a method be told; it goes to what stands there then."""
        import functools  # noqa: PLC0415 - torch has it

        original = owner.__dict__[name]

        @functools.wraps(original)
        def first(*args: Any, **kwargs: Any) -> Any:
            self._come()
            # Somebody who replaced ours in turn calls what was there before.
            restored = (owner, name) in self._restored
            call = owner.__dict__[name] if restored else original
            try:
                return call(*args, **kwargs)
            except Exception as error:
                from fxls.attempt import leave_out_frame  # noqa: PLC0415 - for an error

                leave_out_frame(error)
                raise

        self._replaced.append((owner, name, original, first))
        setattr(owner, name, first)

    def _come(self) -> None:
        """Do it. Two threads may come here at once, and both go on when it is done."""
        self._is_due = True
        if self._acts_in == get_ident():
            return  # what is done imports what it waits for
        if self._has_torch and not self._is_done:
            self._acts, self._acts_in = True, get_ident()
            self._action()
            self._acts, self._acts_in = False, None
            self.stop()


def is_awaited() -> bool:
    """Whether something is put off."""
    return bool(_waiting)


def forget() -> None:
    """Let nothing be put off any more: it was done, or is not wanted."""
    for one in list(_waiting):
        one.stop()


_BEFORE_IMPORT = frozenset(
    {"torch._dynamo", "torch.export._trace", "torch._export.serde.serialize"}
)

_waiting: list[FirstGraph] = []
