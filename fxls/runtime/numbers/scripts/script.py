"""The text of a script that shows a wrong value, and needs torch alone."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from typing import Any

from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.numbers.scripts.script_inputs import UNPACKED

__all__ = [
    "HOW_FAR",
    "JUDGED",
    "OPERATORS",
    "Function",
    "assembled",
    "function_of",
    "is_torchs",
    "script",
]

OPERATORS = frozenset({"aten", "prims", "prim", "mkldnn", "mkl", "quantized"})
"""The namespaces of operators that torch itself has."""

_FREES = re.compile(r";  (\w+ = )+None$", re.MULTILINE)


class Function:
    """The text of a graph as a function, and the lines that import what it uses."""

    def __init__(self, name: str, text: str, imports: Sequence[str]) -> None:
        self.name = name
        self.text = text
        self.imports = tuple(imports)


def function_of(graph: Any, name: str, own: str = "") -> Function:
    """A graph of `torch.fx` as a function; raises `NotRun` where torch alone has not what
    it calls, and neither are its operators of a namespace of the script's own.
    """
    for node in graph.nodes:
        if not own or getattr(node.target, "namespace", None) != own:
            _check(node)
    code = graph.python_code("self")
    text = _FREES.sub("", code.src)
    text = text[text.index("def forward(") :].replace("\t", "    ").strip()
    text = text.replace("def forward(self, ", f"def {name}(", 1)
    text = text.replace("def forward(self)", f"def {name}()", 1)
    imports = [_import(key, value) for key, value in code.globals.items()]
    text = re.sub(r"\n\s*\n", "\n", text)
    used = [
        line
        for line in imports
        if line and re.search(rf"\b{re.escape(line.split()[-1])}\b", text)
    ]
    return Function(name, text, used)


def is_torchs(node: Any) -> bool:
    """Whether torch alone has what a node of a graph calls."""
    try:
        _check(node)
    except NotRun:
        return False
    return True


def _check(node: Any) -> None:
    if node.op in ("placeholder", "output"):
        return
    if node.op not in ("call_function", "call_method"):
        raise NotRun(f"{node.name} is a {node.op}, and a script has no module")
    if node.op == "call_method":
        return
    namespace = getattr(node.target, "namespace", None)
    if namespace is not None and namespace not in OPERATORS:
        raise NotRun(f"torch alone has no operator {node.target}")
    module = str(getattr(node.target, "__module__", ""))
    if module.partition(".")[0] not in ("torch", "_operator", "math", "builtins"):
        raise NotRun(f"torch alone has no {module}.{node.target.__name__}")


def _import(name: str, value: Any) -> str:
    """The line that makes a name of generated code mean what it means there."""
    if isinstance(value, types.ModuleType):
        whole = value.__name__
        return f"import {whole}" if whole == name else f"import {whole} as {name}"
    if isinstance(value, float):
        return f"from math import {name}"
    if value is None or name in ("NoneType", "fx_pytree", "pytree"):
        return ""
    module = str(getattr(value, "__module__", ""))
    own = str(getattr(value, "__qualname__", name))
    if module.partition(".")[0] not in ("torch", "typing", "_operator", "builtins"):
        raise NotRun(f"torch alone has no {module}.{own}")
    if "." in own:
        raise NotRun(f"nothing imports {module}.{own}")
    return f"from {module} import {own}" + ("" if own == name else f" as {name}")


_ERROR = '''\
def error(actual, expected):
    """How far a tensor is from another one, at the worst of its elements."""
    if actual.shape != expected.shape:
        return float("inf")
    if expected.is_complex():
        both = (actual, expected)
        actual, expected = (torch.view_as_real(one.resolve_conj()) for one in both)
    if not expected.is_floating_point():
        return (actual != expected).double().mean().item()  # the share that differs
    actual, expected = actual.double(), expected.double()
    off = (actual - expected).abs()[expected.isfinite()]
    off = off.nan_to_num(nan=float("inf"), posinf=float("inf"))
    return off.{measure}.item() if off.numel() else 0.0
'''

HOW_FAR = _ERROR.replace("{measure}", "max()")
"""What defines how far a tensor is from another one."""

_GRADIENTS = '''\
def gradients(function, given):
    """The gradients of all inputs, in a row."""
    wanted = [
        one.requires_grad_()
        for one in given
        if isinstance(one, torch.Tensor) and one.is_floating_point()
    ]
    output = function(*given)
    if not output.requires_grad:
        return torch.cat([one.detach().reshape(-1) * 0 for one in wanted])
    torch.manual_seed(0)
    seed = torch.randn(output.shape).to(output.dtype)
    found = torch.autograd.grad(
        output, wanted, seed, allow_unused=True, materialize_grads=True
    )
    return torch.cat([one.reshape(-1) for one in found])
'''

JUDGED = """\
off = error(actual, expected)
if off > EXPLAINED:
    print(f"wrong: off by {off:.3g}, where {EXPLAINED:.3g} is explained by precision")
    sys.exit(1)
print(f"right: off by {off:.3g}, and {EXPLAINED:.3g} is explained by precision")
"""
"""How a script ends that has an `actual` and an `expected` tensor."""


def script(
    functions: Sequence[Function],
    inputs: Mapping[str, str],
    explained: float,
    *,
    backend: str = "",
    settings: Mapping[str, Any] | None = None,
    is_mean: bool = False,
    of_gradients: bool = False,
) -> str:
    """A script that calls one function, compiled and not, or two; of two it may compare
    the gradients.

    It ends with 1 where they give what precision does not explain, and with 0 where it
    does.
    """
    measure = "square().mean().sqrt()" if is_mean else "max()"
    parts = [_ERROR.replace("{measure}", measure)]
    first, last = functions[0].name, functions[-1].name
    other = f'torch.compile({last}, backend="{backend}")' if backend else last
    if of_gradients:
        parts.append(_GRADIENTS)
        parts.append(
            f"EXPLAINED = {explained:.3g}\n"
            f"expected = gradients({first}, inputs())\n"
            f"actual = gradients({last}, inputs())\n" + JUDGED
        )
    else:
        parts.append(
            f"EXPLAINED = {explained:.3g}\n"
            "with torch.no_grad():\n"
            f"    expected = {first}(*inputs())\n"
            f"    actual = {other}(*inputs())\n" + JUDGED
        )
    return assembled(functions, inputs, parts, backend=backend, settings=settings)


def assembled(
    functions: Sequence[Function],
    inputs: Mapping[str, str],
    parts: Sequence[str],
    *,
    backend: str = "",
    settings: Mapping[str, Any] | None = None,
    imports: Sequence[str] = (),
) -> str:
    """A script of functions, of `inputs()`, which makes new ones at each call, and of the
    parts that stand behind them.
    """
    lines = {"import sys", "import torch", *imports}
    lines |= {line for one in functions for line in one.imports}
    if any(" unpacked(" in f" {text}" for text in inputs.values()):
        lines |= {"import base64", "import zlib"}
    if backend:
        lines.add("import torch._inductor.config")
    above = ["\n".join(sorted(lines, key=_of_torch))]
    if backend:
        # What a cache has, nobody compiles.
        values = {"force_disable_caches": True, **(settings or {})}
        above.append(
            "\n".join(
                f"torch._inductor.config.{name} = {value!r}"
                for name, value in values.items()
            )
        )
    above += [one.text for one in functions]
    if "import zlib" in lines:
        above.append(UNPACKED)
    given = "".join(f"        {text},\n" for text in inputs.values())
    has_seed = "torch.rand" in given
    seed = "    torch.manual_seed(0)\n" if has_seed else ""
    above.append(f"def inputs():\n{seed}    return [\n{given}    ]\n")
    return "\n\n".join(part.rstrip() + "\n" for part in (*above, *parts))


def _of_torch(line: str) -> tuple[bool, str]:
    return "torch" in line, line
