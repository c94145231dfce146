"""The code that inductor writes for a graph: a listing that runs, whose nodes are kernels.

Inductor says what a kernel computes where it writes the comment above the call. Its own
record of that needs a setting, which is a part of the keys of its caches; here nothing
is set. What was written before, and comes from a cache, is known from the store.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, MutableMapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

from fxls.engine.module.compile import pin
from fxls.installed_torch import private
from fxls.listing import (
    KERNELS,
    Identity,
    Listing,
    Parent,
    Plain,
    Tensor,
    ToClass,
    ToParent,
    Value,
)
from fxls.record import RevisionName
from fxls.record.kernel_listing import (
    Buffer,
    Computed,
    Generated,
    KernelListing,
)
from fxls.record.wrapper_text import WrapperText, read
from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.inductor.kernel_times import KernelTimes
from fxls.runtime.listings.head import Leading, Words, head_of
from fxls.runtime.listings.module_names import importable_name
from fxls.runtime.listings.rank import rank
from fxls.runtime.listings.value_facts import value_of
from fxls.runtime.producers.capture import Capture
from fxls.runtime.producers.compiled_calls import unwritten
from fxls.runtime.producers.compiler_steps import direction_of
from fxls.runtime.producers.deferred import DeferredWork
from fxls.runtime.producers.steps import Step
from fxls.runtime.producers.torch_errors import explain_errors_in
from fxls.runtime.torch_private import is_view
from fxls.store import Store, StoreError

__all__ = ["InductorCode"]

_CODE = "the code that inductor writes is no listing"
_CACHED = "code of inductor's from a cache is no listing"
_COMPUTES = "listings of inductor's code do not say what {} compute"

_DIRECTIONS = ("forward", "backward")
_MOST = 32
"""So many revisions are looked through for code that came from a cache."""

_Stage = tuple[str, ...]


class InductorCode:
    """What makes listings of inductor's code, by its hooks."""

    def __init__(
        self,
        store: Store,
        codes: MutableMapping[Path, CodeType],
        breakpoints: Breakpoints,
        later: DeferredWork,
        step: Callable[[_Stage], Step | None],
        times: KernelTimes | None = None,
    ) -> None:
        """`codes` are those that live, by the paths of their listings; `step` gives that
        of a stage of the compilation that runs. Calls are measured where `times` is.
        """
        self._store = store
        self._codes = codes
        self._breakpoints = breakpoints
        self._later = later
        self._step = step
        self._times = times
        self._computed: weakref.WeakKeyDictionary[Any, list[Computed]] = (
            weakref.WeakKeyDictionary()
        )
        """By the graph that inductor lowers, the calls in the order of the code."""

    def hooks(self) -> tuple[Hook, ...]:
        """Where inductor says what a kernel computes, and where its code is loaded."""
        return (
            *(
                Hook(
                    f"torch._inductor.{module}",
                    without := _COMPUTES.format(whose),
                    {f"{kind}.codegen_comment": around(watch, without)},
                )
                for module, kind, whose, watch in (
                    *((*one, self._scheduled) for one in _WRITERS),
                    ("ir", "ExternKernel", "kernels of libraries", self._extern),
                )
            ),
            Hook(
                "torch._inductor.graph",
                _CODE,
                {"GraphLowering._compile_to_module_lines": around(self._load, _CODE)},
            ),
            Hook(
                "torch._inductor.output_code",
                _CACHED,
                {
                    "CompiledFxGraph.after_deserialization": around(
                        self._load_again, _CACHED
                    )
                },
            ),
        )

    # -- what kernels compute ----------------------------------------------------

    def _scheduled(
        self, _scheduling: Any, /, node_schedule: Any, kernel_name: Any = None
    ) -> Generator[None, Any, Any]:
        with logging_faults(_COMPUTES.format("kernels")):
            nodes = [one for one in node_schedule if getattr(one, "node", None)]
            if kernel_name:
                self._note(kernel_name, *_of_schedule(nodes))
        return (yield)

    def _extern(
        self, kernel: Any, /, wrapper: Any, kernel_name: Any = None
    ) -> Generator[None, Any, Any]:
        with logging_faults(_COMPUTES.format("kernels")):
            name = kernel_name or kernel.try_get_kernel_name()
            if name:
                self._note(name, *_of_extern(kernel))
        return (yield)

    def _note(
        self, name: str, nodes: Iterable[str], reads: set[str], writes: set[str]
    ) -> None:
        virtualized: Any = private("torch._inductor.virtualized:V", _CODE)
        calls = self._computed.setdefault(virtualized.graph, [])
        found = tuple(dict.fromkeys(nodes))
        calls.append(
            Computed(name, len(calls) + 1, found, frozenset(reads), frozenset(writes))
        )

    # -- the code ----------------------------------------------------------------

    def _load(self, lowering: Any, /, wrapper_code: Any) -> Generator[None, Any, Any]:
        module = yield
        with logging_faults(_CODE):
            step = self._step((direction_of(lowering.module), KERNELS))
            wrapper = None if step is None else read(wrapper_code.value)
            if step is not None and wrapper is not None:
                calls = self._computed.pop(lowering, [])
                generated = _generated(lowering, calls)
                made = _made(step.capture, wrapper_code.value)
                self._publish(made, wrapper, generated, step.capture)
                self._run(made.identity, made.text, made.above, module.__dict__)
                module.call = self._measured(made, module.call, lowering)
        return module

    def _publish(
        self,
        made: KernelListing,
        wrapper: WrapperText,
        generated: Generated,
        capture: Capture,
    ) -> None:
        """Write the text now, and the facts behind those of the graph before it."""
        path = self._store.write_text(made.identity.class_name, made.text)

        def write() -> None:
            with logging_faults("a listing of inductor's code has no facts"):
                graph = self._graph(capture.parents[:1])
                parents = capture.parents
                listing = made.listing(wrapper, generated, graph, parents)
                self._store.materialize(listing)

        self._later.add((path, made.identity), write)

    def _graph(self, parents: tuple[Parent, ...]) -> Listing | None:
        """The listing of the graph that the code is of; its nodes have the same names."""
        for parent in parents:
            if not parent.identity.stage.endswith("post-grad"):
                continue
            for listing in self._store.instances(self._store.root / parent.file):
                if listing.identity == parent.identity:
                    return listing
        return None

    def _run(
        self, identity: Identity, text: str, above: int, values: dict[str, Any]
    ) -> None:
        """Let the functions of a module of inductor's run as those of the listing, in
        which so many lines stand above them.
        """
        path = self._store.path_of(identity.class_name, text)
        pin(str(path), text)
        for function in _functions(values):
            function.__code__ = _under(function.__code__, str(path), above)
            if function.__name__ == "call":
                self._codes[path] = function.__code__
        explain_errors_in(path, lambda: self._read(path))
        self._breakpoints.materialized(path)

    def _read(self, path: Path) -> Listing | None:
        self._later.finish()
        return self._store.read_if_whole(path)

    # -- code from a cache -------------------------------------------------------

    def _load_again(
        self, compiled: Any, /, constants: Any
    ) -> Generator[None, Any, Any]:
        path = yield
        with logging_faults(_CACHED):
            known = self._known(compiled.source_code)
            if known is not None:
                self._store.materialize(known)
                call: Any = compiled.current_callable
                values = getattr(call, "__func__", call).__globals__
                above = known.text.removesuffix(compiled.source_code).count("\n")
                self._run(known.identity, known.text, above, values)
                compiled.current_callable = self._measured(known, call, compiled)
        return path

    def _measured(
        self, listing: KernelListing | Listing, call: Any, compiled: Any
    ) -> Any:
        """The function that calls the kernels; it is measured where that is wanted."""
        path = self._store.path_of(listing.identity.class_name, listing.text)
        code = self._codes.get(path)
        if self._times is None or code is None:
            return call
        name = RevisionName(listing.identity, path.name)
        return self._times.measured(call, code, name, compiled)

    def _known(self, code: str) -> Listing | None:
        """The listing of this code, which an earlier run of the program made."""
        for direction in _DIRECTIONS:
            step = self._step((direction, KERNELS))
            if step is None:
                continue
            revisions = self._store.revisions(_identity(step.capture))
            for revision in reversed(revisions[-_MOST:]):
                with contextlib.suppress(StoreError):
                    listing = self._store.read_revision(revision)
                    if listing.text.endswith(f"\n\n\n{code}"):
                        return listing
        return None


def _made(capture: Capture, code: str) -> KernelListing:
    """The listing of code that was written for a graph."""
    identity = _identity(capture)
    name = Leading(identity.class_name, ToClass())
    head: list[Words] = [
        ("The code that inductor wrote for ", name, ", published by fxls."),
        (f"It is {capture.stage} of {identity.qualname}.",),
    ]
    for parent in capture.parents[:1]:
        link = Leading(parent.file, ToParent(parent.file))
        head.append(("It was made from ", link, "."))
    made = head_of(head)
    return KernelListing(identity, made.lines, made.links, code)


def _identity(capture: Capture) -> Identity:
    module, qualname = capture.root or ("", "")
    name = importable_name(module)
    return Identity(name, qualname, capture.producer, capture.stage, rank())


def _of_schedule(nodes: list[Any]) -> tuple[list[str], set[str], set[str]]:
    """The nodes that a kernel computes, and the buffers that it reads and writes."""
    made = {str(name) for one in nodes for name in one.get_buffer_names()}
    outputs = [buffer for one in nodes for buffer in one.get_outputs()]
    changed = {str(name) for buffer in outputs for name in buffer.get_mutations()}
    read_ = {str(dep.name) for one in nodes for dep in one.read_writes.reads}
    found = [node.name for one in nodes for node in one.node.origins]
    return found, read_ - made, made | changed


def _of_extern(kernel: Any) -> tuple[list[str], set[str], set[str]]:
    """The same of a kernel of a library."""
    exact = kernel.get_origin_node()
    nodes = kernel.origins if exact is None else [exact]
    changed = {str(name) for name in kernel.get_mutation_names()}
    made = {str(kernel.name), *(one.get_name() for one in kernel.get_outputs())}
    # A kernel of the user's that only writes into tensors has no value, and no name.
    reads = (
        kernel.get_read_names()
        if kernel.name
        else [one.get_name() for one in kernel.inputs]
    )
    read_ = {*map(str, reads)}
    return [node.name for node in nodes], read_ - made, made | changed


def _generated(lowering: Any, calls: list[Computed]) -> Generated:
    """What inductor knows of the code that it wrote."""
    without = unwritten(lowering)
    buffers = {
        name: Buffer(None if name in without else _node_of(buffer), _value_of(buffer))
        for buffer in lowering.buffers
        for name in [str(buffer.get_name())]
    }
    constants = dict(lowering.constants)
    for name, value in constants.items():
        buffers[name] = Buffer(None, value_of({"val": value}))
    return Generated(
        tuple(calls),
        buffers,
        tuple(lowering.graph_inputs),
        tuple(constants),
        tuple(_without_kernel(lowering.module, calls)),
    )


def _node_of(buffer: Any) -> str | None:
    node = buffer.get_origin_node()
    return None if node is None else str(node.name)


def _value_of(buffer: Any) -> Value | None:
    """What is known of the tensor in a buffer; None where it holds no single one."""
    layout = buffer.maybe_get_layout()
    device = getattr(layout, "device", None)
    if device is None or not hasattr(layout, "stride"):
        return None
    sizes = tuple(map(_size, layout.size))
    count = 1
    for size in sizes:
        count = count * size if isinstance(size, int) and count >= 0 else -1
    return Tensor(
        sizes,
        str(layout.dtype).removeprefix("torch."),
        device.type,
        tuple(map(_size, layout.stride)),
        count * layout.dtype.itemsize if count >= 0 else None,
    )


def _size(size: Any) -> int | str:
    return (
        int(size) if getattr(size, "is_Integer", isinstance(size, int)) else str(size)
    )


def _without_kernel(
    module: Any, calls: Iterable[Computed]
) -> Iterator[tuple[str, str]]:
    """The nodes that no kernel computes, and what each is."""
    computed = {name for one in calls for name in one.nodes}
    for node in module.graph.nodes:
        if node.op not in ("placeholder", "output") and node.name not in computed:
            yield node.name, _kind_of(node)


def _kind_of(node: Any) -> str:
    if node.op == "get_attr":
        return "constant"
    if getattr(node.target, "__name__", "") == "getitem":
        return "part"
    if is_view(node.target):
        return "view"
    if isinstance(value_of(node.meta), Plain):
        return "size"
    return "other" if node.all_input_nodes else "constant"


def _functions(values: dict[str, Any]) -> Iterator[FunctionType]:
    """The functions of a module, and the methods of its classes."""
    loaded = values["__file__"]
    for value in [*values.values()]:
        members: list[Any] = [value]
        if isinstance(value, type):
            members = [*vars(cast("type[Any]", value)).values()]
        for one in members:
            if isinstance(one, FunctionType) and one.__code__.co_filename == loaded:
                yield one


def _under(code: CodeType, path: str, above: int) -> CodeType:
    """The same code, in a file that has so many lines above it."""
    return code.replace(
        co_filename=path,
        co_firstlineno=code.co_firstlineno + above,
        co_consts=tuple(
            _under(one, path, above) if isinstance(one, CodeType) else one
            for one in code.co_consts
        ),
    )


_WRITERS = (
    ("codegen.cpp", "CppScheduling", "kernels of C++"),
    ("codegen.triton", "TritonScheduling", "kernels of Triton"),
    ("scheduler", "BaseScheduling", "kernels of other kinds"),
)
"""What writes the comments above calls: the module, the class, and what it writes."""
