"""What tracing cannot record: one class for each reason, which is its page of advice.

Each is a `TraceError`, and of the type that `torch.fx` raises as well, so that programs
which catch that one go on working. The text starts with `torch.fx`'s sentence; behind it
stand the place in the source and what would make the code traceable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fxls.engine.origins import resolve as origin
from fxls.engine.origins.resolve import RawOrigin

if TYPE_CHECKING:
    from fxls.listing import Origin, Place

__all__ = [
    "ConcreteArgumentsError",
    "ControlFlowError",
    "DictKeyError",
    "ForeignModuleError",
    "ForeignParameterError",
    "HigherOrderArgumentError",
    "IterationError",
    "KeptValueError",
    "KeywordExpansionError",
    "LengthError",
    "LoopError",
    "MembershipError",
    "MixedTracersError",
    "MutationError",
    "RefusedValueError",
    "SelfExpansionError",
    "StarredArgumentError",
    "StarredTargetError",
    "TraceError",
    "UnsupportedArgumentError",
    "ValueNeededError",
]


class TraceError(ValueError):
    """The program did something with a traced value that a graph cannot express.

    - `origin` is the expression that did it; None when no source frame was running.
    - `advice` says what would make it traceable; empty when there is none to give.

    A tracer of one's own may raise it with any text, as it may in `torch.fx`.
    """

    advice: str = ""
    _text: ClassVar[str] = ""

    def __init__(
        self, *message: object, frames: RawOrigin | None = None, advice: str = ""
    ) -> None:
        super().__init__(*(message or filter(None, [self._text])))
        self._frames = frames
        if advice:
            self.advice = advice

    @property
    def message(self) -> str:
        """What happened, without the place and the advice."""
        return super().__str__()

    @property
    def origin(self) -> Origin | None:
        """The expression that cannot be traced, and the calls that led to it."""
        return origin.resolve(self._frames)

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.message, *self.explanation()]))

    def explanation(self) -> list[str]:
        """The place in the source and the advice, as lines."""
        lines: list[str] = []
        found = self.origin
        if found is not None:
            lines += _shown(found.places[0])
        if self.advice:
            lines.append(self.advice)
        return lines


class ControlFlowError(TraceError):
    """A branch depends on a value that exists only when the model runs.

    >>> def f(x):
    ...     return x if x.sum() > 0 else -x

    Tracing runs the function once, so the graph would hold one of the two branches.
    Write the choice as a tensor operation, which is recorded, or decide by a value that
    is known while tracing:

    >>> def f(x):
    ...     return torch.where(x.sum() > 0, x, -x)

    Sizes are known where `trace_by_example` has inputs to look at, so that a branch on
    one is taken as for them, and the graph asserts it.
    An ``assert`` is recorded as ``torch._assert(condition, text)``. When the value is an argument that is the same in every call, fix it with
    ``concrete_args={"x": value}``. A function that must keep the branch is recorded as
    one call with ``wrap``.
    """

    _text = "symbolically traced variables cannot be used as inputs to control flow"
    advice = (
        "Use torch.where for a choice between tensors, concrete_args for an argument"
        " that never changes, or wrap() to record the function as one call."
    )


OF_AN_ASSERT = (
    "Use torch._assert(condition, text), which is recorded, or set trace_asserts = True"
    " on your tracer."
)
"""The advice of a ControlFlowError for a branch that an assert statement is."""


class IterationError(TraceError):
    """A traced value was iterated, and nobody knows how many elements it has.

    >>> def f(x):
    ...     return sum(list(x))

    Index it, or unpack it into as many names as it has elements:

    >>> def f(x):
    ...     a, b = x
    ...     return a + b
    """

    _text = (
        "Proxy object cannot be iterated. Nobody knows how many elements it has before"
        " the model runs"
    )
    advice = (
        "Unpack it into a fixed number of names (a, b = x), index it in a loop over a"
        " plain range, or wrap() the function that iterates."
    )


class LoopError(IterationError):
    """A ``for`` loop or a comprehension runs over a traced value.

    >>> def f(x):
    ...     for row in x:
    ...         x = x + row
    ...     return x

    Loop over a number that is known while tracing, such as an attribute of the module:

    >>> def f(x):
    ...     for i in range(4):
    ...         x = x + x[i]
    ...     return x
    """

    advice = (
        "Loop over a range whose length is known (for i in range(self.n): x[i]), or"
        " wrap() the function that holds the loop."
    )


class StarredArgumentError(IterationError):
    """A traced value was spread over the arguments of a call, or into a list.

    >>> def f(x):
    ...     return torch.add(*x)

    Unpack it into names first:

    >>> def f(x):
    ...     a, b = x
    ...     return torch.add(a, b)
    """

    advice = "Unpack it first (a, b = x), then pass the names."


class KeywordExpansionError(IterationError):
    """A traced value was spread over the keyword arguments of a call.

    >>> def f(options):
    ...     return torch.zeros(**options)

    Read each keyword by its name (``options["size"]``), or let ``concrete_args`` say
    which keys the dict has: ``concrete_args={"options": {"size": PH}}``.
    """

    advice = (
        "Read the keys one by one (options['size']), or give the dict's keys with"
        " concrete_args={'options': {'size': PH}}."
    )


class StarredTargetError(IterationError):
    """A traced value was unpacked into a starred name, so its length is not known.

    >>> def f(x):
    ...     first, *rest = x
    ...     return first

    Unpack into a fixed number of names, or slice: ``first, rest = x[0], x[1:]``.
    """

    advice = "Slice instead: first, rest = x[0], x[1:]."


class MembershipError(IterationError):
    """``in`` asks a traced value for its elements.

    >>> def f(x):
    ...     return 1 in x

    Compare and reduce, which is recorded: ``(x == 1).any()``.

    The other way round, ``x.shape[0] in {1, 2}``, Python asks the set, which compares
    hashes alone and finds nothing: tracing goes on as if it were false, in ``torch.fx``
    as well. A list or a tuple compares, and is refused like any other condition.
    """

    advice = "Compare and reduce instead: (x == value).any()."


class LengthError(TraceError, RuntimeError):
    """``len`` was called on a traced value, and Python needs a number at once.

    >>> def f(x):
    ...     return x / len(x)

    Use ``x.size(0)``, which is recorded, or record ``len`` itself by saying
    ``wrap("len")`` at the top of the module.
    """

    _text = (
        "'len' is not supported in symbolic tracing by default: Python insists on a"
        " number, which nobody knows yet"
    )
    advice = "Use x.size(0), or say wrap('len') at the top level of the module."


class ValueNeededError(TraceError, TypeError):
    """Python, or a C function, needs a plain value where the value is a traced one.

    >>> def f(x):
    ...     return torch.zeros(int(x.sum()))

    The text begins with Python's own sentence. Keep the value a tensor, fix it with
    ``concrete_args``, or ``wrap`` the function that needs the number. Functions such as
    ``torch.ones`` take sizes that are traced as one tuple: ``torch.ones((n, 2))``. A
    part of a tensor whose end is traced is ``torch.narrow(tensor, 0, 0, n)``.
    """

    advice = (
        "The value is known only when the model runs. Keep it a tensor, fix an argument"
        " with concrete_args, or wrap() the function that needs the value."
    )


class RefusedValueError(TraceError):
    """A function refused a traced value with an error of another kind.

    >>> def f(x):
    ...     return torch.vmap(torch.sin)(x)

    The error is of the kind that the function raised too (here a ``ValueError``), and
    its text begins with that of the function. ``wrap`` a function around the call, so
    that it is recorded as one node.
    """

    advice = (
        "The function needs a value that is known only when the model runs: wrap() a"
        " function around the call, so that it is recorded as one node."
    )


class DictKeyError(TraceError, RuntimeError):
    """A traced value is a key of a dict that is an argument or the result.

    >>> def f(x):
    ...     return {x: 1}

    In a graph the keys of a dict are plain values; a traced value may be a value of it.
    """

    advice = "Use plain keys, and traced values as the dict's values."


class UnsupportedArgumentError(TraceError, NotImplementedError):
    """A call has an argument that generated code could not write down.

    >>> class Options: ...
    >>> def f(x):
    ...     return scale(x, Options())  # scale is wrapped

    Arguments are tensors, numbers, strings, dtypes, devices, enums, slices, dataclasses
    and tuples, lists and dicts of these. An object of your own class says how
    it is written with the method ``__fx_create_arg__(self, tracer)``.
    """

    advice = (
        "Pass its parts, which can be written down, or give its class"
        " __fx_create_arg__(self, tracer), which returns a node."
    )


class ForeignModuleError(TraceError, NameError):
    """A module was called that is no submodule of the one that is traced.

    >>> helper = torch.nn.Linear(2, 2)
    >>> def f(x):
    ...     return helper(x)

    Trace a module that has it as an attribute: generated code calls it through
    ``self``. A list of modules must be a ``torch.nn.ModuleList``.
    """

    _text = "module is not installed as a submodule"
    advice = (
        "Assign it to an attribute of the traced module (a ModuleList for several), so"
        " that the generated code can reach it through self."
    )


class ForeignParameterError(TraceError, NameError):
    """A parameter was used that the traced module does not have.

    >>> scale = torch.nn.Parameter(torch.ones(2))
    >>> def f(x):
    ...     return x * scale

    Assign it to an attribute of the traced module.
    """

    _text = "parameter is not a member of this module"
    advice = "Assign the parameter to an attribute of the traced module."


class MixedTracersError(TraceError, RuntimeError):
    """One call has values of two traces.

    A traced value belongs to one graph. One of these escaped from its trace,
    through a global or an attribute. Keep each value in its own trace.
    """

    advice = "A traced value cannot leave its trace: pass it as an argument instead."


class KeptValueError(MixedTracersError):
    """A value of an earlier trace is used in this one.

    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         if "scale" not in self.cache:
    ...             self.cache["scale"] = self.weight * 2
    ...         return x + self.cache["scale"]

    A traced value belongs to the graph of its trace, and this module keeps one for the
    next call: in an attribute, a list, a dict or a global. The message says where the
    value was made and, when a module keeps it, in which attribute. Compute it in each
    call, or empty the cache before the module is traced again.
    """

    advice = (
        "Compute the value in each call, or empty what keeps it before the next trace."
    )

    def __init__(
        self, *message: object, frames: RawOrigin | None, made: Origin | None
    ) -> None:
        super().__init__(*message, frames=frames)
        self.made = made
        """The expression of the earlier trace that the value is of."""

    def explanation(self) -> list[str]:
        """The place of the use, the place where the value was made, and the advice."""
        lines = super().explanation()
        if self.made is not None:
            lines[-1:-1] = ["The value was made", *_shown(self.made.places[0])]
        return lines


class SelfExpansionError(TraceError, RuntimeError):
    """The traced method takes ``self`` as part of ``*args``.

    >>> class Net(torch.nn.Module):
    ...     def forward(*args):
    ...         return args[1]

    Name it: ``def forward(self, *args)``.
    """

    _text = "``self`` argument cannot be part of *args expansion!"
    advice = "Name it: def forward(self, *args)."


class ConcreteArgumentsError(TraceError, RuntimeError):
    """``concrete_args`` is a tuple whose length is not the number of parameters.

    Give one value (or ``PH``) for each parameter, or a dict by name.
    """

    advice = "Give one value, or PH, for each parameter, or a dict of some by name."


class HigherOrderArgumentError(TraceError, RuntimeError):
    """A higher-order operator (``cond``, ``map`` ...) got a function to call.

    Symbolic tracing does not look into the functions that such an operator is given;
    capture the model with ``torch.export`` or ``make_fx``.
    """

    advice = "Capture the model with torch.export or make_fx."


class MutationError(TraceError, RuntimeError):
    """An operator changes its argument, and the tracer checks for that.

    >>> def f(x):
    ...     return torch.relu_(x)

    A tracer with ``check_mutable_operations = True`` refuses these. Use the operator
    without the trailing underscore.
    """

    advice = "Use the operator that returns a new tensor."


def _shown(place: Place) -> list[str]:
    """A place as ``file:line:column``, with its line and carets under the expression."""
    start, end = place.span.start, place.span.end
    lines = [f"  at {place.path}:{start.line + 1}:{start.column + 1}"]
    text = origin.source_line(place)
    if text:
        stop = end.column if end.line == start.line else len(text)
        gap = "".join(c if c == "\t" else " " for c in text[: start.column])
        lines.append(f"    {text}")
        lines.append(f"    {gap}{'^' * max(1, stop - start.column)}")
    return lines
