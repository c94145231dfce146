"""Tracing a function whose source is changed before, so that its checks are recorded."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

import torch

from fxls.engine import annotate as annotations
from fxls.engine.graph import Graph
from fxls.engine.torch_private import assert_true
from fxls.engine.tracing.concrete_args import ConcreteArgs
from fxls.engine.tracing.tracer import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class RewritingTracer(Tracer):
    """Records ``assert`` as a node, and an annotation of a variable as its node's type.

    What the traced function calls is traced as it is.
    """

    def trace(
        self,
        root: torch.nn.Module | Callable[..., Any],
        concrete_args: ConcreteArgs | None = None,
    ) -> Graph:
        """The graph of the changed function; a module's forward is changed in a copy."""
        if not isinstance(root, torch.nn.Module):
            return super().trace(AST_Rewriter().rewrite(root), concrete_args)
        kind = type(root)
        body = {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "forward": AST_Rewriter().rewrite(kind.forward),
        }
        changed: Any = types.new_class(
            kind.__name__, (kind,), {}, lambda new: new.update(body)
        )
        copied: Any = object.__new__(changed)
        copied.__dict__.update(
            {
                name: value.copy() if isinstance(value, dict) else value
                for name, value in root.__dict__.items()
            }
        )
        return super().trace(copied, concrete_args)


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801 - FX's name
    """Changes the source of functions; a subclass may change more."""

    def rewrite(self, fn: Callable[..., Any]) -> Any:
        """The function of the changed source; `fn` where a decorator stands in front."""
        return _rewritten(self, fn)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """``assert x, text`` calls what a graph can hold."""
        call = ast.Call(
            ast.Name(_ASSERT, ast.Load()), [node.test, node.msg or ast.Constant("")], []
        )
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """``y: T = x`` gives the node of x the type T."""
        if node.value is not None:
            name = ast.Name(_ANNOTATE, ast.Load())
            call = ast.Call(name, [node.value, node.annotation], [])
            node.value = ast.copy_location(call, node.value)
        return node


def _rewritten(rewriter: AST_Rewriter, function: Any) -> Any:
    """The function of a changed source; the same one where a decorator stands in front."""
    if not isinstance(function, FunctionType):
        return function
    lines, first = inspect.getsourcelines(function)
    # Under a condition it may be indented; the texts in it, which dedent heeds, need not.
    outside = ["if True:\n"] if lines[0][0].isspace() else []
    tree = ast.parse("".join([*outside, *lines]))
    body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
    match body:
        case [ast.FunctionDef(decorator_list=[]) as definition]:
            pass
        case _:
            return function
    ast.increment_lineno(tree, first - 1 - len(outside))
    definition = rewriter.visit(definition)
    # Names of the enclosing function are free in it only when one binds them.
    # Ours are free as well: the globals stay those in which functions are wrapped.
    free = (*function.__code__.co_freevars, _ASSERT, _ANNOTATE)
    outer = ast.parse(f"def outer({', '.join(free)}): pass")
    outer.body[0].body = [definition]  # pyright: ignore[reportAttributeAccessIssue]  # the function that was just written
    module = compile(
        ast.fix_missing_locations(outer),
        function.__code__.co_filename,
        "exec",
        dont_inherit=True,
        flags=function.__code__.co_flags & _FUTURE,
    )
    code = _code_in(_code_in(module, "outer"), function.__name__)
    own = CellType(assert_true), CellType(annotations.annotate)
    cells = dict(zip(free, (*(function.__closure__ or ()), *own), strict=True))
    new = FunctionType(
        code.replace(co_qualname=function.__qualname__),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple([cells[name] for name in code.co_freevars]),
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__annotations__ = function.__annotations__
    return new


_ASSERT, _ANNOTATE = "__fxls_assert__", "__fxls_annotate__"
_FUTURE = 0x1000000
"""The flag of ``from __future__ import annotations``."""


def _code_in(code: CodeType, name: str) -> CodeType:
    return next(
        one
        for one in code.co_consts
        if isinstance(one, CodeType) and one.co_name == name
    )
