"""The origin of a node is the expression of the source that made it."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import linecache
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from fxls.engine.graph import Graph
from fxls.engine.node import Node
from fxls.engine.proxy import TraceError
from fxls.engine.tracing.tracer import Tracer
from fxls.listing import Place
from fxls.text import LineTable

Load = Callable[[str], Any]
_number = itertools.count()


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Imports a module of this text and returns what it calls `root`."""

    def imported(source: str) -> Any:
        name = f"source_{next(_number)}"
        path = tmp_path / f"{name}.py"
        text = "import torch\nfrom torch import nn\n" + textwrap.dedent(source)
        path.write_text(text, encoding="utf-8")
        return _imported(name, path).root

    return imported


def check(root: Any, *expected: str, tracer: type[Tracer] = Tracer) -> Graph:
    """Each node with the text it came from, innermost first where there are several."""
    graph = tracer().trace(root)
    assert [f"{node.name}: {_texts(node)}" for node in graph.nodes] == list(expected)
    return graph


def test_calls_operators_and_items_are_their_expressions(load: Load) -> None:
    root = load("""
        def root(x, y):
            z = torch.relu(x + y) * 2 - -x[0, 1:]
            return (z if True else x).sum(dim=1) < y
        """)

    check(
        root,
        "x: x",
        "y: y",
        "add: x + y",
        "relu: torch.relu(x + y)",
        "mul: torch.relu(x + y) * 2",
        "getitem: x[0, 1:]",
        "neg: -x[0, 1:]",
        "sub: torch.relu(x + y) * 2 - -x[0, 1:]",
        "sum_1: (z if True else x).sum(dim=1)",
        "lt: (z if True else x).sum(dim=1) < y",
        "output: return (z if True else x).sum(dim=1) < y",
    )


def test_a_chain_over_several_lines_is_whole(load: Load) -> None:
    root = load("""
        def root(x):
            return (
                x.view(-1)
                .relu()
                .add(
                    1,
                )
                .shape
            )
        """)

    check(
        root,
        "x: x",
        "view: x.view(-1)",
        "relu: x.view(-1) .relu()",
        "add: x.view(-1) .relu() .add( 1, )",
        "getattr_1: x.view(-1) .relu() .add( 1, ) .shape",
        "output: return ( x.view(-1) .relu() .add( 1, ) .shape )",
    )


def test_columns_are_counted_in_characters(load: Load) -> None:
    root = load("""
        def root(x):
            größe, ü = "日本🦀" and x.relu(), (x.tanh()
                .exp())
            return größe + ü
        """)

    check(
        root,
        "x: x",
        "relu: x.relu()",
        "tanh: x.tanh()",
        "exp: x.tanh() .exp()",
        "add: größe + ü",
        "output: return größe + ü",
    )


def test_an_augmented_assignment_is_the_statement(load: Load) -> None:
    root = load("""
        def root(x, y):
            x += y
            x @= y[0]
            return x
        """)

    check(
        root,
        "x: x",
        "y: y",
        "add: x += y",
        "getitem: y[0]",
        "matmul: x @= y[0]",
        "output: return x",
    )


def test_an_unpacked_element_is_the_name_it_goes_to(load: Load) -> None:
    root = load("""
        def root(x):
            a, (b, c) = x.chunk(2)
            h, w = a.shape
            for d, e in [b]:
                h = d
            return h
        """)

    check(
        root,
        "x: x",
        "chunk: x.chunk(2)",
        "getitem: a",
        "getitem_1: (b, c)",
        "getitem_2: b",
        "getitem_3: c",
        "getattr_1: a.shape",
        "getitem_4: h",
        "getitem_5: w",
        "getitem_6: d",
        "getitem_7: e",
        "output: return h",
    )


def test_an_attribute_is_where_it_was_written(load: Load) -> None:
    root = load("""
        def root(x):
            shape = x.shape
            bound = x.relu
            return bound().view(shape)
        """)

    check(
        root,
        "x: x",
        "relu: bound()",
        "getattr_1: x.shape",
        "view: bound().view(shape)",
        "output: return bound().view(shape)",
    )


def test_parameters_buffers_and_constants_are_where_they_are_read(load: Load) -> None:
    root = load("""
        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(size))
                self.register_buffer("mean", torch.ones(size))
                self.plain = torch.ones(size)

            def forward(self, x):
                w = self.weight
                x = (x - self.mean) * self.plain
                return torch.add(x, torch.ones(1)) + w

        root = Net(1)
        """)

    check(
        root,
        "x: x",
        "weight: self.weight",
        "mean: self.mean",
        "sub: x - self.mean",
        "plain: self.plain",
        "mul: (x - self.mean) * self.plain",
        "_tensor_constant0: torch.add(x, torch.ones(1))",
        "add: torch.add(x, torch.ones(1))",
        "add_1: torch.add(x, torch.ones(1)) + w",
        "output: return torch.add(x, torch.ones(1)) + w",
    )


def test_a_submodule_is_reached_through_its_callers(load: Load) -> None:
    root = load("""
        def helper(x):
            return x.relu()

        class Inner(nn.Module):
            def forward(self, x):
                return helper(x).tanh()

        class Net(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner
                self.seq = nn.Sequential(nn.ReLU(), inner)

            def forward(self, x):
                x = self.inner(x)
                return self.seq(x)

        root = Net(Inner())
        """)

    check(
        root,
        "x: x",
        "relu: x.relu() < helper(x) < self.inner(x)",
        "tanh: helper(x).tanh() < self.inner(x)",
        "seq_0: self.seq(x)",
        "relu_1: x.relu() < helper(x) < self.seq(x)",
        "tanh_1: helper(x).tanh() < self.seq(x)",
        "output: return self.seq(x)",
    )


def test_comprehensions_lambdas_and_nested_functions_have_frames(load: Load) -> None:
    root = load("""
        def root(x):
            def twice(y):
                return y * 2
            f = lambda a, *, b=1: a - b
            return [twice(x[i]) for i in range(1)], f(x), (lambda c: c + 1)(x)
        """)

    graph = Tracer().trace(root)

    assert [_texts(node).split(" < ")[0] for node in graph.nodes] == [
        "x",
        "x[i]",
        "y * 2",
        "a - b",
        "c + 1",
        "return [twice(x[i]) for i in range(1)], f(x), (lambda c: c + 1)(x)",
    ]


def test_a_string_with_expressions_in_it_is_not_misread(load: Load) -> None:
    root = load('''
        def root(x):
            name = f"{x + 1} and {x - 1}"
            long = f"""
            {x * 2}
            """
            return x
        ''')

    graph = Tracer().trace(root)
    found = {node.name: _texts(node) for node in graph.nodes}

    assert found["add"] == "x + 1"
    assert found["sub"] == "x - 1"
    assert found["mul"] in ("x * 2", 'f""" {x * 2} """')


def test_placeholders_are_the_parameters(load: Load) -> None:
    root = load("""
        def plain(f):
            return f

        @plain
        @plain
        def root(
            x: torch.Tensor,
            y=1, *rest,
            k: int = 2, **kw
        ):
            return x
        """)

    check(root, "x: x", "y: y", "k: k", "_rest: rest", "_kw: kw", "output: return x")


def test_placeholders_of_a_lambda_are_its_parameters(load: Load) -> None:
    root = load("""
        roots = [lambda x: x + 1, lambda y, x=2: y + x]
        root = roots[1]
        """)

    check(root, "y: y", "x: x", "add: y + x", "output: y + x")


def test_the_output_is_the_return_that_was_executed(load: Load) -> None:
    root = load("""
        def root(x):
            if torch.is_grad_enabled() is None:
                return x
            with torch.no_grad():
                x = x + 1
                return x, torch.ones(1)
            return None
        """)

    check(
        root,
        "x: x",
        "add: x + 1",
        "_tensor_constant0: return x, torch.ones(1)",
        "output: return x, torch.ones(1)",
    )


@pytest.mark.parametrize(
    ("body", "output"),
    [
        ("try:\n        return x.f()\n    finally:\n        x.g()", "return x.f()"),
        ("if x is None:\n        return 1\n    x.f()", "def root(x):"),
        ("if x is None:\n        return 1\n    return x.f()", "return x.f()"),
        ("for y in [x]:\n        return y.f()\n    return x", "return y.f()"),
        ("x.f()", "def root(x):"),
        ("pass", "def root(x):"),
    ],
)
def test_the_output_is_told_in_every_kind_of_block(
    load: Load, body: str, output: str
) -> None:
    graph = Tracer().trace(load(f"def root(x):\n    {body}\n"))

    assert _texts(graph.output_node()) == output


def test_the_output_of_a_function_without_nodes_is_its_only_return(load: Load) -> None:
    root = load("""
        def root(x):
            def inner():
                return 1
            return x
        """)

    check(root, "x: x", "output: return x")


def test_a_decorated_forward_keeps_its_parameters_and_frames(load: Load) -> None:
    root = load("""
        import functools

        def logged(f):
            @functools.wraps(f)
            def outer(*args):
                return f(*args)
            return outer

        class Net(nn.Module):
            @logged
            def forward(self, x):
                return x.relu()

        root = Net()
        """)

    check(root, "x: x", "relu: x.relu() < f(*args)", "output: return f(*args)")


def test_the_overrides_of_a_tracer_are_not_the_source(load: Load) -> None:
    class Mine(Tracer):
        def create_proxy(self, *args: Any, **kwargs: Any) -> Any:
            return super().create_proxy(*args, **kwargs)

        def create_node(self, *args: Any, **kwargs: Any) -> Any:
            return super().create_node(*args, **kwargs)

        def call_module(self, *args: Any, **kwargs: Any) -> Any:
            return super().call_module(*args, **kwargs)

    root = load("""
        class Inner(nn.Module):
            def forward(self, x):
                return x.relu()

        class Net(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner
                self.leaf = nn.ReLU()

            def forward(self, x):
                return self.leaf(self.inner(x))

        root = Net(Inner())
        """)

    check(
        root,
        "x: x",
        "relu: x.relu() < self.inner(x)",
        "leaf: self.leaf(self.inner(x))",
        "output: return self.leaf(self.inner(x))",
        tracer=Mine,
    )


def test_nodes_of_one_call_share_the_frames_outside(load: Load) -> None:
    root = load("""
        class Inner(nn.Module):
            def forward(self, x):
                return x.relu().tanh()

        class Net(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)

        root = Net(Inner())
        """)

    graph = Tracer().trace(root)
    nodes: list[Any] = list(graph.nodes)
    relu, tanh = (node._frames for node in nodes[1:3])

    assert relu[2] is tanh[2]
    assert sys.getsizeof(relu) <= sys.getsizeof((None,) * 3)


def test_a_stack_trace_reads_like_pythons(load: Load) -> None:
    root = load("""
        def helper(x):
            return x.relu()

        def root(x):
            return helper(x)
        """)

    graph = Tracer().trace(root)
    path = root.__code__.co_filename

    assert list(graph.nodes)[1].stack_trace == (
        f'File "{path}", line 8, in root\n'
        "    return helper(x)\n"
        f'  File "{path}", line 5, in helper\n'
        "    return x.relu()"
    )


def test_code_without_a_file_has_its_columns(load: Load) -> None:
    namespace: dict[str, Any] = {}
    exec("def root(x):\n    y = x + 1; return y.relu()\n", namespace)

    graph = Tracer().trace(namespace["root"])
    add = list(graph.nodes)[1].origin

    assert add is not None
    assert add.places[0].path == "<string>"
    assert (add.places[0].span.start.line, add.places[0].span.start.column) == (1, 8)
    assert add.places[0].span.end.column == 13


def test_a_module_in_a_zip_file_is_read_from_there(tmp_path: Path) -> None:
    name = f"zipped_{next(_number)}"
    archive = tmp_path / "lib.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(f"{name}.py", "def root(x):\n    return (x\n      .relu())\n")
    sys.path.insert(0, str(archive))
    try:
        root = importlib.import_module(name).root
    finally:
        sys.path.remove(str(archive))

    graph = Tracer().trace(root)
    place = _place(list(graph.nodes)[1])
    text = "".join(linecache.getlines(root.__code__.co_filename))

    assert place.path.endswith(f"{name}.py")
    assert LineTable(text).slice(place.span) == "x\n      .relu()"


@pytest.mark.slow
def test_without_columns_an_origin_is_the_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from fxls.engine.tracing.tracer import Tracer

        def root(x):
            return x.relu() + 1

        for node in Tracer().trace(root).nodes:
            span = node.origin.places[0].span
            print(span.start.line, span.start.column, span.end.line, span.end.column)
        """)
    )
    command = [sys.executable, "-X", "no_debug_ranges", str(script)]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["3 9 3 10", *["4 4 4 23"] * 3]


def test_an_error_says_where_and_what_to_do(load: Load) -> None:
    root = load("""
        class Inner(nn.Module):
            def forward(self, x):
                if x.sum() > 0:
                    return x
                return -x

        class Net(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)

        root = Net(Inner())
        """)

    with pytest.raises(TraceError) as caught:
        Tracer().trace(root)
    error = caught.value
    path = inspect.getfile(root.forward)

    assert error.origin is not None
    assert [_text(place) for place in error.origin.places] == [
        "x.sum() > 0",
        "self.inner(x)",
    ]
    assert str(error) == (
        "symbolically traced variables cannot be used as inputs to control flow\n"
        f"  at {path}:6:12\n"
        "            if x.sum() > 0:\n"
        "               ^^^^^^^^^^^\n"
        "Use torch.where for a choice between tensors, concrete_args for an argument"
        " that never changes, or wrap() to record the function as one call."
    )


def test_a_node_made_by_hand_has_no_origin() -> None:
    graph = Graph()
    x = graph.placeholder("x")

    assert x.origin is None
    assert x.stack_trace is None
    assert graph.call_function(torch.relu, (x,)).origin is None


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _texts(node: Node) -> str:
    origin = node.origin
    assert origin is not None, f"{node} has no origin"
    return " < ".join(_text(place) for place in origin.places)


def _place(node: Node) -> Place:
    assert node.origin is not None, f"{node} has no origin"
    return node.origin.places[0]


def _text(place: Place) -> str:
    """What stands at a place, on one line."""
    text = LineTable(Path(place.path).read_text(encoding="utf-8")).slice(place.span)
    return " ".join(text.split())
