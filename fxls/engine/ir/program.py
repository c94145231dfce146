"""A graph as a list of steps over numbered registers: what `Interpreter` runs.

A step is a function of the registers that gives the value of its node. Which registers
it reads is found out when the program is made, once for each state of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from fxls.engine.ir.arguments import (
    EMPTY_KWARGS,
    Argument,
    Reference,
    map_references,
    references,
)
from fxls.engine.ir.last_uses import last_uses

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["Program", "Step", "program_of"]

Registers: TypeAlias = list[Any]

INTERPRETER = 0
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
    known = graph._program
    if known is None or known[0] != state:
        # Kept by the graph, which the nodes in the steps refer to.
        known = graph._program = (state, _program(graph))
    return known[1]


class _NotYetThereError(Exception):
    """A node uses another one that is not in front of it, which is the argument."""


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

    def reads(self, node: Node) -> int:
        """The register of a node that another one uses; raises `_NotYetThereError`."""
        at = self._of.get(node)
        if at is None:
            raise _NotYetThereError(node)
        return at

    def step(self, node: Node) -> Callable[[Registers], Any]:
        op = node._op
        target = cast("Any", node._target)
        if op == "call_function":
            return self._call_function(target, node)
        if op == "call_method":
            return self._call_method(target, node)
        if op == "call_module":
            return self._call_module(target, node)
        if op == "get_attr":
            return lambda r: r[INTERPRETER].fetch_attr(target)
        if op == "placeholder":
            args = node._args
            return lambda r: r[INTERPRETER].placeholder(target, args, {})
        assert op == "output", f"{node}: cannot run opcode {op!r}"
        (result,) = self._arguments(node)
        return result

    # For up to three arguments a call is written out: to gather them in a tuple first
    # takes as long as the step itself.

    def _call_function(
        self, function: Callable[..., Any], node: Node
    ) -> Callable[[Registers], Any]:
        at = self._registers(node)
        if at is None:
            args, kwargs = self._gathered(node)
            return lambda r: function(*args(r), **kwargs(r))
        if len(at) == 1:
            (a,) = at
            return lambda r: function(r[a])
        if len(at) == 2:
            a, b = at
            return lambda r: function(r[a], r[b])
        if len(at) == 3:
            a, b, c = at
            return lambda r: function(r[a], r[b], r[c])
        get = itemgetter(*at)
        return lambda r: function(*get(r))

    def _call_method(self, name: str, node: Node) -> Callable[[Registers], Any]:
        at = self._registers(node)
        if at is None:
            args, kwargs = self._gathered(node)

            def call_with_any(r: Registers) -> Any:
                value, *others = args(r)
                return getattr(value, name)(*others, **kwargs(r))

            return call_with_any
        value, *others = at
        if not others:
            return lambda r: getattr(r[value], name)()
        if len(others) == 1:
            (a,) = others
            return lambda r: getattr(r[value], name)(r[a])
        get = itemgetter(*others)
        return lambda r: getattr(r[value], name)(*get(r))

    def _call_module(self, path: str, node: Node) -> Callable[[Registers], Any]:
        at = self._registers(node)
        if at is not None and len(at) == 1:
            (a,) = at
            return lambda r: r[INTERPRETER].fetch_attr(path)(r[a])
        args, kwargs = self._gathered(node)
        return lambda r: r[INTERPRETER].fetch_attr(path)(*args(r), **kwargs(r))

    def _registers(self, node: Node) -> list[int] | None:
        """Where the arguments are; None when they are not in registers, each in one."""
        args = node._args
        if node._kwargs or not args:
            return None
        if any(not _is_flat(a) and references((a,), EMPTY_KWARGS) for a in args):
            return None
        return [self._flat(a, node) for a in args]

    def _flat(self, arg: Argument, user: Node) -> int:
        if isinstance(arg, Reference):
            return self.reads(cast("Node", arg))
        return self.register(arg)

    def _gathered(
        self, node: Node
    ) -> tuple[
        Callable[[Registers], Sequence[Any]], Callable[[Registers], dict[str, Any]]
    ]:
        """What gives the values of any arguments: those by position, those by name."""
        args = self._arguments(node)
        kwargs = node._kwargs
        if not references((), kwargs):
            constant = dict(kwargs)
            return lambda r: [value(r) for value in args], lambda _: constant
        named = {name: self._value(a, node) for name, a in kwargs.items()}
        return (
            lambda r: [value(r) for value in args],
            lambda r: {name: value(r) for name, value in named.items()},
        )

    def _arguments(self, node: Node) -> list[Callable[[Registers], Any]]:
        return [self._value(a, node) for a in node._args]

    def _value(self, arg: Argument, user: Node) -> Callable[[Registers], Any]:
        """What gives the value of an argument of any kind."""
        if _is_flat_tuple(arg) and len(arg) > 1:
            return itemgetter(*[self._flat(a, user) for a in arg])
        of = {used: self.reads(used) for used in references((arg,), EMPTY_KWARGS)}
        if _is_flat(arg) or not of:
            return itemgetter(self._flat(arg, user))
        return lambda r: map_references(arg, lambda n: r[of[n]])


def _program(graph: Graph) -> Program:
    frees = last_uses(graph)
    writer = _Writer()
    steps: list[Step] = []
    for node in _up_to_output(graph):
        try:
            run = writer.step(node)
            if node._op in ("placeholder", "get_attr"):
                # Its step needs none of its arguments, which have to be there all the same.
                for used in references(node._args, node._kwargs):
                    writer.reads(used)
            freed = tuple([writer.reads(used) for used in frees.get(node, ())])
        except _NotYetThereError as error:
            # What is in front of it runs first, and may raise something else.
            refuse = _refusing(node, error.args[0])
            steps.append(Step(node, refuse, writer.bind(node), ()))
            return Program(steps, writer.registers, returns=False)
        register = writer.bind(node)
        steps.append(Step(node, run, register, freed))
    returns = bool(steps) and steps[-1].node._op == "output"
    return Program(steps, writer.registers, returns)


def _refusing(user: Node, used: Node) -> Callable[[Registers], Any]:
    def refuse(_registers: Registers) -> Any:
        raise RuntimeError(
            f"Node {user} referenced nonexistent value {used}: it is not in front of"
            " it in the graph. Run Graph.lint() to diagnose such issues"
        )

    return refuse


def _up_to_output(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        if node._op == "output":
            return


def _is_flat_tuple(arg: Argument) -> bool:
    return type(arg) is tuple and all(map(_is_flat, cast("Sequence[Argument]", arg)))


def _is_flat(arg: Argument) -> bool:
    return isinstance(arg, Reference) or type(arg) in _FLAT


_FLAT = frozenset({int, float, str, bool, type(None)})
