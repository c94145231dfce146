"""Texts as a table, to the letter as `tabulate` writes it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, has_words: bool
) -> str:
    """The rows under their headers; `has_words` says that no column is of numbers."""
    columns = [[head, *cells] for head, *cells in zip(headers, *rows, strict=True)]
    if has_words and all(_is_plain(cell) for cells in columns for cell in cells):
        return _plain_table(headers, columns)
    from tabulate import tabulate  # noqa: PLC0415 - 10 ms that few need

    return tabulate(rows, headers=headers, disable_numparse=has_words)


def _plain_table(headers: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """The table of columns that begin with their headers: 15 times as fast."""
    widths = [
        max(len(head) + 2, max(map(len, cells)))
        for head, cells in zip(headers, columns, strict=True)
    ]
    padded = [
        [cell.ljust(width) for cell in cells]
        for cells, width in zip(columns, widths, strict=True)
    ]
    first, *others = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
    return "\n".join([first, "  ".join("-" * width for width in widths), *others])


def _is_plain(cell: str) -> bool:
    """Whether a cell is as wide as it is long, and has no space around it."""
    return cell.isascii() and cell.isprintable() and cell == cell.strip()
