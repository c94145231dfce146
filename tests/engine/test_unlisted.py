# Private names are the subject, and most of them are reached by their text.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Names that programs import though torch.fx lists them nowhere do what these expect."""

from __future__ import annotations

import copy
import importlib
import math
import operator
import subprocess
import sys
from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls import engine as fx
from fxls.engine import graph, graph_module, late_names, node, proxy, traceback

ours: Any = fx
_graph: Any = graph
_module: Any = graph_module
_node: Any = node
_proxy: Any = proxy
_trace: Any = importlib.import_module("fxls.engine._symbolic_trace")

LISTED = [
    (module, name)
    for module, places in late_names.UNLISTED.items()
    for names in places.values()
    for name in names
]


@pytest.mark.parametrize(("module", "name"), LISTED, ids=lambda part: str(part))
def test_a_name_is_where_torch_fx_has_it(module: str, name: str) -> None:
    theirs = importlib.import_module(f"torch.fx.{module}")
    assert hasattr(theirs, name) or hasattr(theirs, FOLLOWED[name])
    assert hasattr(importlib.import_module(f"fxls.engine.{module}"), name)


FOLLOWED = {"_is_fx_tracing_flag": "_get_is_fx_tracing"}
"""What newer versions of torch have in the place of a name that ours keeps."""


def test_an_import_of_the_engine_loads_none_of_them() -> None:
    program = (
        "import sys; import fxls.engine; print([name for name in sys.modules"
        " if name.startswith('fxls.engine.unlisted')])"
    )

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout == "[]\n"


def test_what_no_module_has_is_missing_as_ever() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_this_name'"):
        _ = _graph.nothing_of_this_name


def test_a_module_is_reached_without_an_import() -> None:
    assert ours.passes.shape_prop.ShapeProp.__name__ == "ShapeProp"
    assert ours.experimental.const_fold.FoldedGraphModule.__name__.startswith("Folded")


def test_what_a_module_of_torch_fx_imports_is_reached_through_ours() -> None:
    assert _trace.functools is importlib.import_module("functools")
    assert _trace.ScriptObject is torch.ScriptObject
    assert _trace.GraphModule is fx.GraphModule


@pytest.mark.parametrize(
    "name", ["magic_methods", "reflectable_magic_methods", "inplace_methods"]
)
def test_the_operators_are_those_of_torch_fx(name: str) -> None:
    theirs: Any = importlib.import_module("torch.fx.graph")

    assert getattr(_graph, name) == getattr(theirs, name)


def test_the_classes_of_plain_values_are_those_of_torch_fx() -> None:
    theirs: Any = importlib.import_module("torch.fx.node")

    assert set(_node.base_types) == set(theirs.base_types)
    assert set(_proxy.base_types) == set(theirs.base_types)
    assert _node.BaseArgumentTypes == theirs.BaseArgumentTypes


def test_an_argument_is_written_with_its_nodes() -> None:
    x = fx.Graph().placeholder("x")

    assert _node._format_arg([x, (1, x), {"a": x}]) == "[%x, (1, %x), {a: %x}]"
    assert _node._get_qualified_name(torch.relu) == "torch.relu"
    assert _node._type_repr(list[torch.Tensor]) == "list[torch.Tensor]"


def test_a_namespace_hands_out_names() -> None:
    names = _graph._Namespace()

    assert [names.create_name("x", None), names.create_name("x", None)] == ["x", "x_1"]
    assert _graph._snake_case("PascalCase") == "pascal_case"


def test_a_program_says_where_new_nodes_go() -> None:
    graph = fx.Graph()
    first, last = graph.placeholder("first"), graph.placeholder("last")

    with _graph._InsertPoint(graph, first.append):
        graph.placeholder("behind")
    graph._insert = last.prepend
    graph.placeholder("before")

    assert [n.name for n in graph.nodes] == ["first", "behind", "before", "last"]


def test_attributes_are_read_and_put_by_path() -> None:
    model: Any = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    other = nn.Module()

    _module._copy_attr(model, other, "0.0.weight")
    _module._assign_attr(torch.ones(1), other, "0.0.shift")

    assert _module._get_attr(other, "0.0.weight") is model[0][0].weight
    assert _module._get_attr_via_attr_list(other, ["0", "0", "shift"]) == torch.ones(1)
    assert _module._has_attr(other, "0.0.shift")
    assert not _module._has_attr(other, "0.1.shift")
    _module._del_attr(other, "0.0.shift")
    assert not _module._has_attr(other, "0.0.shift")
    assert [name for name, _ in other.named_parameters()] == ["0.0.weight"]


def test_a_module_is_made_of_the_attributes_of_another_one() -> None:
    model = nn.Linear(1, 1)

    bare = _module._CodeOnlyModule(model.__dict__)

    assert bare.weight is model.weight


def test_attributes_that_a_program_preserves_are_on_every_deep_copy() -> None:
    module: Any = fx.symbolic_trace(nn.Linear(1, 1))
    module.meta[_module._USER_PRESERVED_ATTRIBUTES_KEY] = {"version": 3}

    copied = copy.deepcopy(module)

    assert copied.version == 3


def test_a_called_graph_becomes_nodes_of_its_caller() -> None:
    written: list[Any] = []
    for system in (importlib.import_module("torch.fx"), ours):
        path = f"{system.__name__}.experimental.const_fold"
        inner = system.symbolic_trace(lambda x, y: (x + y, [x.relu()]))
        root: Any = nn.Module()
        root.inner = inner
        graph = system.Graph()
        x = graph.placeholder("x")
        pair = graph.call_module("inner", (x, graph.call_method("neg", (x,))))
        first = graph.call_function(operator.getitem, (pair, 0))
        graph.output((first, graph.call_function(operator.getitem, (pair, 1))))
        module = system.GraphModule(root, graph)
        x = torch.tensor([-1.0, 2.0])
        before = repr(module(x))

        stands = importlib.import_module(path)._inline_module(module, "inner")
        module.recompile()

        assert repr(module(x)) == before
        written.append((module.code, {str(k): str(v) for k, v in stands.items()}))

    assert written[0] == written[1]


def test_the_lines_of_a_module_lead_to_its_nodes() -> None:
    module: Any = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))
    theirs: Any = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))

    assert module.code == theirs.code
    assert module._lineno_map.items() <= theirs._lineno_map.items()
    assert module._prologue_start == theirs._prologue_start


def test_code_is_written_by_a_codegen_that_overrides_the_whole() -> None:
    class Commented(fx.CodeGen):
        def _gen_python_code(
            self, nodes: Any, root_module: str, namespace: Any, **form: Any
        ) -> Any:
            code = super()._gen_python_code(nodes, root_module, namespace, **form)
            code.src = f"# {len(nodes)} nodes\n{code.src}"
            return code

    module: Any = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    module.graph.set_codegen(Commented())
    module.recompile()

    assert module.code.startswith("# 3 nodes\n")
    assert module(torch.tensor(-1.0)) == 0


def test_a_tracer_that_a_program_wrote_replaces_functions_and_puts_them_back() -> None:
    names = {"sqrt": math.sqrt, "_sqrt": math.sqrt, "pi": math.pi}
    tracer: Any = fx.proxy.GraphAppendingTracer(fx.Graph())  # pyright: ignore[reportAttributeAccessIssue]  # a module that is loaded
    x = fx.Proxy(tracer.graph.placeholder("x"), tracer)

    with _trace._Patcher() as patcher:
        _trace._autowrap_check(patcher, names, {id(math.sqrt)})
        _trace._autowrap_check(patcher, names, {id(math.sqrt)})
        recorded = cast("Any", names["sqrt"])(x)
        hidden: dict[str, Any] = {}
        patcher.patch(hidden, "len", lambda _: -1)
        patcher.patch_method(nn.Linear, "forward", lambda *_: "patched")
        during = (hidden["len"]([]), nn.Linear(1, 1)(torch.ones(1)))

    assert (recorded.node.target, recorded.node.args) == (math.sqrt, (x.node,))
    assert during == (-1, "patched")
    assert names == {"sqrt": math.sqrt, "_sqrt": math.sqrt, "pi": math.pi}
    assert hidden == {}
    assert nn.Linear.forward.__qualname__ == "Linear.forward"


def test_the_first_proxy_in_values_is_found() -> None:
    tracer: Any = fx.Tracer()
    tracer.graph = fx.Graph()
    x = fx.Proxy(tracer.graph.placeholder("x"), tracer)

    assert _trace._find_proxy(1, {"a": [x]}) is x
    assert _trace._find_proxy(1, [2]) is None


def test_a_function_takes_all_by_position() -> None:
    def f(a: Any, *rest: Any, key: Any, **more: Any) -> Any:
        return (a, key, rest, more)

    assert _trace._patch_function(f, 4)(1, 2, 3, 4) == (1, 2, 3, 4)
    assert (
        _trace.HAS_VARSTUFF
        == importlib.import_module("torch.fx._symbolic_trace").HAS_VARSTUFF
    )


def test_the_original_call_and_attribute_access_are_no_parts_of_a_trace() -> None:
    seen: list[Any] = []

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(1, 1)

        def forward(self, x: Any) -> Any:
            seen.append(_trace._orig_module_getattr(self.inner, "weight"))
            seen.append(_trace._is_fx_tracing_flag)
            return self.inner(x)

    model = Model()
    fx.symbolic_trace(model)

    assert seen[0] is model.inner.weight
    assert seen[1] is True
    assert _trace._is_fx_tracing_flag is False
    assert _trace._orig_module_call(nn.ReLU(), torch.tensor(-1.0)) == 0


class Looking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(3))

    def forward(self, x: Any) -> Any:
        table: Any = self.table
        return table[x]


def test_calls_of_a_listed_method_are_recorded() -> None:
    found: list[Any] = []
    for system in (importlib.import_module("torch.fx"), ours):
        methods: Any = importlib.import_module(f"{system.__name__}._symbolic_trace")
        methods._wrapped_methods_to_patch.append((torch.Tensor, "__getitem__"))
        try:
            graph: Any = system.Tracer().trace(Looking())
        finally:
            methods._wrapped_methods_to_patch.pop()
        found.append([(n.op, n.target) for n in graph.nodes])

    assert found[0] == found[1]
    assert ("call_method", "__getitem__") in found[1]
    assert torch.arange(3)[1] == 1


def test_wrapped_functions_are_listed_by_namespace_and_name() -> None:
    namespaces = _trace._wrapped_fns_to_patch

    assert all(place[0] == id(names) for place, names in namespaces.items())


def test_functions_to_record_may_be_added_by_id() -> None:
    tracer: Any = fx.Tracer()
    tracer._autowrap_function_ids.add(id(recorded))

    graph = tracer.trace(calling)

    assert [n.target for n in graph.nodes] == ["x", recorded, "output"]


def recorded(x: Any) -> Any:
    return x + 1


def calling(x: Any) -> Any:
    return recorded(x)


def test_proxyable_classes_are_listed() -> None:
    class Pair(metaclass=fx.ProxyableClassMeta):
        pass

    assert Pair in _trace._proxyable_classes


def test_the_metadata_of_a_tensor_is_that_of_torch_fx() -> None:
    path = "passes.shape_prop"
    mine: Any = importlib.import_module(f"fxls.engine.{path}")
    theirs: Any = importlib.import_module(f"torch.fx.{path}")
    x = torch.ones(2, 3).t()

    for more in ((), (False,)):
        assert tuple(mine._extract_tensor_metadata(x, *more)) == tuple(
            theirs._extract_tensor_metadata(x, *more)
        )


def test_a_type_of_a_schema_is_that_of_torch_fx() -> None:
    path = "operator_schemas"
    mine: Any = importlib.import_module(f"fxls.engine.{path}")
    theirs: Any = importlib.import_module(f"torch.fx.{path}")
    schema: Any = torch.ops.aten.add.Tensor._schema

    for argument in schema.arguments:
        assert mine._torchscript_type_to_python_type(
            argument.type
        ) == theirs._torchscript_type_to_python_type(argument.type)


def test_the_meta_in_force_is_what_is_carried() -> None:
    current: Any = traceback

    with traceback.preserve_node_meta():
        traceback.set_stack_trace(["here"])
        assert current.current_meta == {"stack_trace": "here"}
    assert current.current_meta == {}


def test_compatibility_marks_what_it_decorates() -> None:
    module: Any = importlib.import_module("fxls.engine._compatibility")

    @module.compatibility(is_backward_compatible=True)
    def kept() -> None:
        """Keeps."""

    @module.compatibility(is_backward_compatible=False)
    class Tried:
        pass

    assert str(kept.__doc__).startswith("Keeps.\n\n.. note::\n")
    assert kept in module._BACK_COMPAT_OBJECTS
    assert Tried in module._MARKED_WITH_COMPATIBILITY
    assert Tried not in module._BACK_COMPAT_OBJECTS


@pytest.mark.parametrize(
    "path",
    [
        "config",
        "experimental._config",
        "experimental.recording",
        "experimental.sym_node",
        "experimental.symbolic_shapes",
        "experimental.validator",
    ],
)
def test_what_a_process_has_once_is_torchs_own(path: str) -> None:
    mine = importlib.import_module(f"fxls.engine.{path}")

    assert mine is importlib.import_module(f"torch.fx.{path}")


def test_make_fx_gives_a_module_of_ours() -> None:
    module: Any = importlib.import_module("fxls.engine.experimental.proxy_tensor")

    made = module.make_fx(lambda x: x.relu() + 1)(torch.ones(2))

    assert isinstance(made, fx.GraphModule)
    assert torch.equal(made(torch.tensor([-1.0, 1.0])), torch.tensor([1.0, 2.0]))
    assert module.get_proxy_mode() is None
