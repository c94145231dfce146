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
from fxls.listing import (
    Facts,
    Frame,
    Identity,
    Listing,
    Place,
    Source,
    Tensor,
    source_digest,
)
from fxls.record import (
    Compilation,
    Event,
    Made,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
    Spent,
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
        f"|problem| Graph break: {html.escape(EVIL)} in …/net.py"
        "|…/net.py:4:5: print(&quot;of the source&quot;)"
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
    assert (">…/net.py:4:5" in text) is not there[1]


@pytest.mark.parametrize("whose", ["", "Backward of forward node: "])
def test_without_source_the_code_that_torch_quotes_is_left_out_of_listings(
    fxls: Command, whose: str
) -> None:
    root = fxls.folder / ".fxls"
    quoted = f"    # {whose}File: /opt/net.py:4 in forward, code: secret(1)\n"
    text = f"{HEAD}{quoted}    return x\n"
    identity = Identity("net", "Net")
    path = Store(root).materialize(listing_of(text, identity=identity))
    written(root, FIRST, Made(RevisionName(identity, path.name)))

    pages = [page(fxls, *options) for options in ((), ("--no-source",))]

    assert ["code: secret(1)" in one for one in pages] == [True, False]
    assert f"# {whose}File: …/net.py:4 in forward<" in pages[1]


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
    assert text.count("<b>break GB1</b> no</p><pre>…/net.py:4:5</pre>") == 2


def test_the_name_of_a_user_is_left_out_of_other_paths_too(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    said = "see /scratch/ada/x.pt, C:\\data\\ada\\x.pt and /scratch/adaptive/x.pt"
    written(root, FIRST, Remark(Subject.SKIPPED, said))

    text, _ = page_of(root, program="/home/ada/net.py").text(lambda _: None)

    hidden = "see /scratch/user/x.pt, C:\\data\\user\\x.pt and /scratch/adaptive/x.pt"
    assert hidden in text
    assert "ada/" not in text


def page_of(
    root: Path, folder: Path | None = None, *, program: str, shows_user: bool = False
) -> Page:
    """The page of the first run, as if that program had run."""

    def unwanted(error: StoreError) -> None:
        pytest.fail(str(error))

    runs = Runs(root, unwanted)
    one = runs.one(FIRST)
    run = msgspec.structs.replace(one.run, program=program)
    ours = replace(one, summary=msgspec.structs.replace(one.summary, run=run))
    return Page(ours, runs.read(FIRST), Wanted(user=shows_user), folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/data/team x/proj/scripts/train.py", "train.py"),
        ("/data/team x/proj/models/net.py", "models/net.py"),
        ("/data/team x/proj-2/net.py", "…/net.py"),
        ("/opt/acme/lib/python3.11/site-packages/timm/a.py", "site-packages/timm/a.py"),
        ("/opt/acme/lib/python3.11/json/decoder.py", "python3.11/json/decoder.py"),
        ("C:\\acme\\Lib\\site-packages\\timm\\a.py", "site-packages\\timm\\a.py"),
        ("/home/ada/lib/helpers.py", "…/helpers.py"),
        ("D:\\acme\\my models\\net.py", "…/net.py"),
    ],
)
def test_a_path_begins_at_the_program_or_at_its_package_or_is_a_name(
    fxls: Command, path: str, said: str
) -> None:
    """Of what is quoted, of a message, of a comment of torch's, and of a diff."""
    root = fxls.folder / ".fxls"
    quoted = QuotedPlace(Place(path, "forward", Span.of(3, 4, 3, 14)), "    g()")
    text = f"{HEAD}    # File: {path}:4 in forward, code: g()\n"
    # As torch 2.15 writes it.
    text += f"    # Backward of forward node: File: {path}:5 in forward, code: h()\n"
    text += "    return x\n"
    new = f"{HEAD}    relu = torch.relu(x)\n    return relu\n"
    source = "\n\n\ntorch.relu(x)\n"
    store = Store(root)
    names: list[RevisionName] = []
    for body, origins in ((text, {}), (new, {"relu": [(path, "torch.relu(x)")]})):
        listing = listing_of(
            body,
            identity=Identity("net", "Net"),
            sources={path: source},
            origins=origins,
        )
        revision = store.materialize(listing)
        names.append(RevisionName(listing.identity, revision.name))
    message = f'File "{path}", line 4' if " " in path else f"see {path}: no"
    written(
        root,
        FIRST,
        Compilation("0/0", "forward", Outcome.BREAK, place=quoted),
        Remark(Subject.BREAK, message, "0/0", "GB1", (quoted,)),
        Made(names[0]),
        Pass("fuse", 1, changed=True, before=names[0], after=names[1]),
    )
    folder = Path("/data/team x/proj")
    program = str(folder / "scripts/train.py")

    def shown(*, shows_user: bool) -> str:
        page = page_of(root, folder, program=program, shows_user=shows_user)
        made, inside = page.text(store.read_named)
        assert (inside.listings, inside.diffs) == (1, 1)
        return html.unescape(made)

    hidden, whole = shown(shows_user=False), shown(shows_user=True)
    for before, behind in (
        ('<a href="#compilation-0-0">0/0</a> forward ', ":4:5: break"),
        ("<b>break GB1</b> ", "<"),
        ("<pre>", ":4:5: g()</pre>"),
        ("# File: ", ":4 in forward, code: g()"),
        ("# Backward of forward node: File: ", ":5 in forward, code: h()"),
        ("torch.relu(x)  ", ":4:1</span>"),
    ):
        for text, name in ((hidden, said), (whole, path)):
            wanted = message.replace(path, name) if before.startswith("<b>") else name
            assert f"{before}{wanted}{behind}" in text, before
    assert "acme" not in hidden
    assert "team x" not in hidden


def test_the_folder_in_which_inductor_builds_names_nobody(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    written(root, FIRST, Remark(Subject.ERROR, "in /tmp/torchinductor_ada/ab/cab.so"))

    text, _ = page_of(root, program="train.py").text(lambda _: None)

    assert "in /tmp/torchinductor_user/ab/cab.so" in text


def test_kernels_are_on_the_page_with_what_they_compute_and_their_times(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    path = str(fxls.folder / "net.py")
    (fxls.folder / "net.py").write_text(
        source := "def forward(x):\n    return torch.relu(\n        x + 1)\n", "utf-8"
    )
    identity = Identity("net", "Net", "torch.compile", "graph 0, forward, kernels")
    listing = Listing(
        identity,
        "def call(args):\n    cpp_fused_add_relu_0(x)\n    mm(x)\n",
        0,
        (),
        (
            Facts(
                *("cpp_fused_add_relu_0:1", "call_kernel", "cpp_fused_add_relu_0", 1),
                origin=0,
                made_from=("add", "relu"),
            ),
            Facts("mm:2", "call_kernel", "mm", 2, origin=1),
        ),
        sources=(
            Source(path, source_digest(source.encode())),
            Source("/etc/hostname", "another"),
        ),
        frames=(Frame(0, "forward", 1, 11, 2, 14), Frame(1, "forward", 0, 0, 0, 4)),
    )
    name = RevisionName(identity, Store(root).materialize(listing).name)
    spent = Spent(name, 10, 0.020, ((1, 0.015), (2, 0.002)))
    written(root, FIRST, Made(name, "0/0"), spent)

    def kernels(*options: str) -> str:
        text = page(fxls, *options)
        _, _, said = text.partition("<h2>Kernels</h2>")
        said, _, _ = said.partition("<h2>Listings</h2>")
        links = re.findall('href="#([^"]+)"', said)
        assert all(f'id="{one}"' in text for one in links), links
        return re.sub("<[^>]*>", "", said)

    with_times = (
        "0/0 Net graph 0, forward, kernels, 2 calls of kernels, 2.000 ms each in"
        " 10 calls #"
    )
    assert kernels() == (
        f"{with_times} 75% 1.500 ms cpp_fused_add_relu_0:1\n"
        "       computes add, relu\n"
        "       net.py:2: torch.relu( x + 1)\n"
        " 10% 0.200 ms mm:2\n"
        "       …/hostname:1"
    )
    assert "torch.relu( x + 1)" not in kernels("--no-source")

    written(root, FIRST, Made(name, "0/0"))
    assert kernels("--no-source") == (
        "0/0 Net graph 0, forward, kernels, 2 calls of kernels #"
        "cpp_fused_add_relu_0:1\n"
        "       computes add, relu\n"
        "       net.py:2\n"
        "mm:2\n"
        "       …/hostname:1"
    )


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
    assert "<p>3 parts are left out.</p>" in text


@pytest.mark.slow
def test_a_page_of_many_compilations_has_a_bound_as_well(fxls: Command) -> None:
    """Half of it is for what stands behind the compilations, and half of that half for
    what is said of them together.
    """
    root = fxls.folder / ".fxls"
    quoted = QuotedPlace(Place("/p/net.py", "f", Span.of(3, 4, 3, 14)), "    g()")
    events: list[Event] = []
    for n in range(6_000):
        reason = f"{n}: {'why ' * 200}"
        events += (
            Compilation(f"{n}/0", "f", Outcome.BREAK, place=quoted),
            Remark(Subject.BREAK, reason, f"{n}/0", "GB1", (quoted,)),
        )
    written(root, FIRST, *events)

    text, inside = page_of(root, program="train.py").text(lambda _: None)

    assert MOST * 0.45 < len(text.encode()) < MOST * 0.55
    shown = text.count('id="remark-') + text.count('id="compilation-')
    assert inside.left_out == inside.compilations + inside.remarks - shown > 0
    assert f"<p>{inside.left_out:,} parts are left out.</p>" in text
