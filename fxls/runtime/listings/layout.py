"""The text of a listing: generated code below a head, in sections when it is long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, TypeVar

from fxls.code_cache import CodeCache
from fxls.engine.code.codegen import MarkedCode
from fxls.engine.module.compile import pin
from fxls.listing import Mark, Role
from fxls.runtime.listings import sections
from fxls.runtime.listings.frees import without_frees
from fxls.runtime.listings.head import Head
from fxls.runtime.listings.import_lines import import_lines
from fxls.runtime.listings.sections import SectionedText

__all__ = ["Layout"]

_T = TypeVar("_T")


class Layout:
    """A text, and where the lines of the generated code stand in it.

    - Lines count from zero; those of the generated code as it was written.
    """

    def __init__(
        self,
        source: str,
        head: Head,
        values: Mapping[str, Any],
        paths: Callable[[], Mapping[str, str]],
        *,
        keeps_values: bool = False,
    ) -> None:
        """`paths` gives the modules that nodes were made in, by the names of the nodes.

        With `keeps_values` no value is let go before the function returns.
        """
        self._keeps_values = keeps_values
        self.links = head.links
        if keeps_values:
            source = without_frees(source)
        body = source.strip("\n ")
        # Sections ask torch whether it compiles; generated code has the name always.
        is_long = body.count("\n") > sections.LONGEST and "torch" in values
        named = f"{body}\ntorch" if is_long else body
        above = "\n".join([*head.lines, *import_lines(named, values)])
        skipped = len(source) - len(source.lstrip("\n"))
        self._shift = shift = above.count("\n") + 3 - skipped
        self.text = f"{above}\n\n\n{body}\n"
        lines = self.text.split("\n")[:-1]
        found = (i for i in range(shift, len(lines)) if lines[i].startswith("def "))
        self._definition = next(found, len(lines) - 1)
        self._divided: SectionedText | None = None
        if is_long:
            self._divided = sections.divided(lines, self._definition, paths)
        if self._divided is not None:
            self.text = "\n".join([*self._divided.lines, ""])

    @property
    def is_divided(self) -> bool:
        """Whether the function is in sections."""
        return self._divided is not None

    def line(self, line: int) -> int:
        """Where a line of the source is."""
        line += self._shift
        return line if self._divided is None else self._divided.moved[line]

    def lines(self, places: Mapping[int, _T]) -> dict[int, _T]:
        """What is said of lines of the function, counted from its ``def``, as they are."""
        if self._divided is None:
            return dict(places)
        moved, start = self._divided.moved, self._definition
        last = len(moved) - 1 - start  # torch has a line more, which is empty
        return {
            moved[start + line] - start: at
            for line, at in places.items()
            if line <= last
        }

    def marks(self, code: MarkedCode) -> tuple[Mark, ...]:
        """The marks of the code in this text."""
        if self._divided is None and not self._keeps_values:
            return code.marks_below(self._shift)
        return tuple(filter(None, map(self._mark, code.marks)))

    def _mark(self, mark: Mark) -> Mark | None:
        """A mark of the source in this text; None when what it marks is left out."""
        if self._keeps_values and mark.role is Role.FREES:
            return None
        column = mark.column
        line = mark.line + self._shift
        if self._divided is not None and line > self._definition:
            start, end = self._divided.cut.get(line, (0, 0))
            if start <= column < end:
                return None
            column += self._divided.indented - (end - start if column >= end else 0)
        return Mark(self.line(mark.line), column, mark.length, mark.node, mark.role)

    def compiled(self, path: str, cache: CodeCache) -> CodeType:
        """The text compiled under the path of its file, whose lines Python then knows.

        The code that only defines the function, or calls its sections, has a name that
        is no path: debuggers do not stop there, and step from one section into the next.
        """
        code = cache.compiled(self.text, path)
        pin(path, self.text)
        name = f"{sections.DRIVER}{path}>"
        if self._divided is None:
            return code.replace(co_filename=name)
        pin(name, "\n".join([*self._divided.undivided, ""]))
        first = self._definition + 1
        return code.replace(
            co_filename=name,
            co_consts=tuple(
                one.replace(co_filename=name)
                if isinstance(one, CodeType) and one.co_firstlineno == first
                else one
                for one in code.co_consts
            ),
        )
