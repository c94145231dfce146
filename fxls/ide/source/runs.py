"""Which listings say what the expressions of a source gave when they ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePath

from fxls.ide.listing.document import Document
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.pieces import qualified_names
from fxls.listing import How

__all__ = ["Definitions", "definitions_of", "given_by", "runs_of", "runs_through"]

_GIVEN = {"placeholder", "output"}


class Definitions:
    """The functions and classes of a source, by their qualified names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {"<module>", *names}

    def has(self, name: str) -> bool:
        """Whether there is one of this name, which may be one that Python makes up."""
        kept, _, last = name.rpartition(".<locals>.")
        # Who compiles a function for torch.compile goes by another name.
        return name in self._names or (
            last.startswith("<") and self.has(kept or "<module>")
        )


@lru_cache(maxsize=16)
def definitions_of(text: str) -> Definitions | None:
    """Those of a text; None when Python cannot read it."""
    names = qualified_names(text)
    return None if names is None else Definitions(names)


def runs_of(source: SourceFile, definitions: Definitions) -> list[Document]:
    """The listings of graphs as they were captured, and that hold today.

    - What passes made of a graph has gradients, masks and statistics in it, which
      have the origin of the expression that they belong to.
    - A class or function that has another name today, or is gone, made no graph of
      this source.
    - A listing of an earlier text of the source says nothing when there is one of the
      same class and of the text as it is.
    """
    found = [
        document
        for document in source.documents
        if _is_captured(document) and _is_defined(document, source, definitions)
    ]
    fresh = {_named(one) for one in found if one.path not in source.moves}
    return [
        one for one in found if one.path not in source.moves or _named(one) not in fresh
    ]


def runs_through(
    source: SourceFile, definitions: Definitions, document: Document, line: int
) -> Iterator[int]:
    """The frames of a listing on a line, in functions that the source still has."""
    for path in source.paths:
        for frame in document.frames_on(path, line):
            if definitions.has(document.listing.frames[frame].function):
                yield frame


def given_by(document: Document, frame: int) -> int | None:
    """The node whose value an expression gave: the last one that it made itself, else,
    of those that were made in what it called, the only one that is read outside of that.

    An expression that ran in a loop has one for each time. Nothing tells them from
    the layers of a `Sequential`, so that the last one stands for all.
    """
    nodes = document.listing.nodes
    own = [n for n in document.made_in(frame) if nodes[n].opcode not in _GIVEN]
    computed = [n for n in own if nodes[n].opcode != "get_attr"]
    if own:
        return (computed or own)[-1]
    inside = set(document.nodes_through(frame))
    outside = [n for n in inside if not inside.issuperset(nodes[n].users)]
    return outside[0] if len(outside) == 1 else None


def _is_captured(document: Document) -> bool:
    listing = document.listing
    return not listing.computes_gradients and all(
        parent.how is not How.PASSES for parent in listing.parents
    )


def _is_defined(
    document: Document, source: SourceFile, definitions: Definitions
) -> bool:
    """Whether what was traced has its name today, as far as this source can tell."""
    listing = document.listing
    name = listing.identity.qualname
    names = {name, f"{name}.forward"}
    # The engine has no row for the root: its outermost rows are submodules.
    roots = [scope.file for scope in listing.scopes if not scope.path]
    if roots and roots[0] is not None:
        is_here = roots[0] in source.paths
    else:
        outermost = [row for row in listing.frames if row.caller is None]
        files = {listing.sources[row.source].path for row in outermost}
        is_here = bool(files) and files <= set(source.paths)
        if not _is_called(listing.identity.module, source.path):
            # A class of another file may inherit what is written here.
            names |= {row.function for row in outermost}
    return not is_here or any(map(definitions.has, names))


def _is_called(module: str, path: str) -> bool:
    """Whether a module of this name may be that of a file."""
    file = PurePath(path)
    name = file.parent.name if file.stem == "__init__" else file.stem
    return module.rpartition(".")[2] == name


def _named(document: Document) -> tuple[str, str]:
    identity = document.listing.identity
    return identity.module, identity.qualname
