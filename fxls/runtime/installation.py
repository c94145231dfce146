"""The runtime's switch: from now on, generated code is a file of the store.

Anything that goes wrong here is logged once, and the program goes on with the engine's
own compiler, as if fxls had not been installed.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from msgspec.structs import replace

from fxls import first_graph, tensor_view
from fxls.engine.graph_module import GraphModule
from fxls.engine.module import compile as engine_compile
from fxls.engine.module.compile import Compiler, ForwardCode, compile_in_memory
from fxls.listing import Listing
from fxls.rules import OnBreak, Rule, on_break_of, rules_of
from fxls.runtime.checks.switch import Watching
from fxls.runtime.debugging import pydevd
from fxls.runtime.debugging.breakpoints import Followed
from fxls.runtime.listings.listing_text import ListingText
from fxls.runtime.listings.rank import launched_as
from fxls.runtime.listings.tables import source_digest
from fxls.runtime.producers.hooks import Producers
from fxls.runtime.producers.torch_fx import TorchFx
from fxls.said_once import SaidOnce
from fxls.store import Store, StoreError, is_url, locate

__all__ = [
    "break_on",
    "finish",
    "install",
    "installed",
    "publish_captured",
    "store_of_program",
    "torch_fx",
    "uninstall",
    "watches",
]

_log = logging.getLogger("fxls")


def install(
    store: str | os.PathLike[str] | None = None,
    *,
    program: Path | None = None,
    keep_values: bool | None = None,
) -> Path:
    """Materialize every graph module from now on; returns the root of the store.

    `store` is where; by default ``FXLS_STORE``, else the `.fxls` that belongs to the
    program, which is the one that runs unless another is named. Again with the same
    store, it does nothing but heed `keep_values`: whether listings made from now on keep
    their values until the forward returns; by default what ``FXLS_KEEP_VALUES`` says.
    What ``FXLS_BREAK_ON`` names is watched for from the start.
    """
    global _installed  # noqa: PLW0603 - one switch for the process
    root = _root(store, program)
    with _lock:
        if _installed is not None and _installed[0].store.root == root:
            if keep_values is not None:
                _installed[0].keep_values(keep_values)
            return root
        compiler = _Materializer(Store(root, report=_report))
        if keep_values is None:
            keep_values = os.environ.get("FXLS_KEEP_VALUES", "") not in ("", "0")
        compiler.keep_values(keep_values)
        launched_as(os.environ)
        if _installed is not None:
            _installed[0].producers.take_out()
            tensor_view.listeners.discard(_installed[0].attend)
        first_graph.forget()
        compiler.producers.put_in()
        compiler.watching.set(*_asked_for(os.environ))
        before = engine_compile.set_compiler(compiler, eager=True)
        _installed = (compiler, before if _installed is None else _installed[1])
    compiler.attend()
    # A debugger may come after the last listing, and shows something then.
    tensor_view.listeners.add(compiler.attend)
    return root


def uninstall() -> None:
    """Compile as before `install`; functions that were made stay as they are."""
    global _installed  # noqa: PLW0603 - one switch for the process
    first_graph.forget()
    with _lock:
        if _installed is not None:
            compiler, eager = _installed[1]
            engine_compile.set_compiler(compiler, eager=eager)
            _installed[0].producers.take_out()
            _installed[0].watching.set((), OnBreak.REPORT)
            tensor_view.listeners.discard(_installed[0].attend)
            _installed = None


def break_on(*rules: str, on_break: str = "report") -> None:
    """Watch for these rules from now on, and for no others; for none, watch no more.

    Installs the runtime when it is not. Raises ValueError for a rule that there is not.
    """
    wanted = rules_of(rules)
    how = on_break_of(on_break)
    if wanted and _installed is None:
        install()
    installation = _installed
    if installation is not None:
        installation[0].watching.set(wanted, how)
        installation[0].producers.dynamo.compile_again()


def finish() -> None:
    """Write what waits until the program has a moment; `uninstall` does it as well."""
    installation = _installed
    if installation is not None:
        installation[0].producers.torch_fx.finish()


def watches() -> bool:
    """Whether any rule is watched for."""
    installation = _installed
    return installation is not None and bool(installation[0].watching)


def store_of_program() -> Store:
    """The store that is installed, or the one that `install()` would take."""
    return installed() or Store(_root(None, None))


def torch_fx() -> TorchFx | None:
    """What makes listings of torch's graph modules, while it is installed."""
    installation = _installed
    return None if installation is None else installation[0].producers.torch_fx


def publish_captured(module: Any) -> None:
    """Write the listing of a graph that torch.compile captured before `install`."""
    installation = _installed
    if installation is not None:
        installation[0].producers.dynamo.captured_before(module)


def installed() -> Store | None:
    """The store that graph modules are materialized in, or None."""
    return None if _installed is None else _installed[0].store


class _Materializer:
    """The compiler that writes the text to the store and compiles it under its path."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._codes: weakref.WeakValueDictionary[Path, CodeType] = (
            weakref.WeakValueDictionary()
        )
        self._followed = Followed(store, lambda: list(self._codes))
        self._said = SaidOnce()
        self._keeps_values = False
        followed = self._followed
        self.watching = Watching(self._instances)
        self.producers = Producers(
            *(store, self._codes, followed.attend, followed.materialized),
            *(self.watching, followed),
        )
        self.producers.torch_fx.look = followed.look

    def keep_values(self, keep: bool) -> None:  # noqa: FBT001 - its name says it
        """Let the listings made from now on keep their values, or let them go."""
        self._keeps_values = self.producers.torch_fx.keeps_values = keep

    def attend(self) -> None:
        """Make a debugger ready that is connected."""
        self._followed.attend()

    def __call__(self, module: GraphModule, code: ForwardCode, /) -> FunctionType:
        """The forward of a module, compiled under the path of its listing."""
        self._followed.attend()
        text = ListingText(module, code.graph, keeps_values=self._keeps_values)
        code.take(text.code.code, text.layout.lines)
        path = self.store.path_of(text.identity.class_name, text.text)
        if path in self._codes:
            self._followed.look(path)
        try:
            self._materialize(path, text, lambda: ListingText(module, code.graph))
        except StoreError as error:
            self._say(error)
            if not _holds(path, text.text):
                code.take(text.code.code)
                return compile_in_memory(module, code)
        compiled = self._codes.get(path)
        if compiled is None:
            # The text that runs is the one that is shown, whatever happens to the file.
            compiled = self._codes[path] = text.layout.compiled(str(path))
        self._followed.materialized(path)
        names = dict(code.globals)
        names["__file__"] = str(path)
        names[_KEPT] = compiled
        function = engine_compile.run_definition(
            compiled, names, engine_compile.function_name(code.graph)
        )
        self.watching.made(function, path)
        return function

    def _instances(self, path: Path) -> tuple[Listing, ...]:
        """What the store knows of a listing that runs."""
        self.producers.torch_fx.finish()
        try:
            return self.store.instances(path)
        except StoreError:
            return ()

    def _materialize(
        self, path: Path, text: ListingText, freeing: Callable[[], ListingText]
    ) -> None:
        """Write a listing; `freeing` gives the one of this graph that keeps no value."""
        known = self._known(path)
        if known is not None and not _says_less(known, text):
            return
        listing = text.listing()
        if self._keeps_values and not text.has_values():
            # A trace with example inputs, which keeps none, has written shapes.
            other = freeing()
            known = self._known(
                self.store.path_of(other.identity.class_name, other.text)
            )
            if known is not None and known.identity == listing.identity:
                listing = _with_values(listing, known)
        self.store.materialize(listing)

    def _known(self, path: Path) -> Listing | None:
        """The listing as it is in the store, when it is as true as one made now."""
        if not path.exists():
            return None
        try:
            listing = self.store.read(path)
        except StoreError:
            return None  # materializing writes it again, and says so
        fresh = all(source_digest(s.path) == s.digest for s in listing.sources)
        return listing if fresh else None

    def _say(self, trouble: StoreError) -> None:
        if self._said.is_first(trouble.problem):
            _log.warning("fxls keeps generated code in memory: %s", trouble)


def _holds(path: Path, text: str) -> bool:
    """Whether the text is there although the store cannot be written."""
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _with_values(listing: Listing, known: Listing) -> Listing:
    """A listing with what another one of the same graph knows of values."""
    values = {facts.name: facts.value for facts in known.nodes}
    nodes = tuple(
        [replace(facts, value=values.get(facts.name)) for facts in listing.nodes]
    )
    return replace(listing, nodes=nodes)


def _says_less(listing: Listing, text: ListingText) -> bool:
    """Whether the graph knows of another identity, or of values that a listing lacks.

    A trace with example inputs has written shapes; a run, which has none, must not put
    a listing without them in front of it.
    """
    return listing.identity != text.identity or (
        text.has_values() and all(facts.value is None for facts in listing.nodes)
    )


def _report(trouble: StoreError) -> None:
    """Say what happened to the store, to the person who debugs, or to the log."""
    debugger = pydevd.connected()
    if debugger is None:
        _log.warning("%s", trouble)
        return
    with pydevd.logging_unknown("the session does not say what happened to its files"):
        debugger.say(str(trouble))


def _asked_for(environ: Mapping[str, str]) -> tuple[tuple[Rule, ...], OnBreak]:
    """The rules that ``FXLS_BREAK_ON`` names, and what ``FXLS_ON_BREAK`` says."""
    try:
        rules = rules_of([environ.get("FXLS_BREAK_ON", "")])
        return rules, on_break_of(environ.get("FXLS_ON_BREAK") or "report")
    except ValueError as error:
        _log.warning("fxls watches for nothing: %s", error)
        return (), OnBreak.REPORT


def _root(store: str | os.PathLike[str] | None, program: Path | None) -> Path:
    given = store if store is not None else os.environ.get("FXLS_STORE")
    if given and not is_url(os.fspath(given)):
        return Path(os.path.abspath(given))  # noqa: PTH100  # resolve() follows links
    main = program or getattr(sys.modules.get("__main__"), "__file__", None)
    root = locate(Path(main) if main else Path.cwd())
    if given and _said.is_first(given):
        _log.warning(
            "fxls only reads stores on other machines, as %s; it writes to %s",
            *(given, root),
        )
    return root


_KEPT = "__fxls_code__"
"""Keeps the compiled text alive as long as a function of it."""

_said = SaidOnce()
"""The URLs of which it was said that nothing is written there."""

_lock = threading.Lock()
_installed: tuple[_Materializer, tuple[Compiler, bool]] | None = None
