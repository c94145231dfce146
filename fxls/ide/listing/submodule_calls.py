"""Classes of a source as parts of what was traced: the calls of its submodules."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from fxls.ide.listing.document import Destination, Document

__all__ = ["Part", "parts"]


@dataclass(frozen=True, slots=True)
class Part:
    """The calls of submodules of one class, in one listing."""

    document: Document
    calls: tuple[tuple[str, Destination], ...]
    """The path of the submodule, and its first node; never empty."""


def parts(
    documents: Iterable[Document], files: Collection[str]
) -> dict[str, list[Part]]:
    """By the name of each class of a source, where it is called in these graphs.

    `files` are the paths by which the listings may call the source.
    """
    found: dict[str, list[Part]] = {}
    for document in documents:
        if not any(scope.file in files for scope in document.listing.scopes):
            continue
        calls: dict[str, list[tuple[str, Destination]]] = {}
        for group in document.groups.within():
            assert group.scope is not None
            scope = document.listing.scopes[group.scope]
            if scope.file in files:
                name = scope.type.rpartition(".")[2]
                there = document.destination(group.first)
                calls.setdefault(name, []).append((scope.path, there))
        for name, places in calls.items():
            found.setdefault(name, []).append(Part(document, tuple(places)))
    return found
