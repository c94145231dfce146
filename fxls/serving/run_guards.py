"""The guards of runs as documents: `fxls:/runs/<run>/guards.txt`, and of one compilation
`fxls:/runs/<run>/<compilation>/guards.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from fxls.ide.text_document_content import Sheet, guards_sheet
from fxls.record import Compilation, Entry, Guards
from fxls.serving.kept_records import Heres, KeptRecords
from fxls.store import StoreError
from fxls.store.runs import is_run_id

__all__ = ["RunGuards"]

_FOLDER, _NAME = "fxls:/runs/", "guards.txt"

_MOST = 4
"""So many runs of a store are asked whether they have guards."""
_KEPT = 2
"""So many records stay in memory: who asks for the URI then asks for the document."""


class RunGuards:
    """Reads of each record that is asked for what is new."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._records = KeptRecords(report, heres, _of_guards, _KEPT)

    def newest_uri(self, roots: Iterable[Path], compilation: str) -> str | None:
        """The URI of the guards of the newest run that has some, of one of its
        compilations or of all.
        """
        for root in roots:
            for run in self._records.ids(root)[:_MOST]:
                if self._found(root, run, compilation):
                    return self.uri(run, compilation)
        return None

    def sheet(self, roots: Iterable[Path], uri: str) -> Sheet | None:
        """What a document shows; None when no store has it."""
        run, *of, _ = uri.removeprefix(_FOLDER).split("/")
        compilation = unquote("/".join(of)).replace("-", "/")
        if not is_run_id(run):
            return None
        for root in roots:
            if run not in self._records.ids(root):
                continue
            if found := self._found(root, run, compilation):
                return guards_sheet(run, found)
        return None

    @staticmethod
    def uri(run: str, compilation: str) -> str:
        """The document of one compilation of a run, or of all."""
        of = f"{compilation.replace('/', '-')}/" if compilation else ""
        return f"{_FOLDER}{run}/{quote(of)}{_NAME}"

    @staticmethod
    def is_uri(uri: str) -> bool:
        """Whether a document is one of these."""
        return uri.startswith(_FOLDER)

    def _found(
        self, root: Path, run: str, compilation: str
    ) -> list[tuple[Compilation, Guards]]:
        """The guards of one compilation of a run, or of all."""
        events = self._records.of(root, run)
        made = {one.id: one for one in events if isinstance(one, Compilation)}
        last = {one.compilation: one for one in events if isinstance(one, Guards)}
        return [
            (made[key], guards)
            for key, guards in last.items()
            if key in made and compilation in ("", key)
        ]


def _of_guards(entry: Entry) -> Compilation | Guards | None:
    return entry.event if isinstance(entry.event, Compilation | Guards) else None
