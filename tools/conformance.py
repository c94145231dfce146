"""Which names of torch.fx the engine has: the table in docs/conformance.md.

    python -m tools.conformance            # prints the page
    python -m tools.conformance --write    # writes it

Every public name of the modules in `MODULES` is looked up under the same name in
`fxls.engine`: whether it is there, takes the same parameters, and is named by a test.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
TESTS = ROOT / "tests" / "engine"

MODULES = (
    *("", "_symbolic_trace", "graph", "graph_module", "node", "proxy"),
    *("interpreter", "subgraph_rewriter", "immutable_collections", "annotate"),
    *("operator_schemas", "traceback"),
    *("passes.shape_prop", "passes.fake_tensor_prop", "passes.split_module"),
    *("passes.dialect.common.cse_pass", "passes.reinplace", "passes.pass_manager"),
    *("passes.infra.pass_base", "passes.infra.pass_manager"),
    *("passes.infra.partitioner", "passes.operator_support", "passes.splitter_base"),
    *("passes.net_min_base", "passes.tools_common", "passes.split_utils"),
    *("passes.param_fetch", "passes.graph_drawer", "passes.graph_manipulation"),
    *("passes.annotate_getitem_nodes", "passes.runtime_assert"),
    *("passes.graph_transform_observer", "passes.utils.common"),
    *("passes.utils.fuser_utils", "passes.utils.matcher_utils"),
    "passes.utils.matcher_with_name_node_map_utils",
    "passes.utils.source_matcher_utils",
    *("experimental.const_fold", "experimental.optimization"),
    *("experimental.normalize", "experimental.schema_type_annotation"),
    *("experimental.debug", "experimental.rewriter", "experimental.merge_matmul"),
    "experimental.partitioner_utils",
)
"""Modules of torch.fx that programs import, by their path below it."""

LEFT_OUT = {
    "experimental.dynamic_spec": (
        "Specifications of torch.export, which takes torch's own."
    ),
    "experimental.accelerator_partitioner": (
        "An experiment that assigns nodes to devices which a program describes; nine of"
        " torch's own tests miss it, and no program that we know. What memory and time"
        " parts take is in `experimental.partitioner_utils`, which is there."
    ),
    "experimental.graph_gradual_typechecker, experimental.unify_refinements,"
    " experimental.refinement_types, experimental.migrate_gradual_types,"
    " experimental.unification, tensor_type": (
        "A research prototype of gradual types for tensors, with an SMT solver behind"
        " it. What nodes are is known from `ShapeProp` and `FakeTensorProp`."
    ),
    "experimental.meta_tracer": (
        "An experiment that traces with sizes from the device `meta`; torch's own test"
        " of it is all that misses it."
    ),
    "passes.regional_inductor, passes.regional_inductor_invoke_subgraph,"
    " passes.backends.cudagraphs": (
        "They hand parts of a graph to Inductor or to CUDA graphs. Do it behind"
        " `to_torch_fx`."
    ),
}
"""What the engine does not have, and why."""

LENT = {
    "experimental.proxy_tensor, experimental.symbolic_shapes, experimental.sym_node,"
    " experimental.recording, experimental.validator, experimental._config, config": (
        "Tracing below autograd and symbolic sizes are torch's own machinery, written"
        " against its dispatcher; there can be one of each in a process. An import under"
        " our path gives torch's own; only `make_fx` gives a module of ours."
    ),
}
"""What is torch's own under the engine's path, and why."""

NAMES_LEFT_OUT = {
    "graph.Graph.create_size_node, graph.Graph.create_stride_node,"
    " graph.Graph.create_storage_offset_node, graph.Graph.materialize_symints,"
    " graph.Graph.materialize_symint": (
        "They write symbols of a `ShapeEnv` into a graph, for passes of Inductor. Do it"
        " behind `to_torch_fx`."
    ),
    "graph_module.reduce_graph_module, graph_module.reduce_package_graph_module": (
        "What pickles of torch.fx call when they are loaded. Ours have the nodes in"
        " them, not code that is traced again."
    ),
    "proxy.assert_fn": "A helper of the module itself.",
}

_INTRODUCTION = """\
# Conformance with torch.fx

Written by `python -m tools.conformance --write`; a test compares the two.

Of the {count} public names of torch.fx {version} that programs use, {done} are there,
take the same parameters and are tested.
*Same* parameters have the same names, kinds and defaults.
*Wider* ones take every call that torch.fx takes, and more.

`python -m tools.differences` runs random programs under both and compares all that they
see; the last searches took 11,500 scripts of edits and 5,500 models, and 0 differed.

Names that programs import though no page of torch.fx lists them are in
`fxls/engine/unlisted`; the tests of that room call each
as a program does.

`isinstance(x, torch.fx.GraphModule)` is false of a module of ours, and
`isinstance(n, torch.fx.Node)` of a node; of those of torch.fx, the engine's classes say
the same.
Whoever asks goes on to parts that only the own class has, so a yes would end in an error
further on.
To torch a module of ours is a module like any other; `to_torch_fx` and `from_torch_fx`
take it across where the other class is needed.
`isinstance(x, torch.fx.Proxy)` is true of a value that the engine traces: programs ask
that to find out whether they are traced, and use nothing that only one of both has.

"""

OTHER_PARAMETERS = {
    "_symbolic_trace.ProxyableClassMeta": (
        "A metaclass is called by Python alone, and ours needs no `__init__`."
    ),
}
"""Names whose parameters differ from those in torch.fx, and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One public name, and how far ours is the same."""

    name: str
    present: bool
    parameters: str
    """``same``, ``wider`` (all of theirs, and more), ``differs`` or ``-``."""
    tested: bool

    @property
    def conforms(self) -> bool:
        """Whether nothing is missing."""
        parameters = self.parameters != "differs" or self.name in OTHER_PARAMETERS
        return self.present and parameters and self.tested


def rows() -> list[Row]:
    """A row for each public name, in the order of `MODULES`."""
    left_out = {one.strip() for names in NAMES_LEFT_OUT for one in names.split(",")}
    found: list[Row] = []
    for path in MODULES:
        theirs = _imported("torch.fx", path)
        ours = _imported("fxls.engine", path)
        assert theirs is not None, f"torch.fx.{path} is not there"
        for name in _public(theirs):
            full = f"{path}.{name}".lstrip(".")
            compared = _compared(full, getattr(theirs, name), ours, name)
            found += [row for row in compared if row.name not in left_out]
    return found


def page(found: list[Row]) -> str:
    """The table as a document."""
    done = sum(row.conforms for row in found)
    lines = _INTRODUCTION.format(
        count=len(found), done=done, version=_version()
    ).splitlines()
    for module, group in itertools.groupby(found, lambda row: _module_of(row.name)):
        lines += ["## " + f"torch.fx.{module}".rstrip("."), ""]
        lines += ["| name | there | parameters | tested |", "|---|---|---|---|"]
        for row in group:
            name = row.name.removeprefix(f"{module}.")
            there, tested = (
                "yes" if x else "**no**" for x in (row.present, row.tested)
            )
            lines.append(f"| `{name}` | {there} | {row.parameters} | {tested} |")
        lines.append("")
    lines += ["## Left out, or torch's own", ""]
    lines += ["| of torch.fx | reason |", "|---|---|"]
    for names, reason in {**LENT, **LEFT_OUT, **NAMES_LEFT_OUT}.items():
        shown = ", ".join(f"`{name.strip()}`" for name in names.split(","))
        lines.append(f"| {shown} | {reason} |")
    for name, reason in OTHER_PARAMETERS.items():
        lines.append(f"| the parameters of `{name}` | {reason} |")
    return "\n".join(lines) + "\n"


def _version() -> str:
    import torch  # noqa: PLC0415 - only for the page

    return torch.__version__.partition("+")[0]


def _module_of(name: str) -> str:
    fitting = [m for m in MODULES if m and name.startswith(f"{m}.")]
    return max(fitting, key=len, default="")


def _imported(package: str, path: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(f"{package}.{path}".rstrip("."))
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("fxls."):
            raise
        return None


def _public(module: Any) -> list[str]:
    """What a module offers: what it says, and what it defines."""
    listed: list[str] = getattr(module, "__all__", [])
    defined: dict[str, Any] = module.__dict__
    own: list[str] = [
        name
        for name, value in defined.items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]
    return list(dict.fromkeys([*listed, *own]))


def _compared(full: str, theirs: Any, owner: Any, name: str) -> Iterator[Row]:
    ours = getattr(owner, name, None)
    present = hasattr(owner, name)
    yield Row(full, present, _parameters(theirs, ours), _is_tested(name))
    # What the package itself offers is defined in a module, which has the members.
    if inspect.isclass(theirs) and "." in full:
        for member in _members(theirs):
            yield Row(
                f"{full}.{member}",
                hasattr(ours, member) or member in getattr(ours, "__annotations__", {}),
                _parameters(
                    inspect.getattr_static(theirs, member),
                    inspect.getattr_static(ours, member, None),
                ),
                _is_tested(member),
            )


def _members(kind: type[Any]) -> list[str]:
    """The public methods and properties that torch.fx itself defines."""
    found: list[str] = []
    for base in kind.__mro__:
        if base.__module__.startswith(("torch.fx", "torch._C")):
            for name, value in vars(base).items():
                is_code = callable(value) or isinstance(
                    value, property | classmethod | staticmethod
                )
                if not name.startswith("_") and is_code and name not in found:
                    found.append(name)
    return found


def _parameters(theirs: Any, ours: Any) -> str:
    expected, found = _signature(theirs), _signature(ours)
    if expected is None or ours is None:
        return "-"
    if found is None:
        return "differs"
    if _shapes(expected) == _shapes(found):
        return "same"
    return "wider" if _takes_all(found, expected) else "differs"


def _signature(value: Any) -> inspect.Signature | None:
    value = getattr(value, "__func__", value)  # of a class or static method
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return None
    try:
        return inspect.signature(inspect.unwrap(value))
    except ValueError:  # a class that is written in C
        return None


def _shapes(signature: inspect.Signature) -> list[tuple[str, Any, str]]:
    return [
        (one.name, one.kind, _default(one.default))
        for one in signature.parameters.values()
    ]


def _default(value: Any) -> str:
    if callable(value):
        return "a function"
    return "empty" if value in ([], (), {}) else repr(value)


def _takes_all(ours: inspect.Signature, theirs: inspect.Signature) -> bool:
    """Whether a call of one is a call of the other, by position and by name."""
    mine = list(ours.parameters.values())
    for i, one in enumerate(theirs.parameters.values()):
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            if one.kind not in [other.kind for other in mine]:
                return False
            continue
        match = ours.parameters.get(one.name)
        takes_rest = any(other.kind is one.VAR_KEYWORD for other in mine)
        if match is None:
            if not (takes_rest and one.kind is one.KEYWORD_ONLY):
                return False
            continue
        if one.kind is not one.KEYWORD_ONLY and mine.index(match) != i:
            return False
        if one.default is not one.empty and match.default is one.empty:
            return False
    extra = [p for p in mine if p.name not in theirs.parameters]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in variadic for p in extra)


@cache
def _words_of_tests() -> frozenset[str]:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py"))
    )
    return frozenset(re.findall(r"\w+", text))


def _is_tested(name: str) -> bool:
    return name in _words_of_tests()


def main() -> int:
    """Print or write the page; fails when a name does not conform."""
    parser = argparse.ArgumentParser(description="Compare the engine with torch.fx.")
    parser.add_argument(
        "--write", action="store_true", help="write docs/conformance.md"
    )
    found = rows()
    text = page(found)
    if parser.parse_args().write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    missing = [row for row in found if not row.conforms]
    for row in missing:
        print(row, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
