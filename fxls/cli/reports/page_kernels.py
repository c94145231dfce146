"""The kernels of a run on its page: what each computes, from which lines, and its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fxls.cli.report import Sources
from fxls.cli.reports.page_words import Words
from fxls.counted import counted
from fxls.listing import Facts, Listing, Place
from fxls.record import Event, RevisionName
from fxls.record.kernel_times import CALL, KernelTimes, kernel_times, spent_by_listing
from fxls.record.run_overview import code_of

__all__ = ["kernel_sections"]

_NODES = 24
"""So many nodes of a call are named, and so many expressions quoted."""
_WIDEST = 80
"""Characters of an expression."""


def kernel_sections(
    events: Iterable[Event],
    read: Callable[[RevisionName], Listing | None],
    say: Words,
    sources: Sources | None,
) -> Iterator[str | None]:
    """A section for each listing of code that has kernels, whose rows lead to lines of the
    listing; None for one that cannot be read. Lines are quoted from `sources`.
    """
    events = [*events]
    spent = spent_by_listing(events)
    for name, ids in code_of(events).items():
        listing = read(name)
        if listing is None:
            yield None
            continue
        calls = [*enumerate(listing.nodes)]
        calls = [(at, facts) for at, facts in calls if facts.opcode == CALL]
        if calls:
            times = kernel_times(spent.get((name.identity, name.text)), listing)
            anchor = name.text.removesuffix(".py")
            title = f"{', '.join(ids)} {name.identity.qualname} {name.identity.stage}"
            made = _Section(listing, anchor, times, say, sources)
            yield made.text(title.strip(), calls)


class _Section:
    def __init__(
        self,
        listing: Listing,
        anchor: str,
        times: KernelTimes | None,
        say: Words,
        sources: Sources | None,
    ) -> None:
        self._listing, self._anchor, self._times = listing, anchor, times
        self._say, self._sources = say, sources

    def text(self, title: str, calls: list[tuple[int, Facts]]) -> str:
        say, own = self._say, f"kernels-{self._say(self._anchor)}"
        said = f"{title}, {counted(len(calls), 'call of a kernel', 'calls of kernels')}"
        if self._times is not None:
            each = f"{self._times.each * 1e3:,.3f} ms each"
            said = f"{said}, {each} in {counted(self._times.calls, 'call')}"
        rows = "\n".join(self._row(node, facts) for node, facts in calls)
        return (
            f'<details class="found" id="{own}"><summary>{say(said)}'
            f' <a href="#{own}">#</a></summary><pre>{rows}</pre></details>'
        )

    def _row(self, node: int, facts: Facts) -> str:
        """The call, and indented below it what it computes and from which lines."""
        say = self._say
        line = f"{say(self._anchor)}-{facts.line + 1}"
        spent = ""
        if self._times is not None:
            seconds = self._times.kernels[node]
            share = seconds / self._times.each if self._times.each else 0.0
            spent = f"{share:4.0%} {seconds * 1e3:,.3f} ms "
        below = [f"computes {_first([*facts.made_from])}"] if facts.made_from else []
        below += self._lines(node)
        return "\n".join(
            (
                f'{spent}<a href="#{line}">{say(facts.name)}</a>',
                *(f"       {say(one)}" for one in below),
            )
        )

    def _lines(self, node: int) -> list[str]:
        places = (origin.places[0] for origin in self._listing.origins(node))
        found = [*dict.fromkeys(map(self._quoted, places))]
        more = len(found) - _NODES
        return [*found[:_NODES], f"and {more} more"] if more > 0 else found

    def _quoted(self, place: Place) -> str:
        where = f"{self._say.path(place.path)}:{place.span.start.line + 1}"
        sources, digest = self._sources, self._listing.digest_of(place.path)
        # A log of another machine knows no digest, and what it names is not read.
        if sources is None or not digest or not sources.is_as(place.path, {digest}):
            return where
        code = " ".join(sources.lines(place.path).slice(place.span).split())
        if len(code) > _WIDEST:
            code = f"{code[: _WIDEST - 1]}…"
        return f"{where}: {code}"


def _first(words: list[str]) -> str:
    more = len(words) - _NODES
    shown = ", ".join(words[:_NODES])
    return f"{shown} and {more} more" if more > 0 else shown
