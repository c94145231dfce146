"""A log of what a splitter decided about each node, and because of which other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from fxls.engine.ir.node import Node

__all__ = ["DUMP_PREFIX", "TRACKER_MODE", "NodeEvent", "NodeEventTracker"]

DUMP_PREFIX = "_fx_net_tracker"
"""What the names of dumped files begin with, in the working directory."""

TRACKER_MODE = "0"
"""0 dumps nothing, 1 all events, 2 also the nodes that were asked for, 3 also those that
something happened to twice; the events that caused others behind them."""

Writer = Callable[[str], object]


class NodeEvent:
    """What was decided about a node: ``kind|reason``."""

    def __init__(self, source: Node, desc: str, dep: Node | None = None) -> None:
        self.source = source
        self.desc = desc
        self.dep = dep
        """The node that was the cause, if another one was."""

    def to_str(self) -> str:
        """The event as a line; ``#`` stands for no other node."""
        cause = "#" if self.dep is None else self.dep.name
        return f"{self.source.name}: {self.desc} {cause}"


class NodeEventTracker:
    """The events of one run, in their order and by the names of nodes."""

    def __init__(self, tracker_mode: int, dump_prefix: str) -> None:
        self.tracker_mode = tracker_mode
        self.dump_prefix = dump_prefix
        self.tracked_nodes: Sequence[str] = ()
        """The names of the nodes that mode 2 dumps."""
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}
        """Per name: the places of its events."""
        self.writer: Writer = print

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Note an event."""
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def print_node(
        self,
        node_name: str,
        recursive: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        tab: str = "",
        writer: Writer | None = None,
    ) -> None:
        """Write the events of a node; those of their causes too, if `recursive`."""
        write = writer or self.writer
        for place in self.node_events.get(node_name, ()):
            event = self.events[place]
            write(tab + event.to_str())
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, recursive, "| " + tab, write)

    def to_dict(self) -> dict[str, list[str]]:
        """The lines of the events, by the names of nodes."""
        return {
            name: [self.events[place].to_str() for place in places]
            for name, places in self.node_events.items()
        }

    def print_all(self, writer: Writer | None = None) -> None:
        """Write the events of all nodes."""
        write = writer or self.writer
        for name in self.node_events:
            write(f"Node: {name}:")
            self.print_node(name, tab="  ", writer=write)

    def dump(self) -> None:
        """Write the files that the mode asks for."""
        if self.tracker_mode < 1:
            return
        with Path(self.dump_prefix + "_all.txt").open("w", encoding="utf-8") as file:
            self.print_all(_lines_to(file))
        if self.tracker_mode < 2:
            return
        names = self.tracked_nodes
        if self.tracker_mode > 2:
            names = [name for name, all_ in self.node_events.items() if len(all_) > 1]
        with Path(self.dump_prefix + "_nodes.txt").open("w", encoding="utf-8") as file:
            write = _lines_to(file)
            for name in names:
                write(f"===== Tracking node {name} =====")
                self.print_node(name, recursive=True, tab="|-", writer=write)
                write(f"===== End of tracking node {name} =====")


def _lines_to(file: TextIO) -> Writer:
    return lambda line: file.write(line + "\n")
