"""The file that has the values of a program's captured graphs.

It is what `torch.save` writes of dicts, lists, texts, numbers and tensors, and is read
with `weights_only`, so that reading it runs nothing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from fxls.attempt import Raised, attempt
from fxls.verdicts.agreement import Environment

__all__ = ["KeptGraph", "KeptValues", "Unreadable", "read", "write"]

any_torch: Any = torch

_FORMAT = 1


class Unreadable(Exception):
    """A file is none that `write` made; the message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class KeptGraph:
    """The values that one captured graph had in its first call."""

    compilation: str
    stage: str
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each node is, as a text, by its name."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By the name of the node: tensors, numbers, and lists of them."""
    random: Sequence[str] = ()
    """The nodes that drew random numbers."""
    is_in_place: bool = False
    """Whether it changes values, so that these are its inputs and what it returned."""
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where each node is from, as file, line and column, where that is known."""
    groups: Mapping[str, Sequence[int]] = field(
        default_factory=dict[str, Sequence[int]]
    )
    """The ranks of the group of each collective operation; none where it is gone."""

    @property
    def computed(self) -> Sequence[str]:
        """The nodes with a value that are no inputs."""
        return [
            name
            for name in self.values
            if not self.nodes.get(name, "").startswith("placeholder ")
        ]


@dataclass(frozen=True, slots=True)
class KeptValues:
    """The values of all captured graphs of a program."""

    environment: Environment
    graphs: Sequence[KeptGraph]


def write(kept: KeptValues, path: Path) -> None:
    """Write a new file; raises OSError, or what torch raises, and leaves no part of it."""
    written = {
        "fxls": _FORMAT,
        "environment": msgspec.to_builtins(kept.environment),
        "graphs": [asdict(one) for one in kept.graphs],
    }
    with path.open("xb") as file:
        try:
            any_torch.save(written, file)
        except BaseException:
            path.unlink()
            raise


def read(path: Path, most_bytes: int) -> KeptValues:
    """What `write` wrote; raises `Unreadable`."""
    size = attempt(lambda: _bytes_in(path))
    if isinstance(size, Raised):
        raise Unreadable("it is no file that --keep wrote") from size.error
    if size > most_bytes:
        need, most = -(-size >> 20), most_bytes >> 20
        raise Unreadable(f"its values need {need} MB, and --memory allows {most} MB")
    read = attempt(lambda: _decoded(path))
    if isinstance(read, Raised):
        raise Unreadable("it is no file that --keep wrote") from read.error
    return read


def _bytes_in(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return sum(one.file_size for one in file.infolist())


def _decoded(path: Path) -> KeptValues:
    found: Any = any_torch.load(path, map_location="cpu", weights_only=True)
    if found["fxls"] != _FORMAT:
        raise ValueError(found["fxls"])
    graphs: list[KeptGraph] = []
    for one in found["graphs"]:
        graph = KeptGraph(**one)
        texts: list[Any] = [
            graph.compilation,
            graph.stage,
            *graph.nodes.values(),
            *graph.places.values(),
            *graph.random,
            *graph.groups,
        ]
        if not all(isinstance(text, str) for text in [*texts, *graph.values]):
            raise TypeError
        graphs.append(graph)
    return KeptValues(msgspec.convert(found["environment"], Environment), graphs)
