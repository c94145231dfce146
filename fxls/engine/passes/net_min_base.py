"""Finding the nodes at which two ways of running a module differ."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, TypeAlias, cast

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import map_arg
from fxls.engine.passes import net_min_search
from fxls.engine.passes.net_min_errors import (
    FxNetMinimizerBadModuleError,
    FxNetMinimizerResultMismatchError,
    FxNetMinimizerRunFuncError,
)
from fxls.engine.passes.shape_prop import ShapeProp
from fxls.engine.passes.split_utils import split_by_tags
from fxls.engine.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    Names,
    NodeList,
    NodeSet,
    TensorOrTensors,
    Tensors,
)

__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
    "_MinimizerBase",
    "_MinimizerSettingBase",
]

logger = logging.getLogger(__name__)

_Exclude: TypeAlias = Callable[[NodeList, int, int], None]
_Export: TypeAlias = Callable[[Tensors, GraphModule, str], None]
_Compare: TypeAlias = Callable[
    [TensorOrTensors, TensorOrTensors, Names], tuple[float, bool]
]


@dataclass
class _MinimizerSettingBase:
    """How to search."""

    accumulate_error: bool = False
    """Each way runs on its own earlier results, not both on those of `run_a`."""
    traverse_method: str = "sequential"
    """sequential, binary, accumulate, skip, defined or block."""
    find_all: bool = False
    """Go on behind the first culprit."""
    return_intermediate: bool = False
    """`run_nodes` compares the value of every node."""
    all_outputs: bool = False
    """Compare all that a submodule gives, not the node in question alone."""

    def __str__(self) -> str:
        lines = [f"\t{name}: {value}" for name, value in vars(self).items()]
        return "\n".join(["FX Minimizer Settings:", *lines, ""])


class _MinimizerBase:
    """Makes submodules of parts of a module, runs each in two ways, and compares.

    Override `run_a` and `run_b`. `compare_fn` gets both results and the names of what
    they are, and gives a number for the report and whether they are alike.
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Tensors,
        compare_fn: _Compare,
        settings: _MinimizerSettingBase,
        module_exporter: _Export | None = None,
        exclusion_fn: _Exclude | None = None,
    ) -> None:
        """Run the module once, to know what its values are.

        `module_exporter` gets each submodule that differs, with both inputs.
        `exclusion_fn` may take nodes out of a list that is about to be compared.
        """
        if not isinstance(module, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            refuse_foreign(module)
            raise AssertionError(f"a GraphModule can be searched, not {type(module)}")
        self.module = module
        self.settings = settings
        self.sample_input = sample_input
        self.compare_fn = compare_fn
        self.exclusion_fn = exclusion_fn
        self.module_exporter = module_exporter
        self.iteration = 0
        self.reports: list[list[str]] = []
        self.results: dict[Any, Any] = {}
        """By the names of what was compared: the number for the report."""
        self.a_outputs: dict[str, Any] = {}
        """By the name of a node: its value as `run_a` computed it."""
        self.b_outputs: dict[str, Any] = {}
        self.run_shape_prop()
        self.fusions = FxNetAccFusionsFinder(module, set(self._calls()))()
        inputs = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        if len(inputs) != len(sample_input):
            raise AssertionError(
                f"the module takes {len(inputs)} inputs ({', '.join(inputs)}), and"
                f" sample_input has {len(sample_input)}"
            )
        for name, value in zip(inputs, sample_input, strict=True):
            self.a_outputs[name] = self.b_outputs[name] = value

    def run_shape_prop(self) -> None:
        """Note the shapes of all values; may be overridden."""
        ShapeProp(self.module).propagate(*self.sample_input)

    def run_a(
        self, mod: GraphModule, inputs: Tensors, report_idx: int = -1
    ) -> TensorOrTensors:
        """Run a submodule in the way that is right; to be overridden."""
        raise RuntimeError("run_a() is not implemented: override it in a subclass")

    def run_b(
        self, mod: GraphModule, inputs: Tensors, report_idx: int = -1
    ) -> TensorOrTensors:
        """Run a submodule in the way that is in question; to be overridden."""
        raise RuntimeError("run_b() is not implemented: override it in a subclass")

    def run_nodes(self, start: str | None = None, end: str | None = None) -> None:
        """Compare one part: from node `start` to node `end`, or the ends of the graph.

        What differs is printed.
        """
        nodes = self._collect_nodes(start, end)
        chosen = set(nodes).union(*(self.fusions.get(node, ()) for node in nodes))
        names = [node.name for node in nodes]
        try:
            split, name = self._build_submodule(chosen)
            self._run_and_compare(
                split, name, names if self.settings.return_intermediate else []
            )
        except (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError) as error:
            print(error)  # noqa: T201 - FX's method prints

    def minimize(
        self,
        start: str | None = None,
        end: str | None = None,
        skip_nodes: Names | None = None,
        find_last_node: bool | None = None,  # noqa: FBT001 - FX's signature
    ) -> NodeSet:
        """The nodes between two that make the results differ, or a run fail.

        `skip_nodes` are the names that the method ``skip`` leaves out; `find_last_node`
        makes ``block`` look for one end of the culprits alone: the last, or (False) the
        first. Reports are printed.
        """
        print(self.settings)  # noqa: T201 - FX's method prints
        print(self.module.graph)  # noqa: T201 - FX's method prints
        nodes = self._collect_nodes(start, end)
        search = net_min_search.Search(self, finds_all=self.settings.find_all)
        method = self.settings.traverse_method
        if method == "sequential":
            return search.one_by_one(nodes)
        if method == "binary":
            return search.halves(nodes, 0, len(nodes))
        if method == "accumulate":
            return search.growing(nodes)
        if method == "skip":
            if skip_nodes is None:
                raise RuntimeError(
                    "traverse_method is 'skip', which needs skip_nodes: the names of the"
                    " nodes to leave out"
                )
            return search.without(nodes, skip_nodes)
        if method == "defined":
            return search.at_once(nodes)
        if method == "block":
            return search.block(nodes, find_last_node)
        raise RuntimeError(f"Unknown traverse method {method}!")

    def print_report(self, report: list[str]) -> None:
        """Print one report."""
        for place, line in enumerate(report):
            print(f" . {line}" if place else line)  # noqa: T201 - FX's method prints

    def print_reports(self) -> None:
        """Print all reports."""
        for report in self.reports:
            self.print_report(report)

    # -- one comparison ----------------------------------------------------------

    def _calls(self) -> NodeList:
        return [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]

    def _collect_nodes(self, start: str | None, end: str | None) -> NodeList:
        """The calls from one node to another, both included."""
        found: NodeList = []
        is_inside = start is None
        for node in self._calls():
            is_inside = is_inside or node.name == start
            if is_inside:
                found.append(node)
            if node.name == end:
                break
        return found

    def _tag_nodes(self, selected_nodes: NodeSet) -> None:
        """Tag what is selected ``minimize``, what depends on it ``main_1``, and the rest
        ``main_0``.
        """
        for node in cast("list[Any]", self._calls()):
            if node in selected_nodes:
                node.tag = "minimize"
            elif any(
                used.tag != "main_0"
                for used in node.all_input_nodes
                if used.op in CALLABLE_NODE_OPS
            ):
                node.tag = "main_1"
            else:
                node.tag = "main_0"

    def _build_submodule(self, nodes: NodeSet) -> tuple[GraphModule, str]:
        """The module with a submodule for some nodes, and the submodule's name."""
        self._tag_nodes(nodes)
        split = cast(
            "GraphModule", split_by_tags(self.module, ["main_0", "minimize", "main_1"])
        )
        names = [name for name, _ in split.named_children() if "minimize" in name]
        if len(names) != 1:
            raise FxNetMinimizerBadModuleError(
                f"{len(names)} submodules were made of {nodes}, and one was wanted"
            )
        return split, names[0]

    def _get_submod_inputs(
        self, main_module: GraphModule, submod_path: str
    ) -> tuple[Tensors, Tensors]:
        """What both ways run a submodule on: results that are there, or else what the
        module calls it with.
        """
        submodule: Any = getattr(main_module, submod_path)
        names = [n.name for n in submodule.graph.nodes if n.op == "placeholder"]
        if self.a_outputs.keys() >= set(names):
            a: Any = [self.a_outputs[name] for name in names]
            b: Any = [self.b_outputs[name] for name in names]
            return a, b if self.settings.accumulate_error else a
        if self.settings.accumulate_error:
            logger.warning("no results are known for all of %s", names)
        taken: list[Any] = []

        def take(_module: Any, given: Any) -> None:
            taken.append(given)

        handle = submodule.register_forward_pre_hook(take)
        try:
            main_module(*self.sample_input)
        finally:
            handle.remove()
        return taken[-1], taken[-1]

    def _store_outputs(
        self,
        a_result: TensorOrTensors,
        b_result: TensorOrTensors,
        submodule: GraphModule,
    ) -> None:
        """Keep results, for the parts that use them."""
        result: Any = submodule.graph.output_node().args[0]
        for kept, value in ((self.a_outputs, a_result), (self.b_outputs, b_result)):
            if isinstance(result, tuple | list):
                for node, one in zip(cast("Any", result), value, strict=True):
                    kept[node.name] = one
            else:
                kept[result.name] = value

    def _run_and_compare(
        self,
        split_module: GraphModule,
        submod_name: str,
        output_names: Names,
        report_idx: int = -1,
    ) -> None:
        """Run a submodule in both ways and compare what they give.

        `output_names` are the nodes to compare; none are its own results. Raises
        `FxNetMinimizerRunFuncError` or `FxNetMinimizerResultMismatchError`.
        """
        inputs = self._get_submod_inputs(split_module, submod_name)
        submodule: GraphModule = getattr(split_module, submod_name)
        if not self.reports:
            self.iteration = 1
            self.reports.append([])
        place = self.iteration - 1 if report_idx < 0 else report_idx
        report = self.reports[place]
        report.append("Run and compare ...")
        if output_names and not self.settings.all_outputs:
            _give(submodule, output_names)
        key: Any = map_arg(submodule.graph.output_node().args, lambda node: node.name)
        with _Running(submod_name, report):
            a_result = self.run_a(submodule, inputs[0], report_idx)
            b_result = self.run_b(submodule, inputs[1], report_idx)
            self._store_outputs(a_result, b_result, submodule)
        number, is_alike = self.compare_fn(a_result, b_result, output_names)
        self.results[key] = number
        report.append(f"Numerical accuracy = {number}")
        if not is_alike:
            report.append(f"Result mismatch for {key}")
            self._refuse(submodule, *inputs, key)

    def _refuse(
        self, submodule: GraphModule, a_input: Tensors, b_input: Tensors, key: Any
    ) -> NoReturn:
        if self.module_exporter is not None:
            while isinstance(key, tuple | list):
                key = cast("Any", key)[0]
            self.module_exporter(a_input, submodule, f"{key}_cpu")
            self.module_exporter(b_input, submodule, f"{key}_acc")
        raise FxNetMinimizerResultMismatchError(f"Result mismatch for {key}")


class _Running:
    """A block in which a backend runs: what it raises is a `FxNetMinimizerRunFuncError`."""

    def __init__(self, name: str, report: list[str]) -> None:
        self._name = name
        self._report = report

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            told = f"Exception raised when running {self._name}: {error}"
            self._report.append(told)
            raise FxNetMinimizerRunFuncError(told) from error


def _give(submodule: GraphModule, names: Names) -> None:
    """Let a submodule return the values of some nodes instead."""
    graph = submodule.graph
    graph.erase_node(graph.output_node())
    results = tuple(node for node in graph.nodes if node.name in names)
    graph.output(results[0] if len(results) == 1 else results)
    graph.lint()
    submodule.recompile()
