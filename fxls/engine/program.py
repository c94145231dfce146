"""A graph as a list of steps over numbered registers: what `Interpreter` runs.

A step is a function of the registers that gives the value of its node. Which registers
it reads is found out when the program is made, once for each state of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

from fxls.engine.arguments import Argument, Reference, map_references, references
from fxls.engine.last_uses import last_uses
from fxls.engine.node_list import ordered

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.node import Node

__all__ = ["Program", "Step", "program_of"]

Registers: TypeAlias = list[Any]

OWNER = 0
"""The register of the interpreter."""


class Step(NamedTuple):
    """What to do for one node."""

    node: Node
    run: Callable[[Registers], Any]
    register: int
    """Where the value goes."""
    frees: tuple[int, ...]
    """The registers that nobody reads behind this step."""


class Program(NamedTuple):
    """The steps up to the output, and the registers as they are at the start."""

    steps: list[Step]
    registers: Registers
    returns: bool
    """Whether the last step is an output, whose value is the result."""


def program_of(graph: Graph) -> Program:
    """The program of a graph as it is now."""
    state = graph.state
    known = _programs.get(graph)
    if known is None or known[0] != state:
        known = _programs[graph] = (state, _program(graph))
    return known[1]


_programs: WeakKeyDictionary[Graph, tuple[tuple[int, int], Program]] = (
    WeakKeyDictionary()
)


class _Writer:
    """Makes the steps of one graph."""

    def __init__(self) -> None:
        self.registers: Registers = [None]
        self._of: dict[Node, int] = {}

    def register(self, value: Any = None) -> int:
        """A new register, and its value at the start."""
        self.registers.append(value)
        return len(self.registers) - 1

    def bind(self, node: Node) -> int:
        """The register that the node's value goes to."""
        made = self._of[node] = self.register()
        return made

    def reads(self, node: Node, user: Node) -> int:
        """The register of a node that another one uses."""
        at = self._of.get(node)
        if at is None:
            raise RuntimeError(
                f"Node {user} referenced nonexistent value {node}: it is not in front of"
                " it in the graph. Run Graph.lint() to diagnose such issues"
            )
        return at

    def step(self, node: Node) -> Callable[[Registers], Any]:
        op = node._op
        target = cast("Any", node._target)
        if op == "call_function":
            return self._call(target, node)
        if op == "call_method":
            return self._call(_method(target), node)
        if op == "call_module":
            call = self._arguments(node)

            def call_module(r: Registers) -> Any:
                args, kwargs = call(r)
                return r[OWNER].fetch_attr(target)(*args, **kwargs)

            return call_module
        if op == "get_attr":
            return lambda r: r[OWNER].fetch_attr(target)
        if op == "placeholder":
            args = node._args
            return lambda r: r[OWNER].placeholder(target, args, {})
        assert op == "output", f"{node}: cannot run opcode {op!r}"
        call = self._arguments(node)
        return lambda r: call(r)[0][0]

    def _call(
        self, function: Callable[..., Any], node: Node
    ) -> Callable[[Registers], Any]:
        """A call of a function, the quickest way that its arguments allow."""
        args = node._args
        if node._kwargs or not args or not all(map(_is_flat, args)):
            call = self._arguments(node)

            def call_with_any(r: Registers) -> Any:
                args, kwargs = call(r)
                return function(*args, **kwargs)

            return call_with_any
        at = [self._flat(a, node) for a in args]
        if len(at) == 1:
            (a,) = at
            return lambda r: function(r[a])
        if len(at) == 2:
            a, b = at
            return lambda r: function(r[a], r[b])
        get = itemgetter(*at)
        return lambda r: function(*get(r))

    def _flat(self, arg: Argument, user: Node) -> int:
        if isinstance(arg, Reference):
            return self.reads(cast("Node", arg), user)
        return self.register(arg)

    def _arguments(
        self, node: Node
    ) -> Callable[[Registers], tuple[tuple[Any, ...], dict[str, Any]]]:
        """What gives the values of any arguments."""
        args, kwargs = node._args, node._kwargs
        of = {used: self.reads(used, node) for used in references(args, kwargs)}
        if not kwargs:
            return lambda r: (map_references(args, lambda n: r[of[n]]), {})
        return lambda r: (
            map_references(args, lambda n: r[of[n]]),
            map_references(kwargs, lambda n: r[of[n]]),
        )


def _program(graph: Graph) -> Program:
    frees = last_uses(ordered(graph))
    writer = _Writer()
    steps: list[Step] = []
    for node in _up_to_output(graph):
        run = writer.step(node)
        register = writer.bind(node)
        freed = tuple([writer.reads(used, node) for used in frees.get(node, ())])
        steps.append(Step(node, run, register, freed))
    returns = bool(steps) and steps[-1].node._op == "output"
    return Program(steps, writer.registers, returns)


def _up_to_output(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        if node._op == "output":
            return


def _method(name: str) -> Callable[..., Any]:
    def call_method(value: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(value, name)(*args, **kwargs)

    return call_method


def _is_flat(arg: Argument) -> bool:
    return isinstance(arg, Reference) or type(arg) in _FLAT


_FLAT = frozenset({int, float, str, bool, type(None)})
