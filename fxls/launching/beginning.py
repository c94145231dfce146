"""What a program under fxls begins with, before its first line.

It finds its store in FXLS_STORE, and what else was asked for beside it. Processes that
make no graph go through here as well, so torch is imported when the program imports it,
and the runtime when the program makes its first graph.
"""

from __future__ import annotations

import os

from fxls.first_graph import FirstGraph

__all__ = ["begin"]


def begin() -> None:
    """Let the runtime be turned on with the first graph, and the last line be said."""
    _summarize_at_end()
    _say_what_was_watched()
    _say_what_was_not_measured()
    FirstGraph(_install).start()


def _install() -> None:
    from fxls.attempt import attempting  # noqa: PLC0415 - takes a moment

    with attempting(_say):
        from fxls.runtime import install  # noqa: PLC0415 - imports torch
        from fxls.runtime.faults import logging_faults  # noqa: PLC0415

        with logging_faults("the program runs without fxls"):
            install()


def _say_what_was_watched() -> None:
    """Let the program's last line say what was found, also when it makes no graph."""
    asked = os.environ.get("FXLS_BREAK_ON")
    if not asked:
        return
    from fxls.rules import rules_of  # noqa: PLC0415 - for who asks for rules
    from fxls.watch_tally import tally  # noqa: PLC0415 - as above

    main = os.environ.setdefault("FXLS_WATCHED_FROM", str(os.getpid()))
    try:
        rules = [rule.value for rule in rules_of([asked])]
    except ValueError:
        return  # the runtime says so when it comes
    tally.watch(rules, is_main=main == str(os.getpid()))


def _say_what_was_not_measured() -> None:
    """Let the program say at its end that it has no times, and why, if they were asked for."""
    if os.environ.get("FXLS_TIMES") != "1":
        return
    import atexit  # noqa: PLC0415 - for who asks for times

    main = os.environ.setdefault("FXLS_TIMES_FROM", str(os.getpid()))
    process = os.getpid()

    def say() -> None:
        if os.getpid() != process:
            return  # it was forked
        from fxls.attempt import attempting  # noqa: PLC0415 - takes a moment

        with attempting(_say):
            from fxls.launching.summary import say_unmeasured  # noqa: PLC0415

            say_unmeasured(is_main=main == str(process))

    atexit.register(say)


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
