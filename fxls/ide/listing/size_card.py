"""What is known of sizes in a source, in words: beside the code, and in a hover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fxls.ide.listing.card import Block, Code, Field, Hover, Inline, Line
from fxls.ide.listing.wording import place_link
from fxls.record.sizes import DataSize, InputSize
from fxls.text import Point, Span

__all__ = ["order_of", "size_hover", "size_text"]


def order_of(size: InputSize | DataSize) -> tuple[int, str]:
    """By what the sizes of a parameter, or of a line, are sorted."""
    if isinstance(size, DataSize):
        return 0, size.symbol
    return -1 if size.dimension is None else size.dimension, size.name


def size_text(size: InputSize | DataSize) -> str:
    """What is known of a size, in a few words, behind a parameter or a line."""
    return (
        f"{size.symbol}: {_known(size)}" if isinstance(size, DataSize) else _known(size)
    )


def size_hover(
    found: Iterable[tuple[InputSize | DataSize, Span]], point: Point
) -> Hover | None:
    """The sizes of the parameter, or of the line, under a cursor, each with what the
    program asked of it, in its order.
    """
    touched = [(one, span) for one, span in found if span.touches(point)]
    if not touched:
        return None
    sizes = sorted((one for one, _ in touched), key=order_of)
    return Hover(touched[0][1], tuple(block for one in sizes for block in _blocks(one)))


def _blocks(size: InputSize | DataSize) -> Iterator[Block]:
    name = size.symbol if isinstance(size, DataSize) else size.name
    yield Line((Code(name), f": {_known(size)}"))
    for guard in size.guards:
        at: tuple[Inline, ...] = ()
        if guard.place is not None:
            text = guard.place.line.strip()
            at = (", asked by ", place_link(guard.place.place))
            at += (": ", Code(text)) if text else ()
        yield Field("", (Code(guard.text), *at))


def _bounds(size: InputSize | DataSize) -> str:
    low = size.low or ("-∞" if isinstance(size, DataSize) else "0")
    return f"{low}…{size.high or '∞'}"


def _known(size: InputSize | DataSize) -> str:
    if isinstance(size, DataSize):
        bounds = f"{_bounds(size)}, " if size.low or size.high else ""
        return f"{bounds}known when it runs"
    what = "" if size.dimension is None else f"size {size.dimension} "
    if size.equals:
        return f"{what}= {size.equals}"
    if not size.value:
        return f"{what}dynamic {_bounds(size)}"
    if size.since is None:
        return f"{what}= {size.value}, static"
    path, line = size.since.place.path, size.since.place.span.start.line + 1
    is_here = path == size.function.place.path
    where = f"line {line}" if is_here else f"{PurePath(path).name}:{line}"
    return f"{what}= {size.value}, static since {where}"
