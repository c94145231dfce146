"""What torch.compile could not do, in the editor: of the newest run, on today's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fxls.listing import Place, source_digest
from fxls.record import (
    Cause,
    Compilation,
    Guard,
    Guards,
    Outcome,
    QuotedPlace,
    Remark,
    Subject,
    pairs,
)
from fxls.store import locate
from fxls.text import Span
from tests.support.lsp_client import LspClient, started
from tests.support.projects import spot
from tests.support.records import FIRST, SECOND, written

Json = Any

MODEL = """\
def step(x, n):
    print('𝄞', x)
    return x * n
"""
PAGE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb{}.html"


def quoted(path: Path, line: int, column: int, end: int) -> QuotedPlace:
    place = Place(str(path), "step", Span.of(line, column, line, end))
    text = MODEL.split("\n")[line]
    return QuotedPlace(place, text, source_digest(MODEL.encode()))


def broken(path: Path) -> Remark:
    library = Place("/v/site-packages/lib.py", "helper", Span.of(6, 0, 6, 4))
    places = (QuotedPlace(library, "call"), quoted(path, 1, 4, 17))
    return Remark(Subject.BREAK, "print", "0/0", "GB0059", places, ("leave it out",))


def limit(path: Path) -> Remark:
    return Remark(Subject.LIMIT, "often", "0/8", "GB0039", (quoted(path, 0, 4, 8),))


def failed(path: Path) -> Remark:
    places = (quoted(path, 0, 12, 13), quoted(path, 2, 15, 16))
    return Remark(
        *(Subject.RECOMPILATION, "0/0: n == 1", "0/1", "", places),
        about="n",
        was="1",
    )


def said_break(line: int) -> Json:
    return {
        "range": spot(line, 4, 18),
        "severity": 4,
        "code": "GB0059",
        "codeDescription": {"href": PAGE.format("0059")},
        "source": "fxls",
        "message": "Graph break: print\nin 1 compilation: 0/0\nleave it out",
        "relatedInformation": [
            {
                "location": {
                    "uri": "file:///v/site-packages/lib.py",
                    "range": spot(6, 0, 4),
                },
                "message": "it happened here, in helper",
            }
        ],
    }


SAID_LIMIT: Json = {
    "range": spot(0, 4, 8),
    "severity": 2,
    "code": "GB0039",
    "codeDescription": {"href": PAGE.format("0039")},
    "source": "fxls",
    "message": "Not compiled any more: often\nin 1 compilation: 0/8",
}


def edited(client: LspClient, path: Path, text: str, version: int) -> None:
    client.notify(
        "textDocument/didChange",
        {
            "textDocument": {"uri": path.as_uri(), "version": version},
            "contentChanges": [{"text": text}],
        },
    )


def test_remarks_of_the_newest_run_are_diagnostics_that_follow_their_lines(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "my step.py"
    path.write_text(MODEL, "utf-8")
    root = locate(path)
    written(root, FIRST, broken(path), limit(path))

    with started() as client:
        client.initialize(tmp_path)
        client.open(path)
        assert client.diagnostics(path) == [said_break(1), SAID_LIMIT]

        # Lines above move a remark; an edit of its own line takes it away.
        edited(client, path, "import os\n" + MODEL.replace("step", "run"), 2)
        assert client.diagnostics(path) == [said_break(2)]
        edited(client, path, MODEL, 3)
        assert client.diagnostics(path) == [said_break(1), SAID_LIMIT]

        # A newer run takes the place of the older one, while the file is open.
        written(root, SECOND, failed(path))
        (guard,) = client.diagnostics(path)
        assert (guard["range"], guard["severity"]) == (spot(0, 12, 13), 4)
        assert guard["code"] == "recompilation"
        assert guard["message"] == (
            "Recompiled because of n, which was 1\nin 1 compilation: 0/1"
        )
        written(root, SECOND)
        assert client.diagnostics(path) == []
        client.end()


def test_a_hover_says_remarks_of_every_kind_with_torchs_page(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "step.py"
    path.write_text(MODEL, "utf-8")
    nothing = Remark(Subject.SKIPPED, "nothing", "1/0", "", (quoted(path, 2, 4, 16),))
    written(locate(path), FIRST, broken(path), nothing)

    with started() as client:
        client.initialize(tmp_path)
        client.open(path)
        assert client.diagnostics(path) == [said_break(1)]
        over_break = client.ask("hover", path, 1, 6)
        over_return = client.ask("hover", path, 2, 6)
        assert client.ask("hover", path, 0, 0) is None
        client.end()

    page = PAGE.format("0059")
    assert over_break == {
        "contents": {
            "kind": "markdown",
            "value": f"torch.compile: Graph break: print [GB0059]({page})\n\n"
            "- in 1 compilation: 0/0\n"
            "- it happened here, in helper: "
            "[`lib.py:7`](file:///v/site-packages/lib.py#L7,1)\n"
            "- **help**: leave it out",
        },
        "range": spot(1, 4, 18),
    }
    assert over_return["contents"]["value"] == (
        "torch.compile: Not compiled: nothing\n\n- in 1 compilation: 1/0"
    )


def test_a_fusion_that_was_left_out_is_said_by_a_hover_at_both_nodes_and_nowhere_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "step.py"
    path.write_text(MODEL, "utf-8")
    apart = Remark(
        *(Subject.FUSION, "no shared data", "0/0", "", (quoted(path, 2, 11, 16),)),
        about="sum and mul",
        others=(quoted(path, 1, 4, 17),),
        nodes=pairs([("sum_1", "mul"), ("sum_2", "mul_1")]),
    )
    written(locate(path), FIRST, apart, limit(path))

    with started() as client:
        client.initialize(tmp_path)
        client.open(path)
        assert client.diagnostics(path) == [SAID_LIMIT]
        over_first = client.ask("hover", path, 1, 6)
        over_second = client.ask("hover", path, 2, 12)
        client.end()

    said = (
        "torch.compile: Not fused: sum and mul: no shared data\n\n"
        "- this means: both use that tensor, and in no step of their loops the same"
        " element of it\n"
        "- nodes: sum_1 and mul, sum_2 and mul_1\n"
        "- in 1 compilation: 0/0\n"
        "- the other one is here, in step: [`step.py:{}`]({}#L{})"
    )
    uri = path.as_uri()
    assert over_first == {
        "contents": {"kind": "markdown", "value": said.format(3, uri, "3,12")},
        "range": spot(1, 4, 18),
    }
    assert over_second == {
        "contents": {"kind": "markdown", "value": said.format(2, uri, "2,5")},
        "range": spot(2, 11, 16),
    }


def test_parameters_show_what_became_of_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "step.py"
    path.write_text(MODEL, "utf-8")

    def fixed(name: str, dimension: int, value: str, since: QuotedPlace) -> Remark:
        about = f"x: size {dimension}"
        places = (since,)
        return Remark(
            *(Subject.SPECIALIZED, "why", name, "", places), about=about, was=value
        )

    def compiled(name: str, cause: Cause = Cause.FIRST) -> Compilation:
        return Compilation(name, "step", Outcome.OK, cause, quoted(path, 0, 0, 15))

    other = Place("/p/other.py", "deep", Span.of(6, 0, 6, 4))
    bounds = (
        "2 <= L['x'].size()[0]",
        "5 <= L['n'].size()[0] and L['n'].size()[0] <= 9",
        "L['n'].size()[1] == 1 + L['x'].size()[0]",
        "odd",
    )
    guards = tuple(Guard("SHAPE_ENV", text) for text in bounds)
    written(
        locate(path),
        FIRST,
        fixed("0/0", 0, "7", quoted(path, 2, 4, 16)),
        compiled("0/0"),
        fixed("0/1", 1, "3", quoted(path, 2, 4, 16)),
        fixed("0/1", 2, "4", QuotedPlace(other)),
        compiled("0/1", Cause.RECOMPILATION),
        Guards("0/1", 4, guards),
    )
    everything = {"range": {"start": at(0, 0), "end": at(9, 0)}}

    def hints(client: LspClient) -> list[tuple[int, int, str]]:
        params = {"textDocument": {"uri": path.as_uri()}, **everything}
        found = client.request("textDocument/inlayHint", params)
        return [
            (one["position"]["line"], one["position"]["character"], one["label"])
            for one in found
        ]

    refreshed = {"workspace": {"inlayHint": {"refreshSupport": True}}}
    with started() as client:
        client.initialize(tmp_path, capabilities=refreshed)
        client.open(path)
        of_n = ": size 0 dynamic 5…9; size 1 = 1 + x.size(0)"
        of_x = ": size 0 dynamic 2…∞; size 1 = 3, static since line {}; "
        of_x += "size 2 = 4, static since other.py:7"
        assert hints(client) == [(0, 10, of_x.format(3)), (0, 13, of_n)]

        # The line that fixed a size may move; when it is edited, nobody knows.
        edited(client, path, "\n" + MODEL, 2)
        assert hints(client) == [(1, 10, of_x.format(4)), (1, 13, of_n)]
        edited(client, path, MODEL.replace("x * n", "x + n"), 3)
        without = of_x.replace("size 1 = 3, static since line {}; ", "")
        assert hints(client) == [(0, 10, without), (0, 13, of_n)]

        # A newer run has other sizes: the client is told to ask again.
        written(locate(path), SECOND, compiled("0/0"), Guards("0/0", 1, guards[:1]))
        client.reply("workspace/inlayHint/refresh")
        assert hints(client) == [(0, 10, ": size 0 dynamic 2…∞")]
        client.end()


def test_a_hover_on_a_parameter_says_what_was_asked_of_its_sizes_in_order(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "step.py"
    path.write_text(MODEL, "utf-8")
    n, x = "L['n'].size()[0]", "L['x'].size()[0]"
    asked = (
        Guard("SIZE", f"{n} > 4", quoted(path, 1, 4, 17)),
        Guard("SIZE", f"{x} > 1", quoted(path, 1, 4, 17)),
        Guard("SIZE", f"Eq(Mod({n}, 2), 0)", quoted(path, 2, 4, 16)),
        Guard("SIZE", f"Ne({n}, {x})"),
        Guard("SHAPE_ENV", f"5 <= {n}"),
    )
    written(
        locate(path),
        FIRST,
        Compilation("0/0", "step", Outcome.OK, place=quoted(path, 0, 0, 15)),
        Guards("0/0", len(asked), asked),
    )

    with started() as client:
        client.initialize(tmp_path)
        client.open(path)
        over_n = client.ask("hover", path, 0, 12)
        assert client.ask("hover", path, 0, 9) is None  # of x nothing is left
        # What was asked on a line that was edited is not said any more.
        edited(client, path, MODEL.replace("x * n", "x + n"), 2)
        later = client.ask("hover", path, 0, 12)
        client.end()

    uri = path.as_uri()
    said = [
        "`n`: size 0 dynamic 5…∞\n",
        f"- `n.size(0) > 4`, asked by [`step.py:2`]({uri}#L2,5): `print('𝄞', x)`",
        f"- `n.size(0) % 2 == 0`, asked by [`step.py:3`]({uri}#L3,5): `return x * n`",
        "- `n.size(0) != x.size(0)`",
    ]
    assert over_n == {
        "contents": {"kind": "markdown", "value": "\n".join(said)},
        "range": spot(0, 12, 13),
    }
    assert later["contents"]["value"] == "\n".join((*said[:2], said[3]))


def test_a_size_that_only_a_run_knows_is_said_behind_the_line_that_it_comes_from(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "step.py"
    path.write_text(MODEL, "utf-8")
    asked = (
        Guard("SIZE", "u0 >= 2", quoted(path, 2, 4, 16)),
        Guard("SIZE", "u0 <= 10", quoted(path, 2, 4, 16)),
    )
    from_here = (
        Guard("UNBACKED", "u0", quoted(path, 1, 4, 17)),
        Guard("UNBACKED", "u1", quoted(path, 1, 4, 17)),
    )
    of = quoted(path, 0, 0, 15)
    written(locate(path), FIRST, Guards("export 1", 2, asked, from_here, of))

    with started() as client:
        client.initialize(tmp_path)
        client.open(path)
        params: Json = {
            "textDocument": {"uri": path.as_uri()},
            "range": {"start": at(0, 0), "end": at(9, 0)},
        }
        (hint,) = client.request("textDocument/inlayHint", params)
        over = client.ask("hover", path, 1, 6)
        client.end()

    text = "  u0: 2…10, known when it runs; u1: known when it runs"
    assert (hint["position"], hint["label"]) == (at(1, 18), text)
    link = f"[`step.py:3`]({path.as_uri()}#L3,5): `return x * n`"
    assert over["contents"]["value"].split("\n") == [
        "`u0`: 2…10, known when it runs",
        "",
        f"- `u0 >= 2`, asked by {link}",
        f"- `u0 <= 10`, asked by {link}",
        "",
        "`u1`: known when it runs",
    ]


def at(line: int, character: int) -> Json:
    return {"line": line, "character": character}


def test_a_setting_says_how_severe_remarks_are_and_turns_them_off(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "my step.py"
    path.write_text(MODEL, "utf-8")
    written(locate(path), FIRST, broken(path), limit(path))

    with started() as client:
        client.initialize(tmp_path, {"remarks": "information"})
        client.open(path)
        assert client.diagnostics(path) == [
            {**said_break(1), "severity": 3},
            SAID_LIMIT,
        ]

        off: Json = {"settings": {"fxls": {"remarks": "off"}}}
        client.notify("workspace/didChangeConfiguration", off)
        assert client.diagnostics(path) == []
        asked: Json = {
            "textDocument": {"uri": path.as_uri()},
            "range": spot(1, 5, 5),
            "context": {"diagnostics": []},
        }
        assert not client.request("textDocument/codeAction", asked)

        warning: Json = {"settings": {"fxls": {"remarks": "warning"}}}
        client.notify("workspace/didChangeConfiguration", warning)
        assert client.diagnostics(path) == [
            {**said_break(1), "severity": 2},
            SAID_LIMIT,
        ]
