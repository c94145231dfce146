"""Who raised: functions of the program that are given a graph, or what inductor lowers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

import fxls
from fxls.runtime.passes.graph_state import GraphState, is_node
from fxls.runtime.torch_private import fx

__all__ = ["Raiser", "is_programs", "lowered_node", "raisers_in"]

_PYTHONS = f"{Path(inspect.__file__).parent}/"
_NOT_THE_PROGRAMS = tuple(f"{Path(str(one.__file__)).parent}/" for one in (fxls, torch))


@dataclass(frozen=True, slots=True, eq=False)
class Raiser:
    """A function that was given a graph, and that raised or called what did."""

    code: CodeType
    names: Mapping[str, Any]
    """What names mean in it: those of its module and of the functions around it."""
    given: tuple[Any, ...]
    """Its arguments."""
    named: Mapping[str, Any]
    """Those that only a name gives."""
    graph: GraphState
    """What it was given, as far as it had not changed that already."""
    at: tuple[str, ...]
    """The nodes that variables were bound to, where it raised, or what it called did."""


def is_programs(code: CodeType) -> bool:
    """Whether code is of a file that is neither torch's, nor Python's, nor ours."""
    file = code.co_filename.replace("\\", "/")
    if file.startswith(("<", *_NOT_THE_PROGRAMS)):
        return False
    return not file.startswith(_PYTHONS) or "site-packages" in file


def raisers_in(error: BaseException | None) -> tuple[Raiser, ...]:
    """The functions of the program that an error left, the outermost first, and that are
    given a graph or a graph module.
    """
    trace = None if error is None else error.__traceback__
    frames: list[FrameType] = []
    while trace is not None:
        if is_programs(trace.tb_frame.f_code):
            frames.append(trace.tb_frame)
        trace = trace.tb_next
    at = next((found for one in reversed(frames) if (found := _nodes_in(one))), ())
    return tuple(one for frame in frames for one in _raiser(frame, at))


def lowered_node(error: BaseException | None, lowering: Any) -> str:
    """The node that inductor lowered when it raised; empty where it did something else."""
    found, tb = "", None if error is None else error.__traceback__
    while tb is not None:
        frame = tb.tb_frame
        is_lowering = frame.f_code.co_name == "run_node"
        if is_lowering and frame.f_locals.get("self") is lowering:
            found = getattr(frame.f_locals.get("n"), "name", found)
        tb = tb.tb_next
    return found


def _raiser(frame: FrameType, at: tuple[str, ...]) -> Iterator[Raiser]:
    code, known = frame.f_code, frame.f_locals
    count = code.co_argcount
    if code.co_flags & inspect.CO_VARARGS:
        more = code.co_varnames[count + code.co_kwonlyargcount]
        if known.get(more):
            return  # nobody knows what it would do with these
    given = tuple(known.get(name) for name in code.co_varnames[:count])
    modules = [one for one in map(_module_of, given[:2]) if one is not None]
    if not modules:
        return
    only = code.co_varnames[count : count + code.co_kwonlyargcount]
    named = {name: known[name] for name in only if name in known}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        at_end = count + code.co_kwonlyargcount
        at_end += bool(code.co_flags & inspect.CO_VARARGS)
        named |= known.get(code.co_varnames[at_end]) or {}
    free = {name: known[name] for name in code.co_freevars if name in known}
    names = {**frame.f_globals, **free}
    yield Raiser(code, names, given, named, GraphState(modules[0]), at)


def _module_of(value: Any) -> Any:
    if isinstance(value, fx.GraphModule):
        return value
    if isinstance(value, fx.Graph):
        return getattr(value, "owning_module", None) or fx.GraphModule({}, value)
    return None


def _nodes_in(frame: FrameType) -> tuple[str, ...]:
    found = (one.name for one in frame.f_locals.values() if is_node(one))
    return tuple(dict.fromkeys(found))
