"""The gradients that the nodes of a listing make, watched while the backward runs.

Every statement makes nodes of autograd's graph, and torch counts these: those whose
numbers lie between the counts before and behind a statement are that statement's. A hook
behind such a node sees the gradients that it was given and those that it made. When the
second have a NaN and the first have none, the statement is the one to look at, whatever
else uses the same values.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
from torch.autograd.graph import Node
from torch.nn import Parameter

from fxls.listing import Listing
from fxls.rules import OnBreak, Rule
from fxls.runtime.checks.backward import Backward, Gradient, Harm, Made, harm_of
from fxls.runtime.checks.forward_run import ForwardRun
from fxls.runtime.checks.instrumented import InstrumentedCode
from fxls.runtime.checks.rule_break import RuleBreak, deal_with
from fxls.runtime.checks.verdict import (
    BARE,
    are_finite,
    is_ordinary,
    not_finite,
    tensors_of,
)
from fxls.runtime.faults import logging_faults
from fxls.runtime.torch_private import (
    autograd_node,
    is_dynamo_compiling,
    is_recording,
    nodes_of_autograd,
    number_of,
    sizes_read,
)

__all__ = ["Gradients"]


class _Values(Protocol):
    is_sound: bool


Hook = Callable[[Sequence[Gradient], Sequence[Gradient]], None]


class Gradients:
    """Finds the node whose backward makes NaN of gradients that are none.

    - Every value but the parameters is held, without its history, for as long as the
      history lives: the inputs of the node that is found are wanted.
    - A node has no hook where its backward hands on what it gets.
    """

    def __init__(
        self,
        path: Path,
        code: InstrumentedCode,
        listing: Callable[[], Listing | None],
        on_break: OnBreak,
    ) -> None:
        self._path = path
        self._code = code
        self._listing = listing
        self._on_break = on_break
        self._here = _Here()
        self._found: set[str] = set()
        self._is_over = False

    def begin(self, module: Any, call: int) -> None:
        """Let the values from now on be those of another run of a module's code."""
        here = self._here
        if is_recording():
            here.run = None
            return
        here.run = run = ForwardRun(module, call, self._code.statements)

        # One hook for all nodes; the run must not hold it, which would be a cycle.
        def look(made: Sequence[Gradient], given: Sequence[Gradient]) -> None:
            # Sums hand on what they got, and that was looked at where it was made.
            if not are_finite(made, given[0]):
                self._judge(run, made, given)

        def look_last(made: Sequence[Gradient], given: Sequence[Gradient]) -> None:
            if not are_finite(made, None):
                self._judge(run, made, given)

        here.look, here.look_last = look, look_last

    def asks(self, values: _Values) -> Callable[[str], bool]:
        """What the code calls behind a view; true to have it watched as other values.

        Autograd's nodes of views hand on what they get and have no hook, so it is enough
        to count them.
        """
        here = self._here

        def asks(name: str) -> bool:
            if is_dynamo_compiling():
                return False
            if not values.is_sound:
                return True
            run = here.run
            if run is None:
                return False
            now, span = nodes_of_autograd(), run.span
            if run.is_odd or now == span[1]:
                return True
            span[1] = now
            run.names.append(name)
            run.ends.append(now)
            return False

        return asks

    def watch(self, name: str, value: Any) -> None:
        """Look at what the backward of a node makes, when there will be one."""
        run = self._here.run
        if run is None:
            return  # somebody records, or nobody watched when the run began
        if not isinstance(value, torch.Tensor):
            self._watch_other(run, name, value)
            return
        run.is_odd |= name in self._code.feeding_views and not is_ordinary(value)
        if type(value) is Parameter and run.is_read_from_module(name):
            return
        # To ask a changed view for its node makes that node, so ask before counting.
        made_by = value.grad_fn
        now = nodes_of_autograd()
        # This runs for each value: attributes in place of calls save 6 % of a step with
        # nearly no arithmetic.
        span = run.span
        end = span[1]
        if now > end or torch.is_grad_enabled():
            # A change in place gives the value itself a history, in which hooks hold the
            # run; a class of the user's may have no such alias.
            is_plain = type(value) is torch.Tensor or value.requires_grad
            run.values[name] = value.data if is_plain else value
        if made_by is None:
            if now == end:
                if value.requires_grad:
                    run.leaves.setdefault(id(value), name)
                return
        elif not run.astray and run.spans[-1] is span:
            if now == end:
                run.name_parts(name, (value,))
                return
            if now == end + 1 and number_of(made_by) == end:
                span[1] = now
                run.names.append(name)
                run.ends.append(now)
                harm = harm_of(type(made_by))
                if (
                    harm is Harm.ALWAYS
                    or name in self._code.leaving
                    or (harm is not Harm.NEVER and self._may_sum(run, name, value))
                ):
                    self._hook(name, made_by)
                return
        self._claim(run, name, (value,), now)

    def _watch_other(self, run: ForwardRun, name: str, value: Any) -> None:
        """Look at what the backward makes of a value that is no tensor, but may hold
        some, and of what its statement changed in place.
        """
        if type(value) in BARE:
            run.sizes[name] = value
        if type(value) in BARE and not run.is_divided:
            if nodes_of_autograd() != run.end:
                self._claim(run, name, (), nodes_of_autograd())
            return
        tensors = tuple(tensors_of(value))
        if not tensors and type(value) in (tuple, list):
            run.sizes[name] = value
        nodes = [tensor.grad_fn for tensor in tensors]
        now = nodes_of_autograd()
        if (
            nodes
            and now == run.end + 1
            and not run.is_divided
            and name in self._code.handing_on
            and name not in self._code.leaving
            and all(node is nodes[0] for node in nodes)
        ):
            run.add(name, now)  # the parts of a tensor
            return
        self._claim(run, name, tensors, now)

    def _may_sum(self, run: ForwardRun, name: str, value: torch.Tensor) -> bool:
        """Whether the backward of a sum, or of a product, may add up or enlarge."""
        if name not in self._code.keeping_finite or value.is_complex():
            return True
        shape, dtype, values = value.shape, value.dtype, run.values
        for read in self._code.statements[name].reads:
            known = values.get(read)
            if known is None and (known := run.value_of(read)) is None:
                return True
            is_same = known.shape == shape and known.dtype == dtype
            if not is_same and known.is_floating_point():
                return True
        return False

    def stop(self) -> None:
        """Look at no gradient any more."""
        self._is_over = True

    def _claim(
        self, run: ForwardRun, name: str, tensors: Sequence[torch.Tensor], now: int
    ) -> None:
        """Hook all nodes that a statement made, and those of earlier ones that nothing
        led to until now: of what was changed in place behind somebody's back.
        """
        start = run.end
        inner = run.inner()
        if now > start:
            run.add(name, now)
        elif not run.astray and not inner:
            run.name_parts(name, tensors)
            return
        nodes = [tensor.grad_fn for tensor in tensors]
        found = self._walk(run, name, nodes, start, inner)
        if now > start and not found:
            nodes = _changed(self._code, name)
            found = self._walk(run, name, nodes, start, inner)
        if inner:
            found += sum(end - begin for begin, end in inner)
        if found < now - start:
            run.note_astray(start, now)
        run.name_parts(name, tensors)

    def _walk(
        self,
        run: ForwardRun,
        name: str,
        roots: Iterable[Node | None],
        start: int,
        inner: Sequence[tuple[int, int]],
    ) -> int:
        """Hook what is reachable and nobody else's; how much of it is new."""
        waiting: list[tuple[Node | None, Node | None]] = [
            (root, None) for root in roots
        ]
        first, end, walked = run.begins if run.astray else start, run.end, run.walked
        found = 0
        while waiting:
            node, user = waiting.pop()
            if node is None:
                continue
            number = number_of(node)
            if not first <= number < end or number in walked:
                continue
            if number < start and not run.is_astray(number):
                continue
            walked.add(number)
            found += number >= start
            if not inner or not any(begin <= number < end for begin, end in inner):
                harm = harm_of(type(node))
                by = name if number >= start else run.statement_of(number)
                is_idle = harm is Harm.NEVER or (
                    harm is Harm.WITH_OTHER_SHAPES and _is_idle(node, user)
                )
                if not is_idle or by in self._code.leaving:
                    self._hook(by, node)
            # A copy has the sizes of what it is read as.
            reader = user if type(node).__name__ == "CloneBackward0" else node
            for to, _ in node.next_functions:
                waiting.append((to, reader))
        return found

    def _hook(self, name: str, node: Any) -> None:
        """Look at what one node of autograd makes."""
        here, leaves = self._here, name in self._code.leaving
        node.register_hook(here.look_last if leaves else here.look)

    def _judge(
        self, run: ForwardRun, made: Sequence[Gradient], given: Sequence[Gradient]
    ) -> None:
        if self._is_over or is_dynamo_compiling():
            return
        error = None
        with logging_faults("a gradient cannot be judged"):
            error = self._found_in(run, Made(autograd_node(), made, given))
        if error is not None:
            raise error

    def _found_in(self, run: ForwardRun, made: Made) -> Exception | None:
        backward = Backward.current()
        name = run.statement_of(made.number)
        was_bad = backward.has_nan
        says = backward.note(made)
        for target in backward.reached(run, made.infinite()):
            if target.is_leaf or run.owns(target.number):
                backward.attend(
                    target, lambda sum_, to=target: self._summed(run, name, to, sum_)
                )
        if not made.nan or not says:
            return None
        if not made.is_given_nan:
            index = made.nan[0]
            return self._find(run, name, made, index)
        gradient = made.given[made.given_nan[0]]
        if was_bad:
            return None
        said = not_finite(Rule.GRAD_NAN, gradient)
        return self._report(
            *(run, name, f"the gradient that comes to it from outside is bad: {said}"),
            made.given_as(name),
        )

    def _summed(
        self, run: ForwardRun, user: str, target: Any, gradient: torch.Tensor
    ) -> Exception | None:
        """A NaN that is the sum of infinite gradients, of what is not hooked."""
        said = not_finite(Rule.GRAD_NAN, gradient)
        if said is None or self._is_over:
            return None
        if run.owns(target.number):
            name = run.statement_of(target.number)
            return self._report(
                *(run, name, f"{_SUMMED}: {said}", {f"grad_{name}": gradient})
            )
        name = run.name_of(target)
        said = (
            f"it gives {name} an infinite gradient, and the sum with those of others is"
            f" NaN: {said}"
        )
        return self._report(run, user, said, {_variable(name): gradient})

    def _find(
        self, run: ForwardRun, name: str, made: Made, index: int
    ) -> Exception | None:
        gradient = made.made[index]
        said = not_finite(Rule.GRAD_NAN, gradient)
        target = made.target(index)
        outputs = made.given_as(name) if run.is_last(name, made.number) else {}
        inside = run.owns(target.number) and run.statement_of(target.number) == name
        if inside:
            said = (
                f"its backward, in {made.node.name()}, makes a gradient of which {said}"
            )
        else:
            to = run.name_of(target)
            said = f"its backward makes a gradient of {to}, of which {said}"
            outputs |= {_variable(to): gradient}
        return self._report(run, name, said, outputs)

    def _report(
        self, run: ForwardRun, name: str, said: str, gradients: dict[str, Any]
    ) -> Exception | None:
        if name in self._found:
            return None
        self._found.add(name)
        statement = self._code.statements[name]
        known = {one: run.value_of(one) for one in (*statement.reads, name)}
        inputs = {
            read: known[read] for read in statement.reads if known[read] is not None
        }
        outputs = {} if known[name] is None else {name: known[name]}
        rule_break = RuleBreak(
            *(Rule.GRAD_NAN, self._path, name, statement.line, said, inputs),
            {**outputs, **gradients},
            run.call,
        )
        return _in_frame(rule_break, self._listing, self._on_break)


def _is_idle(node: Any, user: Any) -> bool:
    """Whether a node only expands, and does not even that, as those that `matmul` makes
    for two batches of one size: its result, which is read as another shape, has the
    sizes of what it got.
    """
    return (
        type(node).__name__ == "ExpandBackward0"
        and type(user).__name__ in {"ViewBackward0", "UnsafeViewBackward0"}
        and sizes_read(node) == sizes_read(user) is not None
    )


class _Here(threading.local):
    """What is under way in one thread."""

    run: ForwardRun | None = None
    look: Hook
    """Looks at what a node makes."""
    look_last: Hook
    """The same for a node that gets gradients from outside."""


_SUMMED = "the gradients that its users give it are infinite, and their sum is NaN"


def _variable(name: str) -> str:
    return f"grad_{name.replace('.', '_')}"


def _changed(code: InstrumentedCode, name: str) -> list[Any]:
    """The nodes behind the values that a statement reads, and may have changed."""
    here = inspect.currentframe()
    while here is not None and here.f_code.co_filename == __file__:
        here = here.f_back
    here = here and here.f_back  # the check that the listing called
    if here is None:
        return []
    read = code.statements[name].reads if name in code.statements else ()
    values = [here.f_locals.get(one) for one in read]
    return [tensor.grad_fn for value in values for tensor in tensors_of(value)]


def _in_frame(
    rule_break: RuleBreak, listing: Callable[[], Listing | None], on_break: OnBreak
) -> Exception | None:
    """Deal with it in a frame on the node's line, which has the values as locals.

    The frame of the forward is gone by then.
    """
    error: list[Exception | None] = []

    def stop(frame: FrameType) -> None:
        error.append(deal_with(rule_break, listing, frame, on_break))

    values = {**rule_break.inputs, **rule_break.outputs}
    _frame(rule_break, values, stop)(**values)
    return error[0]


def _frame(
    rule_break: RuleBreak, names: Iterable[str], stop: Callable[[FrameType], None]
) -> Callable[..., None]:
    """A function of these parameters that calls `stop` from the line of the node."""
    head = f"def backward({', '.join(names)}): {_STOP}({_HERE}())"
    text = "\n" * (rule_break.line - 1) + head
    code = compile(text, str(rule_break.path), "exec", dont_inherit=True)
    values: dict[str, Any] = {_STOP: stop, _HERE: inspect.currentframe}
    exec(code, values)
    made = values["backward"]
    made.__code__ = made.__code__.replace(co_name=f"backward of {rule_break.node}")
    return made


_STOP, _HERE = "__fxls_stop__", "__fxls_here__"
