"""Code generation: one walk over the graph writes the text and knows every position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fxls.engine.code.fences import FindMarks, marks_in
from fxls.engine.code.python_code import (
    INDENT,
    STANDARD_GLOBALS,
    MarkedCode,
    PythonCode,
)
from fxls.engine.ir.arguments import Argument
from fxls.engine.ir.names import Namespace
from fxls.engine.lasting import lasting

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node_list import NodeList
    from fxls.listing import Mark

__all__ = [
    "STANDARD_GLOBALS",
    "CodeGen",
    "MarkedCode",
    "PythonCode",
    "TransformCode",
    "marked_code",
]

TransformCode: TypeAlias = Callable[[list[str]], list[str]]
"""Gets the lines of the body, each with its end, and returns those to use instead."""


def marked_code(
    graph: Graph,
    root_module: str = "self",
    main: str = "__main__",
    find: FindMarks = marks_in,
) -> MarkedCode:
    """The source of a graph, as `Graph.python_code` gives it, with its marks.

    `main` is what names of the program's own module begin with.
    """
    from fxls.engine.code.generation import Generation  # noqa: PLC0415 - code is made later

    codegen = graph._codegen
    if codegen._writes_by_itself:
        # Nobody can say which of its words name a node.
        code = codegen.generate(graph, root_module)
        definition = max(code._prologue_start - 1, 0)
        lines = (definition,) * len(graph.nodes)
        return MarkedCode(code, _no_marks, lines, definition)
    return Generation(codegen, graph, root_module, main=main).marked_code(find)


def _no_marks(_above: int) -> tuple[Mark, ...]:
    return ()


@lasting("fxls.engine.graph")
class CodeGen:
    """The rules by which a graph becomes Python, with five points to change them.

    Override `gen_fn_def`, `generate_output`, `process_inputs`, `process_outputs` and
    `additional_globals` in a subclass and give an instance to `Graph.set_codegen`. Who
    runs the nodes one by one, as an `Interpreter` does, hands them what `process_inputs`
    makes of the arguments, and hands on what `process_outputs` makes of their result:
    that has to be what the generated function returns. A subclass with a
    `generate_prologue`, as the first extension point was called, works as well.
    """

    def __init__(self) -> None:
        self._body_transformer: TransformCode | None = None
        self._func_name: str = "forward"

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        """The head of the function, for parameters written with type and default."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            listed = "".join(f"\n{INDENT}{one}," for one in free_vars) + "\n"
        else:
            listed = ", ".join(free_vars)
        return f"def {self._func_name}({listed}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Argument,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The return statement, for the argument of the output node."""
        return f"return {(repr_fn or repr)(output_args)}"

    @property
    def _writes_plain_output(self) -> bool:
        """Whether nobody overrides `generate_output`."""
        return type(self).generate_output is CodeGen.generate_output

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code of the overridden methods uses, with their values."""
        return []

    def process_inputs(self, *args: Any) -> Any:
        """What the function is called with, as the placeholders take it."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the output node gives, as the function returns it."""
        return outputs

    def generate(self, graph: Graph, root_module: str, **form: Any) -> PythonCode:
        """The graph as source; `form` is what `Graph.python_code` takes by keyword."""
        if self._writes_by_itself:
            return self._gen_python_code(graph.nodes, root_module, Namespace(), **form)
        return self._generated(graph, root_module, **form)

    @property
    def _writes_by_itself(self) -> bool:
        """Whether somebody overrides `_gen_python_code`."""
        return type(self)._gen_python_code is not CodeGen._gen_python_code

    def _gen_python_code(
        self,
        nodes: NodeList,
        root_module: str,
        namespace: Namespace,
        **form: Any,
    ) -> PythonCode:
        """The nodes of a graph as source: what some programs override."""
        return self._generated(nodes.graph, root_module, **form)

    def _generated(self, graph: Graph, root_module: str, **form: Any) -> PythonCode:
        from fxls.engine.code.generation import Generation  # noqa: PLC0415 - code is made later

        if form.pop("verbose", False):
            from fxls.engine.code.readable import ReadableGeneration  # noqa: PLC0415 - rare

            return ReadableGeneration(self, graph, root_module, **form).code()
        return Generation(self, graph, root_module, **form).code()
