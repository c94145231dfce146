"""One page of a run, to attach to an issue: a file of HTML that needs nothing else.

All that a record or a listing says passes `Words`, which escapes it and leaves out who
and where the user is. The page may load nothing and runs one script, which its policy
names by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fxls.cli.report import Sources, position
from fxls.cli.reports.diff_report import changed_nodes
from fxls.cli.reports.graph_picture import STYLE as PICTURE_STYLE
from fxls.cli.reports.graph_picture import picture
from fxls.cli.reports.page_kernels import kernel_sections
from fxls.cli.reports.page_words import Words
from fxls.counted import counted
from fxls.graph_diff import graph_diff, summary
from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import short_form
from fxls.listing import Listing
from fxls.record import (
    ON_REQUEST,
    Compilation,
    Made,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
)
from fxls.record.pass_facts import with_facts
from fxls.record.remark_wording import costs_of, title_of
from fxls.record.remarks import remarks_of as by_line
from fxls.record.run_overview import compilations_of, remarks_of
from fxls.serving.ownership import is_own
from fxls.store.runs import RecordPart, RunInList

__all__ = ["MOST", "Inside", "Page", "Wanted"]

MOST = 10_000_000
"""So many bytes has a page at most."""
_ROOM = 64 << 10
_MOST_PICTURES = 200
"""So many graphs are drawn, the first; each takes some hundredths of a second."""
_MOST_PHASES = 8
"""So many phases of a compilation are named, the longest first; they lie in each other."""

Read = Callable[[RevisionName], Listing | None]
"""Gives the listing of a name; None for one that cannot be read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the page may say."""

    source: bool = True
    """Lines of the source."""
    arguments: bool = False
    """Those of the program."""
    user: bool = False
    """Paths as they are, and the name of the machine."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a page holds."""

    compilations: int
    remarks: int
    listings: int
    diffs: int
    pictures: int
    left_out: int
    """Remarks, compilations, kernels, listings and diffs for which there is no
    room, or that cannot be read."""


class Page:
    """Makes the page of one run."""

    def __init__(
        self,
        one: RunInList,
        part: RecordPart,
        wanted: Wanted,
        folder: Path | None = None,
    ) -> None:
        """`folder` is that of the project, below which paths say nothing of the user."""
        self._one, self._part, self._wanted = one, part, wanted
        program = Path(one.run.program or "")
        folders = [program.parent] if program.is_absolute() else []
        folders += [] if folder is None else [folder]
        self._words = Words(one, folders, shows_user=wanted.user)
        events = [entry.event for entry in part.entries]
        self._compilations = compilations_of(events)
        self._remarks = remarks_of(events)
        self._by_line = tuple(
            one
            for one in by_line(part.entries, is_own)
            if one.subject not in ON_REQUEST
        )
        self._size = 0
        self._left_out = self._listings = self._diffs = self._pictures = 0

    def text(self, read: Read) -> tuple[str, Inside]:
        """The page, and what is in it."""
        overview = "".join(self._overview())
        kernels = "".join(self._all_kernels(read))
        # Of what is large, that which says more in less comes first.
        diffs = "".join(self._all_diffs(read))
        shown = list(self._all_listings(read))
        listings = "".join(
            f"{head}{self._picture(listing, anchor)}</details>"
            for head, anchor, listing in shown
        )
        inside = Inside(
            len(self._compilations),
            len(self._by_line),
            self._listings,
            self._diffs,
            self._pictures,
            self._left_out,
        )
        note = ""
        if self._left_out:
            parts = counted(self._left_out, "part is", "parts are")
            note = f"<p>{parts} left out.</p>"
        body = (
            f"<h1>{self._title()}</h1>{note}{_SEARCH}{overview}"
            f"<h2>Kernels</h2>{kernels or '<p>None.</p>'}"
            f"<h2>Listings</h2>{listings}"
            f"<h2>Passes that changed a graph</h2>{diffs or '<p>None.</p>'}"
        )
        return _PAGE.format(policy=_POLICY, style=_STYLE, body=body, script=_SCRIPT), (
            inside
        )

    def _title(self) -> str:
        program = self._one.run.program
        return self._words(Path(program).name if program else "A run")

    def _overview(self) -> Iterator[str]:
        run, say = self._one.run, self._words
        facts = [self._one.state.value]
        if run.rank is not None:
            facts.append(f"rank {run.rank}")
        facts += [f"{name} {what}" for name, what in run.versions.items()]
        yield f"<p>{say(', '.join(facts))}</p>"
        if self._wanted.arguments and run.arguments:
            yield f"<p>{say(' '.join(run.arguments))}</p>"
        # Half of a page is for what stands behind this.
        remarks = "".join(
            one for one in self._all_remarks() if self._takes(one, MOST // 4)
        )
        yield f"<h2>What could not be compiled</h2>{remarks or '<p>Nothing.</p>'}"
        yield "<h2>Compilations</h2>"
        of_each: dict[str | None, list[Remark]] = defaultdict(list)
        for remark in self._remarks:
            of_each[remark.compilation].append(remark)
        for one in self._compilations:
            section = "".join(self._compilation(one, of_each[one.id]))
            if self._takes(section, MOST // 2):
                yield section

    def _compilation(self, one: Compilation, remarks: list[Remark]) -> Iterator[str]:
        say = self._words
        name = say(f"compilation-{one.id}".replace("/", "-").replace(" ", "-"))
        spent = "" if one.seconds is None else f", {one.seconds:.2f} s"
        at = "" if one.place is None else f" {self._where(one.place)}"
        said = f"{one.outcome.value}, {one.cause.value}{spent}"
        yield f'<section class="found" id="{name}"><h3><a href="#{name}">{say(one.id)}</a> '
        yield f"{say(one.function)}{say(at)}: {say(said)}</h3>"
        longest = sorted(one.phases, key=lambda phase: -phase[1])[:_MOST_PHASES]
        phases = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in longest)
        if phases:
            yield f"<p>{say(phases)}</p>"
        for remark in remarks:
            yield from self._remark(remark)
        yield "</section>"

    def _all_remarks(self) -> Iterator[str]:
        """Each reason once, with the line that it is about, and what it cost."""
        say = self._words
        for number, one in enumerate(self._by_line, 1):
            name = f"remark-{number}"
            quoted = "" if one.place is None else self._quoted(one.place)
            said = "".join(
                f"<p>{say(text)}</p>" for text in (*costs_of(one), *one.hints)
            )
            yield (
                f'<section class="found" id="{name}">'
                f'<h3><a href="#{name}">{say(one.kind.value)}</a> {say(title_of(one))}</h3>'
                f"{quoted}{said}</section>"
            )

    def _quoted(self, quoted: QuotedPlace) -> str:
        line = quoted.line.strip() if self._wanted.source else ""
        said = self._where(quoted) + (f": {line}" if line else "")
        return f"<pre>{self._words(said)}</pre>"

    def _remark(self, one: Remark) -> Iterator[str]:
        """What was remarked of one compilation; what helps stands above, once."""
        say = self._words
        yield f"<p><b>{say(one.subject.value)} {say(one.id)}</b> {say(one.reason)}</p>"
        for place in one.places[:1]:
            yield self._quoted(place)

    def _where(self, quoted: QuotedPlace) -> str:
        return f"{self._words.path(quoted.place.path)}:{position(quoted)}"

    def _all_kernels(self, read: Read) -> Iterator[str]:
        events = [entry.event for entry in self._part.entries]
        sources = Sources(Path.cwd()) if self._wanted.source else None
        for section in kernel_sections(events, read, self._words, sources):
            if section is not None and self._takes(section, MOST * 6 // 10):
                yield section

    def _all_listings(self, read: Read) -> Iterator[tuple[str, str, Listing]]:
        """The sections without their ends, their fragments, and the listings."""
        events = (entry.event for entry in self._part.entries)
        made = [one.revision for one in events if isinstance(one, Made)]
        # Of each graph the text that the run ended with.
        for name in {one.identity: one for one in made}.values():
            found = read(name)
            anchor = self._words(name.text.removesuffix(".py"))
            section = None if found is None else self._listing(anchor, found)
            if self._takes(section):
                assert found is not None, "it was taken"
                assert section is not None, "likewise"
                self._listings += 1
                yield section, anchor, found

    def _picture(self, listing: Listing, anchor: str) -> str:
        if self._pictures >= _MOST_PICTURES:
            return f"<p>There is no picture: a page has {_MOST_PICTURES}.</p>"
        drawn, said = picture(Document("", listing), anchor, self._words)
        if drawn is None:
            return f"<p>{said}</p>"
        section = f"<details><summary>{said}</summary>{drawn}</details>"
        size = len(section.encode())
        if self._size + size > MOST - _ROOM:
            return "<p>There is no picture: the page has no room for it.</p>"
        self._size += size
        self._pictures += 1
        return section

    def _listing(self, anchor: str, listing: Listing) -> str:
        say = self._words
        shapes: dict[int, str] = {}
        for facts in listing.nodes:
            # Inputs stand together on the line of the `def`.
            if facts.value is not None and facts.line != listing.definition:
                shapes[facts.line] = short_form(facts.value)
        lines: list[str] = []
        text = listing.text.rstrip("\n")
        if not self._wanted.source:
            text = _CODE.sub(r"\1", text)
        for at, line in enumerate(text.split("\n")):
            shape = f'<i data-shape="{say(shapes[at])}"></i>' if at in shapes else ""
            lines.append(f'<span id="{anchor}-{at + 1}">{say(line)}</span>{shape}')
        identity = listing.identity
        title = " ".join(
            filter(None, (identity.qualname, identity.producer, identity.stage))
        )
        return (
            f'<details class="found" id="{anchor}"><summary>{say(title)},'
            f' {counted(len(listing.nodes), "node")} <a href="#{anchor}">#</a></summary>'
            "<pre>" + "\n".join(lines) + "</pre>"
        )

    def _all_diffs(self, read: Read) -> Iterator[str]:
        number = 0
        for one in with_facts(entry.event for entry in self._part.entries):
            if not isinstance(one, Pass) or not one.changed:
                continue
            before = None if one.before is None else read(one.before)
            after = None if one.after is None else read(one.after)
            number += 1
            section = None
            if before is not None and after is not None:
                section = self._diff(number, one, before, after)
            if self._takes(section, MOST * 6 // 10):
                assert section is not None, "it was taken"
                self._diffs += 1
                yield section

    def _diff(self, number: int, one: Pass, before: Listing, after: Listing) -> str:
        say = self._words
        found = graph_diff(before, after)
        title = " ".join(filter(None, (one.name, one.stage, one.compilation)))
        lines = changed_nodes(found, say.path)
        shown = "\n".join(
            f'<span class="{_SIGNS[line[0]]}">{say(line)}</span>' for line in lines
        )
        return (
            f'<details class="found" id="pass-{number}"><summary>{say(title)}:'
            f' {say(summary(found))} <a href="#pass-{number}">#</a></summary>'
            f"<pre>{shown}</pre></details>"
        )

    def _takes(self, section: str | None, most: int = MOST - _ROOM) -> bool:
        size = 0 if section is None else len(section.encode())
        if section is None or self._size + size > most:
            self._left_out += 1
            return False
        self._size += size
        return True


_CODE = re.compile(r"^(\s*# (?:\w[\w ]*: )?File: .*?), code: .*$", re.MULTILINE)
"""How torch quotes the source in a graph that it prints."""
_SIGNS = {"+": "came", "-": "went", "~": "other", ">": "moved"}

_STYLE = (
    PICTURE_STYLE
    + """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80em; margin: 2em auto;
  padding: 0 1em; color: #1c1c1c; background: #fff; }
pre { font: 13px/1.45 ui-monospace, monospace; overflow-x: auto; background: #f5f5f5;
  padding: .7em; }
h3 { font-size: 1em; margin-bottom: .2em; }
input { font: inherit; width: 100%; padding: .4em; box-sizing: border-box; }
summary { cursor: pointer; }
i::after { content: "  " attr(data-shape); color: #5f5f5f; }
:target { background: #fff3bf; }
.came { color: #116329; } .went { color: #a40e26; } .other { color: #7a4b00; }
.moved { color: #0b4f9e; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e4e4; background: #1b1b1b; } pre { background: #262626; }
  a { color: #8ab4f8; } i::after { color: #a0a0a0; } :target { background: #5c4a00; }
  .came { color: #7ee787; } .went { color: #ff9a93; } .other { color: #f0c674; }
  .moved { color: #8ab4f8; }
}
"""
)

_SCRIPT = """
const found = [...document.querySelectorAll(".found")];
const texts = found.map((one) => one.textContent.toLowerCase());
const box = document.getElementById("search");
const count = document.getElementById("count");
function search() {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  found.forEach((one, at) => {
    one.hidden = !words.every((word) => texts[at].includes(word));
    shown += one.hidden ? 0 : 1;
  });
  count.textContent = words.length ? shown + " of " + found.length : "";
}
box.addEventListener("input", search);
function open() {
  if (location.hash.startsWith("#search=")) {
    box.value = decodeURIComponent(location.hash.slice(8));
    search();
  }
  let one = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const target = one;
  for (; one; one = one.parentElement) {
    if (one.tagName === "DETAILS") one.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", open);
open();
"""

_SEARCH = (
    '<label for="search">Search</label> <input id="search" type="search">'
    '<p id="count" role="status"></p>'
)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_POLICY = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)};"
    " base-uri 'none'; form-action 'none'"
)

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>fxls</title>
<style>{style}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""
