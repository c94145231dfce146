"""In the whole zoo, the span of each node's origin is the expression that made it.

Told by a rule of its own: the text of the span is parsed, and must be an expression that
can make a node with this opcode and target.
"""

from __future__ import annotations

import ast
import builtins
import operator
import textwrap
from pathlib import Path
from typing import Any

import pytest

from fxls.engine.node import Node
from fxls.engine.tracing.tracer import Tracer
from fxls.text import LineTable
from tests.engine.zoo import Example, examples

ZOO = Path(__file__).parents[1] / "zoo"


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_each_span_is_the_expression_that_made_the_node(example: Example) -> None:
    module = example.make()
    graph = Tracer().trace(module)
    if type(module).forward.__module__.startswith("torch."):
        # None of its code is of the source.
        assert [node.origin for node in graph.nodes] == [None] * len(graph.nodes)
        return

    wrong = [
        f"{node.name} ({node.op} {node.target}) is not {_text(node)!r}"
        for node in graph.nodes
        if not _makes(_text(node), node)
    ]

    assert wrong == []


def _text(node: Node) -> str:
    origin = node.origin
    assert origin is not None, f"{node.name} has no origin"
    for place in origin.places:
        assert Path(place.path).parent == ZOO, f"{node.name} is from {place.path}"
    place = origin.places[0]
    text = LineTable(Path(place.path).read_text(encoding="utf-8")).slice(place.span)
    return textwrap.dedent(text)


def _makes(text: str, node: Node) -> bool:
    """Whether an expression (or statement) can be the one that made a node."""
    if node.op == "output" and text.startswith("def "):
        return True  # it just ends
    tree = _parsed(text)
    match node.op:
        case "placeholder":
            return text == str(node.target).lstrip("*")
        case "output":
            return isinstance(tree, ast.Return)
        case "get_attr":
            return _reads(tree, str(node.target)) or _may_hold_a_constant(tree, node)
        case "call_module":
            return isinstance(tree, ast.Call)
        case "call_method":
            return _is_operator(tree, node.target) or node.target in _called_names(tree)
        case _:
            return _is_call_of(tree, node)


def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(f"(\n{text}\n)", mode="eval").body
    except SyntaxError:
        body = ast.parse(f"def _():\n{textwrap.indent(text, ' ')}").body[0]
        assert isinstance(body, ast.FunctionDef)
        return body.body[0]


def _reads(tree: ast.AST, path: str) -> bool:
    name = path.rpartition(".")[2]
    match tree:
        case ast.Attribute(attr=known) | ast.Name(id=known):
            # A loop over a list of parameters reads them, one after the other.
            return known in (name, path.split(".")[-2:][0])
        case ast.Subscript(slice=ast.Constant(value=key)):
            return str(key) == name
        case ast.Call():
            return _called_name(tree) == "getattr"
        case _:
            return False


def _may_hold_a_constant(tree: ast.AST, node: Node) -> bool:
    """A constant has no name of its own: its span is that of the first node using it."""
    user = next(iter(node.users))
    return user.op == "output" or _makes(ast.unparse(tree), user)


def _called_name(tree: ast.AST) -> str | None:
    match tree:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case _:
            return None


def _called_names(tree: ast.AST) -> tuple[object, ...]:
    """The name that a call calls, also as ``getattr(x, "name")()``."""
    match tree:
        case ast.Call(func=ast.Call(func=ast.Name(id="getattr"), args=[_, arg])):
            return (ast.literal_eval(arg),)
        case _:
            return (_called_name(tree),)


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv div true_divide",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod remainder",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.MatMult: "matmul",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt gt",  # 1 < x is x > 1
    ast.LtE: "le ge",
    ast.Gt: "gt lt",
    ast.GtE: "ge le",
}


def _is_operator(tree: ast.AST, name: Any) -> bool:
    match tree:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.AugAssign(op=op):
            return name in _OPERATORS[type(op)].split()
        case ast.Compare(ops=[op]):
            return name in _OPERATORS[type(op)].split()
        case ast.Compare(ops=ops):
            return any(name in _OPERATORS[type(op)].split() for op in ops)
        case ast.Subscript():
            return name == "getitem"
        case ast.Name() | ast.Tuple() | ast.Attribute():
            return name == "getitem"  # a target of an unpacking
        case _:
            return False


def _is_call_of(tree: ast.AST, node: Node) -> bool:
    target: Any = node.target
    name = target.__name__
    if target is builtins.getattr:
        match tree:
            case ast.Attribute(attr=attr):
                return attr == node.args[1]
            case _:
                return _called_name(tree) in ("getattr", None)
    if target is getattr(operator, name, None) and _is_operator(tree, name):
        return True
    if isinstance(target, type) and isinstance(tree, ast.Return):
        return True  # a named tuple that is returned
    called = _called_name(tree)
    # What torch calls fft_fft is torch.fft.fft, and sum adds.
    return called is not None and (
        name.endswith(called) or (name, called) == ("add", "sum")
    )
