"""`fxls report`: one page of a run, which a real browser opens from a file."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from fxls.cli.reports.run_page import MOST, Page, Wanted
from fxls.listing import Identity, Listing, Place, Tensor
from fxls.record import (
    Compilation,
    Made,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
    Subject,
)
from fxls.store import Store, StoreError
from fxls.store.runs import Runs
from fxls.text import Span
from tests.cli.command import Command
from tests.cli.test_diff import HEAD, NEW, OLD, made
from tests.cli.test_runs import FIRST, written
from tests.support.listings import listing_of
from tests.support.programs import program

EVIL = '"><img src=x onerror="document.title=1"><script>document.title = 2</script>'
HOME = "/home/ada/secret-project/net.py"


def recorded(fxls: Command) -> None:
    """A run with a graph of shapes, a pass, a break, and names that mean harm."""
    root = fxls.folder / ".fxls"
    text = HEAD + "    relu = torch.relu(x)\n    return relu\n"
    identity = Identity("net", "Evil", EVIL)
    listing = listing_of(
        text, identity=identity, values={"relu": Tensor((2, 7), "float32", "cpu")}
    )
    path = Store(root).materialize(listing)
    quoted = QuotedPlace(
        Place(HOME, "forward", Span.of(3, 4, 3, 14)), '    print("of the source")'
    )
    written(
        root,
        FIRST,
        Compilation("0/0", EVIL, Outcome.BREAK, place=quoted, seconds=1.5),
        Remark(Subject.BREAK, f"{EVIL} in {HOME}", "0/0", "GB0059", (quoted,)),
        Made(RevisionName(identity, path.name)),
        Pass(EVIL, 1, changed=True, before=made(root, *OLD), after=made(root, *NEW)),
    )


def page(fxls: Command, *options: str) -> str:
    ended = fxls.run("report", "-1", "-o", "report.html", *options)
    assert (ended.code, ended.err) == (0, "")
    return (fxls.folder / "report.html").read_text("utf-8")


class _Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_page_needs_nothing_and_says_what_is_inside(fxls: Command) -> None:
    recorded(fxls)
    ended = fxls.run("report", "-1", "-o", "report.html")
    text = (fxls.folder / "report.html").read_text("utf-8")
    elements = _Elements(text).found

    assert ended.out == (
        "report.html: 1 compilation, 1 remark, 1 listing, 1 diff of a pass,"
        " 1 picture\n"
        "  with: lines of the source\n"
        "  without: arguments, home folder and machine, environment\n"
    )
    assert {tag for tag, _ in elements} & {"img", "link", "iframe", "object"} == set()
    assert [one for tag, one in elements if tag == "script"] == [{}]
    links = [one["href"] or "" for tag, one in elements if tag == "a"]
    targets = {f"#{one['id']}" for _, one in elements if "id" in one}
    assert links
    assert {*links} <= targets
    assert "net.py:4:5: print(&quot;of the source&quot;)" in text
    assert "+1 ~1 nodes, 1 moved" in text
    _, _, said = text.partition("<h2>What could not be compiled</h2>")
    said, _, _ = said.partition("<h2>Compilations</h2>")
    (remark,) = re.findall('<section class="found" id="remark-1">.*?</section>', said)
    assert re.sub("(<[^>]*>)+", "|", remark) == (
        f"|problem| Graph break: {html.escape(EVIL)} in ~/secret-project/net.py"
        "|~/secret-project/net.py:4:5: print(&quot;of the source&quot;)"
        "|in 1 compilation: 0/0|"
    )


@pytest.mark.parametrize(
    ("options", "there"),
    [
        ((), [False, False, True]),
        (("--with-arguments",), [True, False, True]),
        (("--with-user",), [False, True, True]),
        (("--no-source",), [False, False, False]),
    ],
)
def test_who_ran_it_is_left_out_unless_it_is_asked_for(
    fxls: Command, options: tuple[str, ...], there: list[bool]
) -> None:
    recorded(fxls)
    text = page(fxls, *options)

    assert [one in text for one in ("--fast", "ada", "of the source")] == there
    assert ("~/secret-project/net.py" in text) is not there[1]


@pytest.fixture
def dom(tmp_path: Path) -> Callable[[Path, str], str]:
    """The document that a browser has of a page behind its scripts."""
    chromium = program("chromium", "apt-get install chromium")

    def of(path: Path, fragment: str) -> str:
        ended = subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu"),
                *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"),
                path.as_uri() + fragment,
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return ended.stdout

    return of


@pytest.mark.slow
def test_a_browser_opens_what_a_fragment_names_and_runs_nothing_else(
    fxls: Command, dom: Callable[[Path, str], str]
) -> None:
    recorded(fxls)
    text = page(fxls)
    path = fxls.folder / "report.html"
    (line,) = re.findall(r'id="(Evil_[0-9a-f]{12}-4)"', text)
    # A box of the picture leads to the same line.
    assert f'<a href="#{line}"><rect' in text

    linked = _Elements(dom(path, f"#{line}")).found
    found = [one for _, one in linked if one.get("class") == "found"]
    assert [one["id"] for one in found if "open" in one] == [line.removesuffix("-4")]
    assert {tag for tag, _ in linked} & {"img", "iframe"} == set()

    searched = dom(path, "#search=relu%20evil")
    shown = [one for _, one in _Elements(searched).found if one.get("class") == "found"]
    assert [one["id"] for one in shown if "hidden" not in one] == [
        line.removesuffix("-4")
    ]
    assert '<p id="count" role="status">1 of 4</p>' in searched
    # Neither of the scripts in the names ran.
    assert "<title>fxls</title>" in searched


def test_a_reason_that_came_up_twice_is_one_remark_with_its_hint_once(
    fxls: Command,
) -> None:
    quoted = QuotedPlace(Place("/project/net.py", "f", Span.of(3, 4, 3, 14)), "    g()")
    twice = [
        event
        for name in ("0/0", "0/1")
        for event in (
            Compilation(name, "f", Outcome.BREAK, place=quoted),
            Remark(Subject.BREAK, "no", name, "GB1", (quoted,), ("Do without.",)),
        )
    ]
    written(fxls.folder / ".fxls", FIRST, *twice)

    ended = fxls.run("report", "-1", "-o", "report.html", "--no-source")
    text = (fxls.folder / "report.html").read_text("utf-8")

    assert ended.out.startswith("report.html: 2 compilations, 1 remark, 0 listings,")
    assert text.count("Do without.") == 1
    assert text.count("<b>break GB1</b> no</p><pre>/project/net.py:4:5</pre>") == 2


def test_the_name_of_a_user_is_left_out_of_other_paths_too(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    said = "see /scratch/ada/x.py, C:\\data\\ada\\x.py and /scratch/adaptive/x.py"
    written(root, FIRST, Remark(Subject.SKIPPED, said))

    def unwanted(error: StoreError) -> None:
        pytest.fail(str(error))

    runs = Runs(root, unwanted)
    one = runs.one(FIRST)
    run = msgspec.structs.replace(one.run, program="/home/ada/net.py")
    ours = replace(one, summary=msgspec.structs.replace(one.summary, run=run))
    page = Page(ours, runs.read(FIRST), Wanted())
    text, _ = page.text(lambda _: None)

    hidden = "see /scratch/user/x.py, C:\\data\\user\\x.py and /scratch/adaptive/x.py"
    assert hidden in text
    assert "ada/" not in text


def test_a_page_has_a_bound(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    names = [
        RevisionName(Identity("net", f"Net{n}"), f"Net{n}_0123456789ab.py")
        for n in range(4)
    ]
    written(root, FIRST, *map(Made, names))

    def unwanted(error: StoreError) -> None:
        pytest.fail(str(error))

    runs = Runs(root, unwanted)
    one = runs.one(FIRST)
    small = listing_of(f"{HEAD}    return x\n")
    long = f"{small.text}# {'ü' * (3 << 20)}\n"
    large = msgspec.structs.replace(small, text=long)
    given: dict[str, Listing | None] = {name.text: large for name in names[:3]}
    text, inside = Page(one, runs.read(FIRST), Wanted()).text(
        lambda name: given.get(name.text)
    )

    assert len(text.encode()) <= MOST
    assert (inside.listings, inside.pictures, inside.left_out) == (1, 1, 3)
    assert "3 listings and diffs are left out." in text
