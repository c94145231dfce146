"""Why an interpreter did not start a worker, and what to do."""

from __future__ import annotations

from fxls.listing import Failure, Reason

__all__ = ["not_started"]


def not_started(python: str, printed: str) -> Failure:
    """Why an interpreter did not start a worker, from the last line it printed."""
    lines = printed.strip().splitlines() or ["it ended and said nothing"]
    advice = "Choose another interpreter, one that has torch and fxls."
    if "No module named" in lines[-1] and "fxls" in lines[-1]:
        advice = (
            f"Install fxls into it (`{python} -m pip install fxls`), or choose another "
            "interpreter."
        )
    elif "option" in printed.lower() and "-P" in printed:
        advice = "fxls needs Python 3.11 or newer: choose another interpreter."
    return Failure(
        Reason.WORKER, f"{python} did not start the worker: {lines[-1]}", advice=advice
    )
