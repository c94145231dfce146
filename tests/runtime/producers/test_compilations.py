"""The compilations in the record of a run, judged by what torch itself counts."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import fxls
from fxls.listing import source_digest
from fxls.record import (
    Cause,
    Compilation,
    End,
    Entry,
    Guards,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.runtime.producers.compilations import Compilations
from fxls.store.runs import RecordPart, Runs
from fxls.text import Span
from tests.runtime.passes.watching import passes_alone

any_torch: Any = torch

PROGRAM = '''\
import torch

def whole(x):
    return x + 1

def broken(x):
    y = x + 1
    print("hí", "ü"); z = len(str(torch.ones(2).sum().item())); print(z)
    return y * 2

def broken_first(x):
    print("first")
    return x * 2

def looping(x):
    for _ in range(2):
        x = x + 1
        print("loop")
    return x * 2

def inner(x):
    print("inner", (
        1)); return x + 1

def nested(x):
    """Its break is in a function that it calls."""
    return inner(x * 2) + 1

def adding(x, n):
    return x + n

def nothing(x):
    return 1

@torch._dynamo.disable
def disabled(x):
    return x + 1

def calling(x):
    return disabled(x) + 1

def branching(x):
    if x.sum() > 0:
        return x + 1
    return x - 1

def wrong(x):
    return x @ torch.ones(5, 5)

def trained(x):
    return (x * 2).relu().sum()

def calls(model, x):
    return model(x) + 1
'''


@dataclass(frozen=True)
class Recorded:
    """What fxls recorded of a program, and what torch says of it."""

    part: RecordPart
    metrics: list[Any]
    counters: dict[str, dict[str, int]]

    @property
    def compilations(self) -> dict[str, Compilation]:
        found = [one.event for one in self.part.entries]
        return {one.id: one for one in found if isinstance(one, Compilation)}

    def remarks(self, *subjects: Subject) -> list[Remark]:
        found = [one.event for one in self.part.entries]
        return [
            one for one in found if isinstance(one, Remark) and one.subject in subjects
        ]


@pytest.fixture
def module(tmp_path: Path) -> Any:
    path = tmp_path / "compiled_program.py"
    path.write_text(PROGRAM, "utf-8")
    spec = importlib.util.spec_from_file_location("compiled_program", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def recorded(root: Path, program: Callable[[], object]) -> Recorded:
    """What is recorded while a program runs, which may raise."""
    utils: Any = importlib.import_module("torch._dynamo.utils")
    any_torch.compiler.reset()
    utils.counters.clear()
    utils.clear_compilation_metrics()
    fxls.install(root)
    try:
        with contextlib.suppress(Exception):
            program()
    finally:
        fxls.uninstall()
    metrics = list(utils.get_compilation_metrics())
    counters = {name: dict(found) for name, found in utils.counters.items()}
    any_torch.compiler.reset()
    runs = Runs(root, lambda trouble: pytest.fail(str(trouble)))
    (name,) = [one.run.id for one in runs.newest()]
    return Recorded(runs.read(name), metrics, counters)


def eager(function: Any, **options: Any) -> Any:
    return any_torch.compile(function, **{"backend": "eager", **options})


def limited(module: Any) -> None:
    adding = eager(module.adding, dynamic=False)
    with any_torch._dynamo.config.patch(recompile_limit=2):
        for n in range(4):
            adding(torch.ones(2), n)


def failing(*_: object) -> Any:
    raise ValueError("no backend")


X = torch.ones(4)
RUNS: dict[str, tuple[Callable[[Any], object], list[tuple[str, Cause, Outcome]]]] = {
    "whole": (
        lambda m: eager(m.whole)(X),
        [("whole", Cause.FIRST, Outcome.OK)],
    ),
    "broken": (
        lambda m: eager(m.broken)(X),
        [
            ("broken", Cause.FIRST, Outcome.BREAK),
            ("broken", Cause.CONTINUATION, Outcome.BREAK),
            ("broken", Cause.CONTINUATION, Outcome.BREAK),
            ("broken", Cause.CONTINUATION, Outcome.OK),
        ],
    ),
    "a break before the first graph": (
        lambda m: eager(m.broken_first)(X),
        [
            ("broken_first", Cause.FIRST, Outcome.BREAK),
            ("broken_first", Cause.CONTINUATION, Outcome.OK),
        ],
    ),
    "a break in a loop": (
        lambda m: eager(m.looping)(X),
        [("looping", Cause.FIRST, Outcome.SKIPPED)],
    ),
    "nested": (
        lambda m: eager(m.nested)(X),
        [
            ("nested", Cause.FIRST, Outcome.BREAK),
            ("inner", Cause.FIRST, Outcome.BREAK),
            ("inner", Cause.CONTINUATION, Outcome.OK),
            ("nested", Cause.CONTINUATION, Outcome.OK),
        ],
    ),
    "the limit": (
        limited,
        [
            ("adding", Cause.FIRST, Outcome.OK),
            ("adding", Cause.RECOMPILATION, Outcome.OK),
            ("adding", Cause.RECOMPILATION, Outcome.LIMIT),
        ],
    ),
    "nothing": (
        lambda m: eager(m.nothing)(X),
        [("nothing", Cause.FIRST, Outcome.SKIPPED)],
    ),
    "disabled": (
        lambda m: eager(m.calling)(X),
        [
            ("calling", Cause.FIRST, Outcome.BREAK),
            ("calling", Cause.CONTINUATION, Outcome.OK),
        ],
    ),
    "a branch on data": (
        lambda m: eager(m.branching)(X),
        [
            ("branching", Cause.FIRST, Outcome.BREAK),
            ("branching", Cause.CONTINUATION, Outcome.OK),
        ],
    ),
    "fullgraph": (
        lambda m: eager(m.broken, fullgraph=True)(X),
        [("broken", Cause.FIRST, Outcome.ERROR)],
    ),
    "an error of the program": (
        lambda m: eager(m.wrong)(X),
        [("wrong", Cause.FIRST, Outcome.ERROR)],
    ),
    "an error of the backend": (
        lambda m: eager(m.whole, backend=failing)(X),
        [("whole", Cause.FIRST, Outcome.ERROR)],
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_each_attempt_of_torch_is_a_compilation_with_what_came_of_it(
    name: str, module: Any, tmp_path: Path
) -> None:
    program, wanted = RUNS[name]
    found = recorded(tmp_path / ".fxls", lambda: program(module))
    compilations = found.compilations

    assert [
        (one.function, one.cause, one.outcome) for one in compilations.values()
    ] == wanted
    # torch's own list of them, in its order.
    assert list(compilations) == [str(one.compile_id) for one in found.metrics]
    for one in found.metrics:
        mine = compilations[str(one.compile_id)]
        assert (one.fail_type is not None) == (
            mine.outcome in (Outcome.LIMIT, Outcome.ERROR)
            or (mine.outcome is Outcome.SKIPPED and mine.reason != "")
        )
        assert mine.nodes == one.graph_node_count
        assert mine.guards == one.guard_count
        assert mine.seconds == pytest.approx(one.duration_us / 1e6)
        assert dict(mine.phases)["entire_frame_compile"] == pytest.approx(
            one.duration_us / 1e6, abs=0.01
        )
        if one.co_name is not None:
            assert place(mine.place) == (one.co_filename, one.co_firstlineno)
    said = found.remarks(Subject.BREAK, Subject.LIMIT, Subject.ERROR)
    counted = (found.counters.get(one, {}) for one in ("graph_break", "unimplemented"))
    # That of a backend is no lack of Dynamo's, and from 2.14 on no error of a program is.
    others = [one for one in found.metrics if one.fail_type in UNCOUNTED]
    # Giving up counts once more, behind the break that led to it.
    given_up = [
        one
        for one in compilations.values()
        if one.outcome is Outcome.SKIPPED and one.reason
    ]
    wanted_count = sum(sum(one.values()) for one in counted)
    assert len(said) - len(others) + len(given_up) == wanted_count
    assert isinstance(found.part.entries[-1].event, End)


UNCOUNTED = ["BackendCompilerFailed"]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14):
    UNCOUNTED.append("TorchRuntimeError")


def place(quoted: QuotedPlace | None) -> tuple[str, int] | None:
    """File and line, from one."""
    return quoted and (quoted.place.path, quoted.place.span.start.line + 1)


def test_a_module_of_torchs_is_where_the_program_calls_it(
    module: Any, tmp_path: Path
) -> None:
    model = eager(torch.nn.Sequential(torch.nn.ReLU()))
    found = recorded(tmp_path / ".fxls", lambda: module.calls(model, X))

    (one,) = found.compilations.values()
    assert (one.function, one.outcome) == ("called by calls", Outcome.OK)
    assert one.place is not None
    assert spanned(one.place) == "return model(x) + 1"


def test_a_break_has_its_number_its_hints_and_the_span_of_the_call(
    module: Any, tmp_path: Path
) -> None:
    found = recorded(tmp_path / ".fxls", lambda: eager(module.broken)(X))
    first, *_ = found.remarks(Subject.BREAK)

    assert first.compilation == "0/0"
    assert first.id == "GB0059"
    assert first.reason.startswith("Failed to trace builtin operator: Dynamo does not")
    assert first.hints[-1] == "Please report an issue to PyTorch."
    at = first.places[0]
    assert at.place.path == module.__file__
    assert at.place.function == "broken"
    assert at.line == PROGRAM.splitlines()[7]
    assert at.digest == source_digest(Path(module.__file__).read_bytes())
    assert spanned(at) == 'print("hí", "ü")'


def test_a_break_in_a_function_that_is_called_says_the_whole_way(
    module: Any, tmp_path: Path
) -> None:
    found = recorded(tmp_path / ".fxls", lambda: eager(module.nested)(X))
    outer, own = found.remarks(Subject.BREAK)

    assert [one.place.function for one in outer.places[:2]] == ["inner", "nested"]
    assert [one.line for one in outer.places[:2]] == [
        '    print("inner", (',
        "    return inner(x * 2) + 1",
    ]
    assert spanned(outer.places[1]) == "inner(x * 2)"
    # Where torch knows no columns of a call over several lines, the line is said.
    assert spanned(own.places[0]).startswith('print("inner", (')


def spanned(quoted: QuotedPlace) -> str:
    """What stands in a place."""
    lines = Path(quoted.place.path).read_text("utf-8").split("\n")
    start, end = quoted.place.span.start, quoted.place.span.end
    if start.line == end.line:
        return lines[start.line][start.column : end.column]
    between = lines[start.line + 1 : end.line]
    return "\n".join(
        (lines[start.line][start.column :], *between, lines[end.line][: end.column])
    )


SPANS = {
    "print": "y = x + 1; print(y.shape); return y",
    "a call over several lines": "y = print(\n        'é',\n        2); return x + 1",
    "a branch": "return x + 1 if x.sum() > 0 else x",
    "item": "n = [1, x.sum().item()]; return x + n[0]",
    "a builtin": "y = x * 2; z = input; z('é' if False else ''); return y",
    "breakpoint of torch": "y = x + 1; torch._dynamo.graph_break(); return y * 2",
}
"""Bodies of a function, each of which breaks."""


@pytest.mark.parametrize("name", SPANS)
def test_a_break_spans_an_expression_or_statement_of_its_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", print)
    path = tmp_path / "spans.py"
    path.write_text(f"import torch\n\ndef f(x):\n    {SPANS[name]}\n", "utf-8")
    spec = importlib.util.spec_from_file_location("spans", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    found = recorded(tmp_path / ".fxls", lambda: eager(module.f)(X))

    at = found.remarks(Subject.BREAK)[0].places[0]
    tree = ast.parse(path.read_text("utf-8"))
    source = path.read_text("utf-8")
    parts = {
        ast.get_source_segment(source, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt)
    }
    assert spanned(at) in parts, spanned(at)


def test_a_recompilation_names_each_guard_that_failed_its_input_and_where_it_is_read(
    module: Any, tmp_path: Path
) -> None:
    found = recorded(tmp_path / ".fxls", lambda: limited(module))
    failed = found.remarks(Subject.RECOMPILATION)
    head = PROGRAM.splitlines().index("def adding(x, n):")

    assert [(one.compilation, one.reason, one.about, one.was) for one in failed] == [
        ("0/1", "0/0: n == 0", "n", "0"),
        ("0/2", "0/1: n == 1", "n", "1"),
    ]
    for one in failed:
        assert [at.place.span for at in one.places] == [
            Span.of(head, 14, head, 15),
            Span.of(head + 1, 15, head + 1, 16),
        ]
    assert found.compilations["0/2"].causes == ("0/1: n == 1", "0/0: n == 0")
    (limit,) = found.remarks(Subject.LIMIT)
    assert limit.reason.startswith("Dynamo recompile limit exceeded")
    assert spanned(limit.places[0]) == "adding"
    assert found.compilations["0/2"].reason == limit.reason


def test_an_error_names_the_line_that_torch_blames(module: Any, tmp_path: Path) -> None:
    found = recorded(tmp_path / ".fxls", lambda: eager(module.wrong)(X))
    (error,) = found.remarks(Subject.ERROR)
    (metrics,) = found.metrics
    blamed = metrics.fail_user_frame_filename, metrics.fail_user_frame_lineno
    assert place(error.places[0]) == blamed


@pytest.mark.slow
def test_the_backward_adds_its_time_to_its_compilation(
    module: Any, tmp_path: Path
) -> None:
    def train() -> None:
        x = torch.ones(4, requires_grad=True)
        eager(module.trained, backend="aot_eager")(x).backward()

    found = recorded(tmp_path / ".fxls", train)
    (one,) = found.compilations.values()
    assert one.outcome is Outcome.OK
    assert {"aot_trace_joint_graph", "entire_backward_compile"} <= dict(
        one.phases
    ).keys()


def test_a_compilation_is_there_while_it_runs(module: Any, tmp_path: Path) -> None:
    seen: list[Entry] = []
    root = tmp_path / ".fxls"

    def backend(gm: Any, _: Any) -> Any:
        writer: Any = importlib.import_module("fxls.runtime.installing").current()
        writer.recorder.flush()
        runs = Runs(root, lambda trouble: pytest.fail(str(trouble)))
        seen.extend(runs.read(runs.newest()[0].run.id).entries)
        return gm.forward

    recorded(root, lambda: eager(module.whole, backend=backend)(X))

    (entry,) = seen
    assert isinstance(entry.event, Compilation)
    assert entry.event.outcome is Outcome.RUNNING
    assert (entry.event.id, entry.event.function) == ("0/0", "whole")


LOG = logging.getLogger("torch.__trace")


class Other(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@pytest.fixture
def other() -> Iterator[Other]:
    listener = Other()
    LOG.addHandler(listener)
    yield listener
    LOG.removeHandler(listener)


def test_others_who_listen_still_do_and_the_logger_is_as_it_was(
    other: Other, module: Any, tmp_path: Path
) -> None:
    before = [*LOG.handlers], LOG.level, LOG.propagate
    root = tmp_path / ".fxls"
    fxls.install(root)
    assert LOG.handlers[1:] == before[0]
    any_torch.compiler.reset()
    eager(module.whole)(X)
    fxls.uninstall()
    any_torch.compiler.reset()
    assert other.count > 5
    # torch's own handler takes itself out when it is told something.
    assert LOG.handlers == [one for one in before[0] if one in LOG.handlers]
    assert other in LOG.handlers
    assert (LOG.level, LOG.propagate) == before[1:]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
def test_inductor_writes_texts_of_its_graphs_for_others_who_listen_alone(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write: Any = any_torch.fx.GraphModule.print_readable

    def noting(gm: Any, *args: Any, **named: Any) -> str:
        written.append(inspect.stack(0)[1].filename)
        return write(gm, *args, **named)

    monkeypatch.setattr(any_torch.fx.GraphModule, "print_readable", noting)
    monkeypatch.setattr(LOG, "handlers", [])  # pytest listens to every log

    def texts() -> int:
        written.clear()
        any_torch.compiler.reset()
        with torch.no_grad():
            eager(module.whole, backend=passes_alone)(X)
        return sum(path.endswith("compile_fx.py") for path in written)

    assert texts() == 0
    fxls.install(tmp_path / ".fxls")
    assert texts() == 0
    heard = Other()
    LOG.addHandler(heard)
    for_both = texts()
    fxls.uninstall()
    for_others = texts()
    LOG.removeHandler(heard)
    assert for_both == for_others > 0


def test_where_nothing_is_recorded_nobody_listens(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FXLS_RECORD", "0")
    before = [*LOG.handlers]
    fxls.install(tmp_path / ".fxls")
    assert LOG.handlers == before
    eager(module.whole)(X)
    fxls.uninstall()
    any_torch.compiler.reset()
    assert not (tmp_path / ".fxls" / "runs").exists()


def test_a_program_that_compiles_nothing_has_no_record(tmp_path: Path) -> None:
    fxls.install(tmp_path / ".fxls")
    torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    fxls.uninstall()
    assert not (tmp_path / ".fxls" / "runs").exists()


def texts(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("*.py")}


def test_compilations_that_torch_calls_the_same_behind_a_reset_are_told_apart(
    module: Any, tmp_path: Path
) -> None:
    def program() -> None:
        eager(module.whole)(X)
        any_torch.compiler.reset()
        eager(module.broken_first)(X)
        any_torch.compiler.reset()
        any_torch.compile(module.whole, backend="aot_eager")(X)

    events = [one.event for one in recorded(tmp_path, program).part.entries]
    compiled = [one for one in events if isinstance(one, Compilation)]
    begun = [one.id for one in compiled if one.outcome is Outcome.RUNNING]
    assert begun == ["0/0", "0/0 (2)", "1/0", "0/0 (3)"]
    ended = {one.id: (one.function, one.outcome, one.cause) for one in compiled}
    assert ended == {
        "0/0": ("whole", Outcome.OK, Cause.FIRST),
        "0/0 (2)": ("broken_first", Outcome.BREAK, Cause.FIRST),
        "1/0": ("broken_first", Outcome.OK, Cause.CONTINUATION),
        "0/0 (3)": ("whole", Outcome.OK, Cause.FIRST),
    }
    remarks = [one.compilation for one in events if isinstance(one, Remark)]
    assert remarks == ["0/0 (2)"]
    passes = {one.compilation for one in events if isinstance(one, Pass)}
    assert passes == {"0/0 (3)"}
    guards = [one.compilation for one in events if isinstance(one, Guards)]
    assert guards == ["0/0", "0/0 (2)", "1/0", "0/0 (3)"]


def test_listings_are_the_same_with_and_without_a_record(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program() -> None:
        for name in ("broken", "nested", "looping", "calling"):
            eager(getattr(module, name))(X)
        limited(module)

    recorded(tmp_path / "with", program)
    monkeypatch.setenv("FXLS_RECORD", "0")
    any_torch.compiler.reset()
    fxls.install(tmp_path / "without")
    program()
    fxls.uninstall()
    any_torch.compiler.reset()

    assert len(texts(tmp_path / "with")) > 5
    assert texts(tmp_path / "with") == texts(tmp_path / "without")


def test_listeners_leave_the_log_as_it_was_in_whichever_order_they_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = logging.getLogger("torch.__trace")
    handlers = [*log.handlers]
    monkeypatch.setattr(log, "level", logging.WARNING)
    first, second = Compilations(lambda _: None), Compilations(lambda _: None)
    first.attach()
    second.attach()
    assert log.level == logging.DEBUG
    first.detach()
    assert log.level == logging.DEBUG
    second.detach()
    assert (log.level, log.handlers) == (logging.WARNING, handlers)
