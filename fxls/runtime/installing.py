"""The runtime's switch: from now on, generated code is a file of the store.

Anything that goes wrong there is logged once, and the program goes on as if fxls had not
been installed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, MutableMapping
from functools import partial
from pathlib import Path

from fxls import first_graph
from fxls.code_cache import folder_for
from fxls.engine.module import compile as engine_compile
from fxls.engine.module.compile import Compiler
from fxls.rules import OnBreak, Rule, on_break_of, rules_of
from fxls.runtime.debugging import pydevd
from fxls.runtime.inductor.kernel_times import KernelTimes
from fxls.runtime.inductor.other_settings import put_in_force
from fxls.runtime.installation import Installation, built
from fxls.runtime.listings.rank import launch_of_ranks, launched_as
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.record.run_head import ThisRun, is_compile_worker
from fxls.said_once import SaidOnce
from fxls.store import Store, StoreError, is_url, locate

__all__ = [
    "break_on",
    "current",
    "finish",
    "install",
    "installed",
    "new_run",
    "store_of_program",
    "uninstall",
    "watch",
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
    global _installed, _engine_before  # noqa: PLW0603 - one switch for the process
    root = _root(store, program)
    with _lock:
        before = _installed
        if before is not None and before.store.root == root:
            if keep_values is not None:
                before.keeping.set(keep_values)
            return root
        of = _program()
        store_of = Store(root, report=_report, program=of)
        code_folder = folder_for(os.environ, str(root.parent))
        keeping = _numbers(os.environ)
        times = KernelTimes() if os.environ.get("FXLS_TIMES") == "1" else None
        run = _run(os.environ)
        installation = built(store_of, run, of, code_folder, keeping, times)
        if keep_values is None:
            keep_values = os.environ.get("FXLS_KEEP_VALUES", "") not in ("", "0")
        installation.keeping.set(keep_values)
        launched_as(os.environ)
        if before is not None:
            before.take_out()
        first_graph.forget()
        with contextlib.ExitStack() as half:
            half.callback(installation.take_out)
            installation.put_in()
            installation.running_code.set(*_asked_for(os.environ))
            compiler = engine_compile.set_compiler(installation.engine, eager=True)
            half.pop_all()
        if before is None:
            _engine_before = compiler
        _installed = installation
    installation.clients.start()
    return root


def uninstall() -> None:
    """Compile as before `install`; functions that were made stay as they are."""
    global _installed  # noqa: PLW0603 - one switch for the process
    first_graph.forget()
    with _lock:
        if _installed is not None:
            compiler, eager = _engine_before
            engine_compile.set_compiler(compiler, eager=eager)
            _installed.take_out()
            _installed.running_code.set((), OnBreak.REPORT)
            _installed.running_code.break_into(frozenset())
            _installed = None
            _hand_back(os.environ)


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
        installation.running_code.set(wanted, how)
        installation.dynamo.compile_again()


def watch(*rules: str, on_break: str = "report") -> str:
    """As `break_on`, of a program that runs, in a thread of which it knows nothing.

    Says what is left to do: nothing, or ``compile`` where code of torch.compile's runs
    no nodes, which only a thread of the program can throw away; or ``install``.
    """
    wanted, how = rules_of(rules), on_break_of(on_break)
    installation = _installed
    if installation is None:
        return "install"
    installation.running_code.set(wanted, how)
    return "compile" if wanted and installation.breakpoints.has_compiled_away else ""


def unmeasured(*, is_main: bool) -> str:
    """Why no kernel was measured, and what to do; empty where one was, or none should.

    A process that is not the main one says nothing where it has no code to measure.
    """
    times = None if _installed is None else _installed.times
    return "" if times is None or not (is_main or times.has_code) else times.nothing()


def new_run() -> None:
    """Let what is compiled from now on be in another record, if anything is recorded."""
    with _lock:
        if _installed is not None:
            _installed.cut()
            if _installed.run is not None:
                _hand_down(_installed.run, os.environ)


def finish() -> None:
    """Write what waits until the program has a moment; `uninstall` does it as well."""
    installation = _installed
    if installation is not None:
        installation.later.finish()


def store_of_program() -> Store:
    """The store that is installed, or the one that `install()` would take."""
    return installed() or Store(_root(None, None), program=_program())


def current() -> Installation | None:
    """What is installed, while it is."""
    return _installed


def installed() -> Store | None:
    """The store that graph modules are materialized in, or None."""
    installation = _installed
    return None if installation is None else installation.store


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


def _numbers(environ: Mapping[str, str]) -> Keeping | None:
    """What keeps graphs and inputs of this process, if `fxls compare` wants them.

    It says in ``FXLS_COMPARE`` of which process, within how many bytes, perhaps which rules
    a call is to break, and whether Python is asked what it does in place of a graph; and in
    ``FXLS_SETTINGS`` under which settings of torch.
    """
    pid, _, rest = environ.get("FXLS_COMPARE", "").partition(":")
    most, rules, asking = (*rest.split(":"), "", "")[:3]
    if pid != str(os.getpid()) or not most.isdecimal():
        return None
    settings = json.loads(environ.get("FXLS_SETTINGS") or "{}")
    return Keeping(
        int(most),
        partial(put_in_force, settings),
        rules_of([rules]),
        is_asking_python=asking == "python",
    )


def _run(environ: MutableMapping[str, str]) -> ThisRun | None:
    """The run of this process, which is to be recorded; None where ``FXLS_RECORD`` is 0.

    Processes that it starts inherit by the environment what they belong to. A launcher of
    ranks makes no graph, so what it starts inherits nothing of it.
    """
    if environ.get("FXLS_RECORD") == "0" or is_compile_worker():
        return None
    launch = _inherited["FXLS_LAUNCH"] or launch_of_ranks(environ)
    run = ThisRun(launch, _inherited["FXLS_RUN"])
    _hand_down(run, environ)
    return run


def _hand_down(run: ThisRun, environ: MutableMapping[str, str]) -> None:
    environ["FXLS_LAUNCH"] = run.launch
    environ["FXLS_RUN"] = run.id


def _hand_back(environ: MutableMapping[str, str]) -> None:
    """Leave in the environment what this process inherited of the run it belongs to."""
    for name, inherited in _inherited.items():
        if inherited is not None:
            environ[name] = inherited
        else:
            environ.pop(name, None)


def _program() -> str | None:
    """The file of the program that runs, where it has one that is not ours."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or Path(main).is_relative_to(_OURS):
        return None
    return os.path.abspath(main)  # noqa: PTH100  # as below


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


_OURS = Path(__file__).parents[1]

_inherited = {name: os.environ.get(name) for name in ("FXLS_LAUNCH", "FXLS_RUN")}
"""The launch and the run that this process was started by, before it has its own."""

_said = SaidOnce()
"""The URLs of which it was said that nothing is written there."""

_lock = threading.Lock()
_installed: Installation | None = None
_engine_before: tuple[Compiler, bool] = (engine_compile.compile_in_memory, False)
"""What compiled for the engine before the first of them was installed."""
