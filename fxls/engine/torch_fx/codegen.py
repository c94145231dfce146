"""Rules of code generation that were written for torch's own FX, and ours for its."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

from fxls.engine.code.codegen import CodeGen
from fxls.engine.code.pytree_codegen import PyTreeCodeGen, PyTreeInfo
from fxls.engine.ir.arguments import Argument
from fxls.engine.lasting import lasting

__all__ = ["ForeignCodeGen", "from_torch", "to_torch"]


@lasting("fxls.engine", "_ForeignCodeGen")
class ForeignCodeGen(CodeGen):
    """The five extension points of a code generator of torch's FX."""

    def __init__(self, foreign: Any) -> None:
        super().__init__()
        self.foreign = foreign

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        form = {"expanded_def": True} if expanded_def else {}
        return self.foreign.gen_fn_def(free_vars, maybe_return_annotation, **form)

    def generate_output(
        self,
        output_args: Argument,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        # An override there may know neither of the parameters.
        given = {"descs": descs, "repr_fn": repr_fn}
        form = {key: value for key, value in given.items() if value is not None}
        return self.foreign.generate_output(output_args, **form)

    def process_inputs(self, *args: Any) -> Any:
        return self.foreign.process_inputs(*args)

    def process_outputs(self, outputs: Any) -> Any:
        return self.foreign.process_outputs(outputs)

    def additional_globals(self) -> list[tuple[str, Any]]:
        return self.foreign.additional_globals()


def from_torch(foreign: Any, graph_module: Any) -> CodeGen:
    """The rules of torch's FX as ours; `graph_module` is the module ``torch.fx.graph``."""
    made: CodeGen
    if type(foreign) is graph_module.CodeGen:
        made = CodeGen()
    elif type(foreign) is graph_module._PyTreeCodeGen:
        made = PyTreeCodeGen(PyTreeInfo(*foreign.pytree_info))
    elif hasattr(foreign, "_fxls_codegen"):
        made = copy.copy(cast("CodeGen", foreign._fxls_codegen))
    else:
        made = ForeignCodeGen(foreign)
    made._body_transformer = foreign._body_transformer
    made._func_name = foreign._func_name
    return made


def to_torch(codegen: CodeGen, graph_module: Any) -> Any:
    """Our rules as those of torch's FX."""
    kind = type(codegen)
    made: Any
    if kind is CodeGen:
        made = graph_module.CodeGen()
    elif kind is PyTreeCodeGen:
        info = cast("PyTreeCodeGen", codegen).pytree_info
        made = graph_module._PyTreeCodeGen(graph_module._PyTreeInfo(*info))
    elif kind is ForeignCodeGen:
        made = copy.copy(cast("ForeignCodeGen", codegen).foreign)
    else:
        made = _delegating(graph_module.CodeGen, codegen)
    made._body_transformer = codegen._body_transformer
    made._func_name = codegen._func_name
    return made


def _delegating(base: type[Any], codegen: CodeGen) -> Any:
    """An object of torch's class that asks `codegen` at each extension point."""
    kind = type(codegen)
    older = getattr(codegen, "generate_prologue", None)

    def gen_fn_def(
        _self: Any, free_vars: list[str], annotation: str, **form: Any
    ) -> str:
        if older is not None:
            return older(free_vars, annotation).lstrip("\n")
        # torch passes what has its default value as well; overrides of ours may not
        # know the parameter.
        asked = {key: value for key, value in form.items() if value}
        return codegen.gen_fn_def(free_vars, annotation, **asked)

    def generate_output(_self: Any, output_args: Any, **_form: Any) -> str:
        return codegen.generate_output(output_args)

    def process_inputs(_self: Any, *args: Any) -> Any:
        return codegen.process_inputs(*args)

    def process_outputs(_self: Any, outputs: Any) -> Any:
        return codegen.process_outputs(outputs)

    def additional_globals(_self: Any) -> list[tuple[str, Any]]:
        return codegen.additional_globals()

    points = (
        gen_fn_def,
        generate_output,
        process_inputs,
        process_outputs,
        additional_globals,
    )
    parts: dict[str, Any] = {point.__name__: point for point in points}
    return type(kind.__name__, (base,), {**parts, "_fxls_codegen": codegen})()
