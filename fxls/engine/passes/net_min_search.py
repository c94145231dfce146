"""The ways to look for the nodes at which two runs differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.passes.net_min_errors import (
    FxNetMinimizerResultMismatchError,
    FxNetMinimizerRunFuncError,
)
from fxls.engine.passes.tools_common import Names, NodeList, NodeSet

__all__ = ["Minimizer", "Search"]


class Minimizer(Protocol):
    """What a search asks of a minimizer: to compare one part after the other."""

    @property
    def fusions(self) -> Mapping[Node, NodeSet]:
        """The nodes that each node must stay together with."""
        ...

    @property
    def exclusion_fn(self) -> Callable[[NodeList, int, int], None] | None:
        """May take nodes out of a list that is about to be compared."""
        ...

    @property
    def reports(self) -> list[list[str]]: ...

    iteration: int

    def print_report(self, report: list[str]) -> None: ...

    def _build_submodule(self, nodes: NodeSet) -> tuple[GraphModule, str]: ...

    def _run_and_compare(
        self,
        split_module: GraphModule,
        submod_name: str,
        output_names: Names,
        report_idx: int = -1,
    ) -> None: ...


class Search:
    """One search by a minimizer, whose reports it adds to and prints."""

    def __init__(self, minimizer: Minimizer, *, finds_all: bool) -> None:
        self._minimizer = minimizer
        self._finds_all = finds_all

    def one_by_one(self, nodes: NodeList) -> NodeSet:
        """Compare each node alone, or with those that it must stay together with."""
        culprits: NodeSet = set()
        for node in nodes:
            report = self._begin(f"Sequential traverse iteration {self._next()}.")
            report.append(f"Visit node: {node.name}")
            if not self._without_excluded([node], -1, -1):
                report.append(f"User exclusion : {node.name}")
                self._print(report)
                if not self._finds_all:
                    return culprits
                continue
            together = self._minimizer.fusions.get(node, {node})
            fault = self._fault(together, [node.name])
            if fault is not None:
                culprits |= {node} if fault == "numeric" else together
                report.append(f"Found culprit from {fault} error: {node}")
            self._print(report)
            if fault is not None and not self._finds_all:
                return culprits
        return culprits

    def halves(self, nodes: NodeList, start: int, end: int) -> NodeSet:
        """Compare a stretch of nodes, and its halves while it differs."""
        chosen = self._without_excluded(nodes[start:end], start, end)
        if not chosen:
            self._begin("All nodes are excluded by user")
            return set()
        report = self._begin(f"Binary search iteration {self._next()}")
        report.append(
            f"From node index {start}:{chosen[0].name} to {end - 1}:{chosen[-1].name}. "
            f"Size of the interested node list is {len(chosen)}"
        )
        if self._fault(set(chosen), [chosen[-1].name]) is None:
            report.append("No discrepancy found.")
            self._print(report)
            return set()
        if len(chosen) == 1:
            report.append(
                f"Only {chosen[0]} is left, and it differs: it is the culprit."
            )
            self._print(report)
            return set(chosen)
        report.append("It differs; each half is compared next.")
        self._print(report)
        middle = start + len(chosen) // 2
        culprits = self.halves(nodes, start, middle)
        if culprits and not self._finds_all:
            return culprits
        first = culprits
        culprits = self.halves(nodes, middle, end)
        if not culprits and not first:
            report.append(f"Neither half differs alone, so nothing less than: {chosen}")
            self._print(report)
        return first | culprits

    def growing(self, nodes: NodeList) -> NodeSet:
        """Compare the first node, the first two, and so on, until they differ."""
        if self._finds_all:
            self._print(["'find_all' has no meaning for traverse_method 'accumulate'"])
            return set()
        for count, node in enumerate(nodes, 1):
            report = self._begin(f"Accumulate traverse iteration {self._next()}.")
            report.append(f"Add node: {node.name}")
            fault = self._fault(set(nodes[:count]), [node.name])
            if fault is not None:
                report.append(f"Found culprit {node}")
            self._print(report)
            if fault is not None:
                return {node}
        return set()

    def without(self, nodes: NodeList, skipped: list[str]) -> NodeSet:
        """Compare the stretches between the nodes that are left out."""
        culprits: NodeSet = set()
        start = 0
        for place, node in enumerate(nodes):
            if node.name in skipped:
                if place > start:
                    culprits |= self._stretch(nodes, start, place)
                start = place + 1
        if start < len(nodes):
            culprits |= self._stretch(nodes, start, len(nodes))
        return culprits

    def at_once(self, nodes: NodeList) -> NodeSet:
        """Compare all nodes as one."""
        chosen = self._without_excluded(list(nodes), -1, -1)
        if not chosen:
            self._begin("All nodes are excluded by user")
            return set()
        report = [f"Defined graph from {chosen[0].name} to {chosen[-1].name}"]
        fault = self._fault(set(chosen), [chosen[-1].name])
        if fault is not None:
            report.append(f"Found culprit {set(chosen)}")
        self._print(report)
        return set() if fault is None else set(chosen)

    def block(self, nodes: NodeList, finds_last: bool | None) -> NodeSet:  # noqa: FBT001 - a choice of three
        """The shortest stretch that differs: its end first, then its start.

        With `finds_last` only the end is looked for, or (False) only the start.
        """
        report = self._begin(f"Block search from {nodes[0].name} to {nodes[-1].name}")
        first, last = 0, len(nodes) - 1
        if finds_last is not False:
            found = self._least(lambda at: self._differs(nodes[: at + 1]), last)
            if found is None:
                report.append("No culprits found")
                self._print(report)
                return set()
            last = found
            report.append(f"Find end_idx = {last}:{nodes[last].name}")
        if not finds_last:
            # The later a stretch that differs starts, the shorter it is.
            found = self._least(
                lambda at: self._differs(nodes[last - at : last + 1]), last
            )
            if found is None:
                report.append("No culprits found")
                self._print(report)
                return set()
            first = last - found
            report.append(f"Find start_idx = {first}:{nodes[first].name}")
        report.append(
            f"Finish searching, found minimum block ({nodes[first]},{nodes[last]})"
        )
        self._print(report)
        return set(nodes[first : last + 1])

    def _least(self, differs: Callable[[int], bool], most: int) -> int | None:
        """The least number up to `most` for which nodes differ; None when none does."""
        low, high = 0, most + 1
        while low < high:
            middle = (low + high) // 2
            if differs(middle):
                high = middle
            else:
                low = middle + 1
        return None if low > most else low

    def _differs(self, nodes: NodeList) -> bool:
        report = self._begin(f"Block search iteration {self._next()}")
        chosen = self._without_excluded(list(nodes), -1, -1)
        if not chosen:
            report.append("All nodes are excluded by user")
            self._print(report)
            return False
        report.append(f"Subgraph constructed by {chosen[0].name} to {chosen[-1].name}")
        fault = self._fault(set(chosen), [chosen[-1].name], len(self._reports) - 1)
        report.append("Culprits found." if fault else "Culprits not found.")
        self._print(report)
        return fault is not None

    def _stretch(self, nodes: NodeList, start: int, end: int) -> NodeSet:
        chosen = nodes[start:end]
        fusions = self._minimizer.fusions
        if self._minimizer.exclusion_fn is not None:
            together = set(self._without_excluded(chosen, start, end))
        else:
            together = set(chosen).union(*(fusions.get(node, ()) for node in chosen))
        report = self._begin(f" Nodes block {self._next()}.")
        report.append(
            f"From node index {start} to {end - 1}. "
            f"Size of the interested node list is {len(chosen)}"
        )
        fault = self._fault(together, [])
        if fault is None:
            report.append("No discrepancy found.")
            return set()
        report.append(f"Found culprit from {fault} error: {together}")
        self._print(report)
        return together

    def _fault(self, nodes: NodeSet, names: list[str], report: int = -1) -> str | None:
        """Whether a part differs: ``numeric``, or ``run`` when it cannot be run."""
        try:
            split, name = self._minimizer._build_submodule(nodes)
            self._minimizer._run_and_compare(split, name, names, report)
        except FxNetMinimizerResultMismatchError:
            return "numeric"
        except FxNetMinimizerRunFuncError:
            return "run"
        return None

    def _without_excluded(self, nodes: NodeList, start: int, end: int) -> NodeList:
        """The list as the user's function leaves it."""
        if self._minimizer.exclusion_fn is not None:
            self._minimizer.exclusion_fn(nodes, start, end)
        return nodes

    @property
    def _reports(self) -> list[list[str]]:
        return self._minimizer.reports

    def _begin(self, line: str) -> list[str]:
        """A further report, that begins with a line."""
        report = [line]
        self._reports.append(report)
        return report

    def _next(self) -> int:
        self._minimizer.iteration += 1
        return self._minimizer.iteration

    def _print(self, report: list[str]) -> None:
        self._minimizer.print_report(report)
