"""Code for graphs whose inputs or result are nested: flattened on entry, built on exit.

A module that has such code has the two specifications as ``_in_spec`` and ``_out_spec``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from fxls.engine.code.codegen import INDENT, CodeGen
from fxls.engine.ir.arguments import Argument
from fxls.engine.lasting import lasting
from fxls.engine.torch_private import pytree

__all__ = ["PyTreeCodeGen", "PyTreeInfo"]


@lasting("fxls.engine.graph", "_PyTreeInfo")
class PyTreeInfo(NamedTuple):
    """The parameters as they were written, and the shape of inputs and result."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


@lasting("fxls.engine.graph", "_PyTreeCodeGen")
class PyTreeCodeGen(CodeGen):
    """The graph's placeholders are the leaves of the function's parameters."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        """The head with the original parameters, and the line that flattens them."""
        parameters = list(self.pytree_info.orig_args)
        if parameters and parameters[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(
            parameters.copy(), maybe_return_annotation, expanded_def=expanded_def
        )
        if not free_vars:
            return head
        # An annotation cannot stand in an unpacking, and a default has no meaning there.
        annotated = [_without_default(leaf) for leaf in free_vars if ":" in leaf]
        names = [_without_default(leaf).partition(":")[0].strip() for leaf in free_vars]
        if annotated:
            head += f"\n{INDENT}{'; '.join(annotated)}; \n"
        targets = ", ".join(names)
        flatten = f"fx_pytree.tree_flatten_spec({self._inputs(parameters)})"
        return f"{head}\n{INDENT}{targets}, = {flatten}"

    def generate_output(
        self,
        output_args: Argument,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The return of the result, built from its leaves."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        leaves = (repr_fn or repr)(output_args)
        return f"return pytree.tree_unflatten({leaves}, self._out_spec)"

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, outputs: Any) -> Any:
        spec = self.pytree_info.out_spec
        if spec is None:
            return outputs
        if not isinstance(outputs, list | tuple):
            outputs = [outputs]
        return pytree.tree_unflatten(cast("list[Any]", outputs), spec)

    def _inputs(self, parameters: list[str]) -> str:
        """The parameters as the input specification nests them, and its name."""
        spec = self.pytree_info.in_spec
        if not _has_keywords(spec):
            return f"[{', '.join(parameters)}], self._in_spec"
        count = spec.child(0).num_children
        keys: list[str] = spec.child(1).context
        by_name = zip(keys, self.pytree_info.orig_args[count:], strict=False)
        keywords = ", ".join(f"'{key}':{name}" for key, name in by_name)
        positional = ", ".join(self.pytree_info.orig_args[:count])
        return f"([{positional}], {{{keywords}}}), self._in_spec"


def _has_keywords(spec: pytree.TreeSpec) -> bool:
    """Whether inputs are (args, kwargs), as `torch.export` gives them."""
    return (
        spec.type is tuple
        and spec.num_children == 2
        and spec.child(0).type is tuple
        and spec.child(1).type is dict
    )


def _without_default(parameter: str) -> str:
    return parameter.partition(" = ")[0].strip()
