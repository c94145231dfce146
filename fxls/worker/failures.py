"""What the user's code raised, as a value that says what to do."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import traceback
from pathlib import Path
from types import FrameType, ModuleType

import torch

from fxls.engine import TraceError
from fxls.engine.errors import LengthError
from fxls.engine.proxy import assert_fn
from fxls.entry import Entry
from fxls.listing import Failure, Reason
from fxls.repairs import Evaluate, GiveArguments, Rename, Repair, Wrap
from fxls.runtime.producers.export_calls import check_of
from fxls.worker.places import Territory, ended_in, shortened, syntax_place

__all__ = ["failure_of", "is_ours"]

_LONGEST = 4000
"""Bounds a message: some errors print a whole tensor."""


def failure_of(
    error: BaseException,
    reason: Reason,
    territory: Territory,
    entry: Entry,
    module: ModuleType | None,
) -> Failure:
    """The failure that an error is, when it was raised in the step of this reason."""
    places = territory.places(error)
    if isinstance(error, TraceError):
        if error.origin is not None:
            places = shortened(list(error.origin.places))
        repairs = (Wrap("len"),) if isinstance(error, LengthError) else ()
        return Failure(reason, error.message, places, error.advice or None, repairs)
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        message = f"the code called sys.exit({code})"
        return Failure(Reason.EXITED, message, places, _advice_on_exit(reason))
    if _is_memory(error):
        advice = "Build a smaller model for the entry."
        return Failure(Reason.MEMORY, _message(error), places, advice)
    if isinstance(error, SyntaxError) and reason is Reason.IMPORT:
        place = syntax_place(error)
        if place is not None and territory.holds(place.path):
            return Failure(Reason.SYNTAX, _message(error), (place, *places))
    advice = _advice(error, reason, entry, module)
    repairs = _repairs(error, reason, module)
    return Failure(reason, _message(error), places, advice, repairs)


def is_ours(error: BaseException) -> bool:
    """Whether an error is a fault of fxls: an assertion of its own code."""
    if not isinstance(error, AssertionError):
        return False
    innermost = _innermost(error)
    if innermost is not None and innermost.f_code is assert_fn.__code__:
        return False  # the user's, as a node of the graph
    return ended_in(error).startswith(str(Path(__file__).parents[1]))


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
    else:
        # Python's own formatting survives a ``__str__`` that raises.
        message = "".join(traceback.format_exception_only(error)).strip()
    return message if len(message) <= _LONGEST else message[:_LONGEST] + " ..."


def _is_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def _advice_on_exit(reason: Reason) -> str:
    if reason is Reason.IMPORT:
        return (
            'Put the code that runs the program under `if __name__ == "__main__":`, '
            "so that the file can be imported."
        )
    return "Raise an exception there: fxls has to build the model to trace it."


_MISSING = re.compile(
    r"(?P<callee>[\w.<>]+)\(\) missing \d+ required [\w-]+ arguments?: (?P<names>.*)"
)


def _advice(
    error: BaseException, reason: Reason, entry: Entry, module: ModuleType | None
) -> str | None:
    match error:
        case _ if is_ours(error):
            return "This is a fault of fxls: please report it, with the worker's log."
        case ModuleNotFoundError() if error.name is not None:
            top = error.name.partition(".")[0]
            return (
                f"Install `{top}` into {sys.executable}, or choose the interpreter "
                "that has it."
            )
        case FileNotFoundError():
            return (
                f"Relative paths start at {Path.cwd()}; one that starts at "
                "`Path(__file__).parent` works from everywhere."
            )
        case NameError() if reason is Reason.ENTRY and module is not None:
            return _advice_on_name(error, entry, module)
        case TypeError() if "instantiate abstract class" in str(error):
            return "Write the entry for a class below it, which has those methods."
        case TypeError() if reason is Reason.ENTRY:
            return _advice_on_arguments(str(error), module)
        case ValueError() if _needs_batch(error):
            return (
                "Give it a larger batch, or trace it for evaluation: "
                "`Net().eval()(...)`."
            )
        case TypeError() if "__cuda_array_interface__" in str(error):
            return (
                "It makes a tensor of the numbers in a value, which are known only "
                "when the model runs: wrap() the function that does it."
            )
        case _ if reason is Reason.RUN:
            return "There is a listing, with shapes as far as it ran: check the example inputs."
        case _:
            return None


def _repairs(
    error: BaseException, reason: Reason, module: ModuleType | None
) -> tuple[Repair, ...]:
    """What an editor can do of the advice."""
    found: Repair | None = None
    match error:
        case NameError() if reason is Reason.ENTRY and module is not None:
            meant = _meant(error, module)
            found = Rename(error.name, meant) if error.name and meant else None
        case TypeError() if reason is Reason.ENTRY:
            missing = _MISSING.match(str(error))
            found = GiveArguments(_callee(missing)) if missing else None
        case ValueError() if _needs_batch(error):
            found = Evaluate()
        case _ if _depends_on_data(error):
            found = check_of(error)
        case _:
            pass
    return () if found is None else (found,)


def _depends_on_data(error: BaseException) -> bool:
    """Whether torch had to know a number, or a truth, that only a run knows."""
    # Of others even the text may raise.
    return type(error).__module__.startswith("torch.") and (
        type(error).__name__ == "GuardOnDataDependentSymNode"
        or "guard on data-dependent expression" in str(error)[:_LONGEST]
    )


def _needs_batch(error: ValueError) -> bool:
    """Whether a batch norm was given one sample, which it can only take in evaluation."""
    return "more than 1 value per channel" in str(error)


def _meant(error: NameError, module: ModuleType) -> str | None:
    """The name that is spelled like one that is not defined."""
    known = {**vars(module)}
    innermost = _innermost(error)
    if innermost is not None:
        known |= {**innermost.f_globals, **innermost.f_locals}
    return next(iter(difflib.get_close_matches(error.name or "", known, 1)), None)


def _advice_on_name(error: NameError, entry: Entry, module: ModuleType) -> str | None:
    meant = _meant(error, module)
    if meant is not None:
        return f"Did you mean `{meant}`?"
    innermost = _innermost(error)
    if innermost is not None and innermost.f_code.co_name != "<module>":
        return None
    classes = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, torch.nn.Module)
    ]
    if classes:
        listed = ", ".join(f"`{name}`" for name in classes)
        return f"The modules of {Path(entry.path).name} are {listed}."
    return f"{Path(entry.path).name} has no module class."


def _innermost(error: BaseException) -> FrameType | None:
    """The frame that raised an error."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return None if traceback is None else traceback.tb_frame


def _advice_on_arguments(message: str, module: ModuleType | None) -> str | None:
    missing = _MISSING.match(message)
    if missing is None:
        return None
    callee = _callee(missing)
    names = _required(getattr(module, callee, None)) or re.findall(
        r"'(\w+)'", missing["names"]
    )
    arguments = ", ".join(f"{name}=..." for name in names)
    return (
        "Write an entry comment that gives them: "
        f"`# fxls: {callee}({arguments})(torch.randn(...))`."
    )


def _callee(missing: re.Match[str]) -> str:
    """The class, or the function, that lacks arguments."""
    return missing["callee"].removesuffix(".__init__").rpartition(".")[2]


def _required(callee: object) -> list[str]:
    """The names of the arguments that a class must be given."""
    if not isinstance(callee, type):
        return []
    try:
        signature = inspect.signature(callee)
    except (TypeError, ValueError):  # some classes have none that Python can tell
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default is inspect.Parameter.empty and parameter.kind not in kinds
    ]
