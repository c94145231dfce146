"""Runs two listings on inputs that are drawn from a seed, and compares their values."""

from __future__ import annotations

import linecache
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import msgspec
import torch

from fxls.attempt import Raised, attempt
from fxls.listing import Facts, Listing, Tensor
from fxls.runtime.checks.instrumented import BROKEN, CHECK, instrumented
from fxls.runtime.numbers.graphs import NotRun, doubled, leaves
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged, nudged
from fxls.runtime.numbers.replaying import Mode, alone, raised_by
from fxls.runtime.passes.graph_state import is_node
from fxls.verdicts.comparison import Evidence, Where
from fxls.verdicts.two_listings import TwoListings

__all__ = ["two_listings"]

any_torch: Any = torch

_SIZE = 4
"""What a size is that a listing has as a symbol."""


def two_listings(
    graph: str,
    old: tuple[Path, Listing],
    new: tuple[Path, Listing],
    most_bytes: int,
) -> TwoListings:
    """What the code of both computes of the same inputs, node by node, by name."""
    paths = (str(old[0]), str(new[0]))
    try:
        before, after = _Runnable(*old), _Runnable(*new)
        inputs = before.inputs()
        if before.form != after.form:
            raise NotRun("they take other inputs")
        need = 4 * (before.need + after.need)
        if need > most_bytes:
            raise NotRun(
                f"their values need {need >> 20} MB, and --memory allows"
                f" {most_bytes >> 20} MB"
            )
        got = after.run(inputs, Mode.OWN)
        own = before.run(inputs, Mode.OWN)
    except NotRun as why:
        return TwoListings(graph, *paths, why_not=str(why))
    if len(got.outputs) != len(own.outputs):
        why = f"one returns {len(own.outputs)} values, and the other {len(got.outputs)}"
        return TwoListings(graph, *paths, why_not=why)
    return _Comparing(before, inputs, own).of(TwoListings(graph, *paths), after, got)


class _Comparing:
    """Judges what one listing gave by the other."""

    def __init__(self, before: _Runnable, inputs: Mapping[str, Any], own: _Run) -> None:
        self._before = before
        self._inputs = inputs
        self._runs = {Mode.OWN: own}

    def of(self, found: TwoListings, after: _Runnable, got: _Run) -> TwoListings:
        """What is to be said of a run of the other."""
        own = self._runs[Mode.OWN]
        names = [one for one in got.values if one in own.values]
        names = [one for one in names if one not in self._inputs]
        judged_values = {name: self._value(name, got) for name in names}
        judged_outputs = [self._output(at, one) for at, one in enumerate(got.outputs)]
        wrong = [(one, said) for one, said in judged_values.items() if _is_wrong(said)]
        outputs = [at for at, said in enumerate(judged_outputs) if _is_wrong(said)]
        evidence = wrong[0][1] if wrong else None
        if evidence is None and outputs:
            evidence = judged_outputs[outputs[0]]
        where, line = after.where(wrong[0][0], own.values) if wrong else ((), 0)
        untold = [name for name, said in judged_values.items() if said is None]
        untold += [f"output {n}" for n, said in enumerate(judged_outputs) if not said]
        return msgspec.structs.replace(
            found,
            values=len(names),
            where=where,
            line=line,
            evidence=evidence,
            outputs=tuple(outputs),
            untold=tuple(untold),
        )

    def _value(self, name: str, got: _Run) -> Evidence | None:
        own = self._runs[Mode.OWN].values[name]
        return _judged(
            got.values[name], own, lambda mode: self._run(mode).values.get(name)
        )

    def _output(self, at: int, value: Any) -> Evidence | None:
        def output(mode: Mode) -> Any:
            found = self._run(mode).outputs
            return found[at] if at < len(found) else None

        return _judged(value, self._runs[Mode.OWN].outputs[at], output)

    def _run(self, mode: Mode) -> _Run:
        if mode not in self._runs:
            try:
                self._runs[mode] = self._before.run(self._inputs, mode)
            except NotRun:  # it writes its dtypes itself
                self._runs[mode] = _Run()
        return self._runs[mode]


def _is_wrong(said: Evidence | None) -> bool:
    return said is not None and said.error > said.allowed


@dataclass(slots=True)
class _Run:
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: Sequence[Any] = ()


class _Runnable:
    """The code of a listing, and what it is to be called with."""

    def __init__(self, path: Path, listing: Listing) -> None:
        self._listing = listing
        self._given = [one for one in listing.nodes if one.opcode == "placeholder"]
        calls = [one.name for one in listing.nodes if one.opcode == "call_module"]
        if calls:
            raise NotRun(f"{calls[0]} calls a module, which the listing does not have")
        text = listing.text
        names: dict[str, Any] = {}
        linecache.cache[str(path)] = (
            len(text),
            None,
            text.splitlines(keepends=True),
            str(path),
        )
        made = attempt(lambda: exec(compile(text, str(path), "exec"), names))
        if isinstance(made, Raised):
            raise NotRun(f"its code cannot be loaded: {raised_by(made.error)}")
        self._names = names
        self._code = instrumented(text, str(path)).code
        self.form = [(one.name, one.value) for one in self._given]
        """Of the inputs: what they are called, and what is known of them."""
        self.need = sum(_bytes_of(one) for one in listing.nodes)

    def inputs(self) -> Mapping[str, Any]:
        """What the code is given, drawn from a seed."""
        return {one.name: _drawn(one) for one in self._given}

    def where(self, name: str, known: Collection[str]) -> tuple[tuple[Where, ...], int]:
        """The nodes by which a value is another one, where these are known to be there
        before; and the line of the first of them.
        """
        nodes = self._listing.nodes
        wrong = next(at for at, one in enumerate(nodes) if one.name == name)
        made: set[int] = set()
        for at in range(wrong - 1, -1, -1):
            is_read = not made.isdisjoint(nodes[at].users) or wrong in nodes[at].users
            if is_read and nodes[at].name not in known:
                made.add(at)
        found = sorted(made) or [wrong]
        return tuple(map(self._where, found)), nodes[found[0]].line + 1

    def _where(self, at: int) -> Where:
        origin = self._listing.origin(at)
        one = self._listing.nodes[at]
        return Where(one.name, one.target, tuple(origin.places) if origin else ())

    def run(self, inputs: Mapping[str, Any], mode: Mode) -> _Run:
        """What its nodes give; raises `NotRun`."""
        done = _Run()

        def check(name: str, value: Any) -> bool:
            if name:
                done.values[name] = value
            return False

        given = [_formed(value, mode, at) for at, value in enumerate(inputs.values())]

        def taken_apart(_arguments: object, _spec: object) -> list[Any]:
            return given

        names = {**self._names, CHECK: check, BROKEN: None}
        if "fx_pytree" in names:  # a joint graph takes its arguments apart by a spec
            names["fx_pytree"] = SimpleNamespace(tree_flatten_spec=taken_apart)
        count = self._code.co_argcount - 1
        code = FunctionType(self._code, names)
        module = self._module(mode)
        args = given if len(given) == count else [None] * count
        with alone():
            any_torch.manual_seed(0)
            found = attempt(lambda: code(module, *args))
        if isinstance(found, Raised):
            raise NotRun(f"its code raises: {raised_by(found.error)}")
        done.outputs = leaves(found)
        return done

    def _module(self, mode: Mode) -> Any:
        """What stands for the module, with the attributes that are read."""
        root = SimpleNamespace(_in_spec=None)
        for one in self._listing.nodes:
            if one.opcode != "get_attr":
                continue
            *path, last = one.target.split(".")
            holder: Any = root
            for part in path:
                if not hasattr(holder, part):
                    setattr(holder, part, SimpleNamespace())
                holder = getattr(holder, part)
            setattr(holder, last, _formed(_drawn(one), mode, 0))
        return root


def _drawn(facts: Facts) -> Any:
    """A value of the form that the facts of a node have; raises `NotRun`."""
    value = facts.value
    if value is None or not isinstance(value, Tensor):
        if value is not None and getattr(value, "kind", "") in ("SymInt", "int"):
            return _SIZE
        raise NotRun(f"nothing is known of the value of {facts.name}")
    shape = [size if isinstance(size, int) else _SIZE for size in value.shape]
    dtype: Any = getattr(torch, value.dtype, None)
    if not isinstance(dtype, torch.dtype) or value.device.partition(":")[0] != "cpu":
        raise NotRun(
            f"{facts.name} is {value.dtype} on {value.device}, which is not here"
        )
    seeded = any_torch.Generator().manual_seed(zlib.crc32(facts.name.encode()))
    if dtype.is_floating_point or dtype.is_complex:
        return any_torch.randn(shape, generator=seeded).to(dtype)
    return any_torch.randint(0, 2, shape, generator=seeded).to(dtype)


def _formed(value: Any, mode: Mode, seed: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    own = value.clone()
    if mode is Mode.OWN:
        return own
    return nudged(own, seed) if mode is Mode.MOVED else doubled(own)


def _judged(got: Any, own: Any, of: Callable[[Mode], Any]) -> Evidence | None:
    """How far a value is off; None where nobody can say."""
    if not isinstance(got, torch.Tensor) or not isinstance(own, torch.Tensor):
        is_same = type(got) is type(own) and (is_node(got) or got is None or got == own)
        return Evidence("", (), 0.0 if is_same else float("inf"), 0.0, 0.0, 0.0, "")
    found = judged(got, own, lambda: of(Mode.MOVED), lambda: of(Mode.EXACT), LENIENT)
    if found.verdict is Verdict.OPEN or found.evidence is None:
        return None
    if found.verdict is Verdict.WRONG:
        return found.evidence
    return Evidence("", (), 0.0, 0.0, 0.0, 0.0, "")


def _bytes_of(facts: Facts) -> int:
    value = facts.value
    if not isinstance(value, Tensor):
        return 0
    count = 8
    for size in value.shape:
        count *= size if isinstance(size, int) else _SIZE
    return count
