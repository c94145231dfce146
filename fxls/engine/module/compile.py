"""How generated code becomes a function: the one hook, and what it does by itself.

By itself the engine keeps the text in `linecache`, so tracebacks, `inspect` and pdb show
it, and writes no file. `set_compiler` puts another compiler in its place; the compiler
decides the text that is compiled, and the path that it has.
"""

from __future__ import annotations

import hashlib
import linecache
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from fxls.engine.code.codegen import CodeGen, PythonCode, marked_code
from fxls.engine.code.pytree_codegen import PyTreeCodeGen
from fxls.engine.ir.copying import graph_of
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.snapshot import Snapshot, snapshot_of
from fxls.engine.lasting import lasting
from fxls.engine.origins import resolve as origin

if TYPE_CHECKING:
    from fxls.engine.code.codegen import MarkedCode
    from fxls.engine.graph import Graph
    from fxls.engine.graph_module import GraphModule
    from fxls.engine.ir.node import Node

__all__ = [
    "Compiler",
    "ForwardCode",
    "compile_in_memory",
    "copied",
    "forward_of",
    "is_eager",
    "is_lazy",
    "pin",
    "set_compiler",
]


Moved: TypeAlias = Callable[[dict[int, "int | None"]], dict[int, "int | None"]]
"""From what is on the lines of a function, counted from its ``def``, as it was written."""


class ForwardCode(PythonCode):
    """The code of one `recompile`: written when any part of it is first read.

    - What is written is the graph as it was at the `recompile`, whoever edited it since.
    """

    __slots__ = ("__weakref__", "_snapshot", "_state", "graph", "nodes")

    graph: Graph
    """The graph that is written; a copy where it was edited before it was written."""
    nodes: tuple[Node, ...]
    """The nodes of the graph, in order, as the code was written."""
    _snapshot: Snapshot | None
    """The graph as it was; None when there is a function, and nothing is to be made."""
    _state: tuple[tuple[int, int], str] | None
    """The state of the graph when it was written, and the name of the function; None
    before, and for code that is not to be shared."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._snapshot = snapshot_of(graph)
        self._state = None
        if not is_lazy(graph):
            _ = self.src

    def __deepcopy__(self, memo: dict[int, Any]) -> ForwardCode:
        """Itself: who copies the attributes of a module copies its code as a text."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """As a text: who pickles the attributes of a module has the graph elsewhere."""
        return code_of_text, (self.src, self._lineno_map, self._prologue_start)

    def settle(self) -> None:
        """Let `graph` be the graph as it was, before anything is made of it."""
        if self._snapshot is not None:
            graph = graph_of(self._snapshot)
            if graph is not self.graph:
                self.graph, self._snapshot = graph, None

    def __getattr__(self, name: str) -> Any:
        """Write the code, when it is not written yet."""
        if name not in _WRITTEN:
            raise AttributeError(f"generated code has no {name!r}")
        self.settle()
        try:
            self.take(self.graph.python_code("self"))
        except AttributeError as error:
            # Inside a property of a Module it would be taken for a missing attribute.
            raise RuntimeError(
                f"the graph cannot be written as code: {error}"
            ) from error
        return object.__getattribute__(self, name)

    @property
    def is_written(self) -> bool:
        """Whether somebody has read a part of the code."""
        try:
            object.__getattribute__(self, "src")
        except AttributeError:
            return False
        return True

    def marked(self) -> MarkedCode:
        """The code with its marks; the same text, also when it was written before.

        For a compiler: once there is a function, the graph is known no more as it was.
        """
        self.settle()
        marked = marked_code(self.graph)
        self.take(marked.code)
        return marked

    def node_at(self, function: CodeType, line: int) -> Node | None:
        """The node whose statement is on a line of the file of the compiled forward."""
        place = self._lineno_map.get(line - function.co_firstlineno)
        return None if place is None else self.nodes[place]

    def take(self, code: PythonCode, moved: Moved | None = None) -> None:
        """Be this code, which the graph as it is was written as.

        A compiler that moves lines says what is on which line of what it compiles.
        """
        self.src = code.src
        self.globals = code.globals
        lines = code._lineno_map
        self._lineno_map = lines if moved is None else moved(lines)
        self._prologue_start = code._prologue_start
        self.nodes = tuple(ordered(self.graph))
        self._state = _state(self.graph)

    def share(self, other: ForwardCode, graph: Graph) -> None:
        """Be the code of `graph`, of which this one's is a copy as it is.

        Nothing, unless that code is written, is that of its graph as it is, and would
        be written for this one in the same way.
        """
        if (
            self._state is None
            and other.graph is graph
            and other._state is not None
            and other._state == _state(graph)
            and not graph._has_given_names
            # A copy ends with the output, and its original may go on.
            and len(ordered(self.graph)) == len(ordered(graph))
        ):
            self.take(other)


@lasting("fxls.engine", "_code_of_text")
def code_of_text(text: str, lines: dict[int, int | None], start: int) -> ForwardCode:
    """Code that somebody has as a text, of no node."""
    from fxls.engine.graph import Graph  # noqa: PLC0415 - few read such a pickle

    code = ForwardCode(Graph())
    code.take(PythonCode(text, {}, _lineno_map=lines, _prologue_start=start))
    return code


def is_lazy(graph: Graph) -> bool:
    """Whether the code of a graph may be written later.

    What somebody's own rules write may be another text then.
    """
    codegen = graph._codegen
    return type(codegen) in _PLAIN and codegen._body_transformer is None


def _state(graph: Graph) -> tuple[tuple[int, int], str] | None:
    codegen = graph._codegen
    if type(codegen) is not CodeGen or codegen._body_transformer is not None:
        return None
    return graph.state, codegen._func_name


class Compiler(Protocol):
    """Makes a module's forward of its code.

    The function that it returns has the parameters and the body of ``code.src``, and the
    values of ``code.globals``. The text around them, and the path that the code object
    names, are the compiler's own choice; `pin` makes the text known to Python.
    """

    def __call__(self, module: GraphModule, code: ForwardCode, /) -> FunctionType: ...


def set_compiler(
    compiler: Compiler | None = None, *, eager: bool = False
) -> tuple[Compiler, bool]:
    """Let another compiler make functions from now on; None is the engine's own.

    `eager` compiles in `recompile` already: a debugger that steps into the first call
    then sees nothing of it. Returns what was in force, to be given back.
    """
    global _current  # noqa: PLW0603 - one hook for the process
    before = _current
    _current = (compiler or compile_in_memory, eager)
    return before


def is_eager() -> bool:
    """Whether `recompile` compiles at once."""
    return _current[1]


def forward_of(module: GraphModule, code: ForwardCode) -> FunctionType:
    """The function of a module's code, by the compiler in force."""
    code.settle()
    function = _current[0](module, code)
    # A code object of its own, because origins are noted by code object, and modules
    # whose nodes come from different places may share the text.
    function.__code__ = own = copied(function.__code__)
    first, nodes = own.co_firstlineno - 1, code.nodes
    lines: list[Any] = [None] * (first + max(code._lineno_map, default=-1) + 1)
    for line, place in code._lineno_map.items():
        if place is not None:
            lines[first + line] = nodes[place]._frames
    parameters = {
        str(node._target).lstrip("*"): node._frames
        for node in code.nodes
        if node._op == "placeholder"
    }
    if code.nodes and code.nodes[-1]._op == "output":
        parameters[origin.RETURN] = code.nodes[-1]._frames
    origin.note_generated(own, lines, parameters)
    for inner in _inner(own):
        origin.note_generated(inner, lines, {})
    code._snapshot = None
    return function


def copied(code: CodeType) -> CodeType:
    """An equal code object, of which the functions in it are others as well."""
    if not any(_inner(code)):
        return code.replace()
    constants = code.co_consts
    return code.replace(
        co_consts=tuple(
            [one.replace() if isinstance(one, CodeType) else one for one in constants]
        )
    )


def _inner(code: CodeType) -> Iterator[CodeType]:
    """The functions in a function, in which a compiler may have put its lines."""
    return (one for one in code.co_consts if isinstance(one, CodeType))


def compile_in_memory(module: GraphModule, code: ForwardCode, /) -> FunctionType:
    """The engine's own compiler: a text in `linecache`, under a name that is no path.

    Modules of one class name with the same text, traced from one function, share the
    name and the compilation.
    """
    digest = hashlib.sha256(code.src.encode()).hexdigest()[:12]
    class_name = type(module).__name__
    # Only a name that ends in > is left as it is by bdb, so that pdb finds its lines.
    name = f"<fxls {class_name}.{function_name(code.graph)} {digest}{_traced(code)}>"
    text = _texts.get(name)
    if text is None:
        text = _texts[name] = _Text(name, code.src)
    names = dict(code.globals)
    # Kept by the globals, which a traceback keeps: its lines can be shown for as long.
    names[_KEPT] = text
    return run_definition(text.code, names, function_name(code.graph))


def _traced(code: ForwardCode) -> str:
    """Where the function is that was traced, if one was."""
    of = code.graph._co_fields
    return f" of {of['co_filename']}:{of['co_firstlineno']}" if of else ""


def run_definition(
    code: CodeType, names: dict[str, Any], function: str
) -> FunctionType:
    """The function that compiled module-level code defines in `names`."""
    exec(code, names)
    return cast("FunctionType", names[function])


def function_name(graph: Graph) -> str:
    """What the code of a graph calls its function."""
    return graph._codegen._func_name


def pin(path: str, text: str) -> None:
    """Let `linecache` answer for a path with this text, whatever is on the disk."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


class _Text:
    """A compiled text, known to `linecache` for as long as anybody has it."""

    __slots__ = ("__weakref__", "code")

    def __init__(self, name: str, source: str) -> None:
        self.code: CodeType = compile(source, name, "exec", dont_inherit=True)
        pin(name, source)
        weakref.finalize(self, linecache.cache.pop, name, None).atexit = False


_PLAIN = frozenset({CodeGen, PyTreeCodeGen})
"""Rules whose text depends on the graph and on their attributes alone."""
_KEPT = "__fxls_text__"
_WRITTEN = frozenset({"src", "globals", "_lineno_map", "_prologue_start", "nodes"})
_texts: weakref.WeakValueDictionary[str, _Text] = weakref.WeakValueDictionary()
_current: tuple[Compiler, bool] = (compile_in_memory, False)
