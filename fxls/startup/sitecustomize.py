"""Python runs this at its start when this folder is on PYTHONPATH: the way to turn the
runtime on for a program from outside.

`fxls run` and the editor's launches put it there, and FXLS_STORE beside it. The program
finds `sys.path` as it would be, and torch is imported when the program imports it;
the runtime when the program makes its first graph.
Processes that it starts inherit both.
"""

import os
import sys


def _step_aside() -> None:
    """Leave the path, and let the environment's own sitecustomize run."""
    folder = os.path.dirname(__file__)  # noqa: PTH120 - pathlib costs time at each start
    sys.path[:] = [at for at in sys.path if os.path.abspath(at) != folder]  # noqa: PTH100
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]  # another one
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own  # where the import of it looks for it


def _install_with_first_graph() -> None:
    try:
        from fxls.first_graph import FirstGraph  # noqa: PLC0415
    except ImportError:
        return  # the interpreter of a child process, where there is no fxls

    def install() -> None:
        from fxls.attempt import attempting  # noqa: PLC0415 - takes a moment

        with attempting(_say):
            from fxls.runtime import install  # noqa: PLC0415 - imports torch
            from fxls.runtime.faults import logging_faults  # noqa: PLC0415

            with logging_faults("the program runs without fxls"):
                install()

    FirstGraph(install).start()


def _say_what_was_watched() -> None:
    """Let the program's last line say what was found, also when it makes no graph."""
    asked = os.environ.get("FXLS_BREAK_ON")
    if not asked:
        return
    try:
        from fxls.rules import rules_of  # noqa: PLC0415 - for who asks for rules
        from fxls.watch_tally import tally  # noqa: PLC0415 - as above
    except ImportError:
        return  # as above
    main = os.environ.setdefault("FXLS_WATCHED_FROM", str(os.getpid()))
    try:
        rules = [rule.value for rule in rules_of([asked])]
    except ValueError:
        return  # the runtime says so when it comes
    tally.watch(rules, is_main=main == str(os.getpid()))


def _say(fault: Exception) -> None:
    import logging  # noqa: PLC0415 - seldom needed

    from fxls.installed_torch import OldTorch  # noqa: PLC0415 - as above

    log = logging.getLogger("fxls")
    if isinstance(fault, OldTorch):
        log.warning("the program runs without fxls: %s", fault)
    else:
        log.warning("the program runs without fxls: %r", fault, exc_info=fault)


def _summarize_at_end() -> None:
    """Say at the end of the program that `fxls run` became what came of it."""
    if os.environ.get("FXLS_SUMMARY") != str(os.getpid()):
        return  # a child
    import atexit  # noqa: PLC0415 - seldom needed
    import time  # noqa: PLC0415

    root, start = os.environ["FXLS_STORE"], time.time()

    def summarize() -> None:
        from fxls.attempt import attempting  # noqa: PLC0415 - takes a moment

        with attempting(_say):
            from pathlib import Path  # noqa: PLC0415

            from fxls.launching.summary import summarize  # noqa: PLC0415

            summarize(Path(root), start)

    atexit.register(summarize)  # the first, so that it is the last to run


_step_aside()
_summarize_at_end()
_say_what_was_watched()
_install_with_first_graph()
