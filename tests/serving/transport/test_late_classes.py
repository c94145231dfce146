"""A class of lsprotocol is the same when it is made later, and is made when needed."""

from __future__ import annotations

import subprocess
import sys

CLASSES = """\
import inspect, re
from fxls.serving.transport.late_classes import made_when_needed
with made_when_needed():
    import lsprotocol.converters
import attrs, lsprotocol.types as lsp
lsprotocol.converters.get_converter()
found = {
    kind
    for kind in vars(lsp).values()
    if isinstance(kind, type) and "__attrs_attrs__" in vars(kind)
}
print(len(found) > 500)
for kind in sorted(found, key=str):
    for field in attrs.fields(kind):
        print(kind, re.sub(" at 0x[0-9a-f]+", "", repr(field)))
    for parameter in inspect.signature(kind).parameters.values():
        print(kind, parameter.replace(annotation=parameter.empty))
    print(kind, kind.__annotations__, kind.__match_args__)
    methods = [name for name, one in vars(kind).items() if inspect.isfunction(one)]
    print(kind.__doc__, kind.__hash__ is None, sorted(set(methods) - SLOTS))
"""

SLOTS = '{"__getstate__", "__setstate__"}'
"""What attrs writes for classes with slots alone."""


def said(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    return run.stdout + run.stderr


def test_each_class_is_the_same_as_one_that_was_made_at_once() -> None:
    program = CLASSES.replace("SLOTS", SLOTS)

    late = said(program)
    at_once = said(program.replace("with made_when_needed():\n    ", ""))

    assert late.split("\n") == at_once.split("\n")
    assert late.startswith("True\n")


def test_an_answer_makes_only_the_classes_that_it_needs() -> None:
    program = """\
from fxls.serving.transport.late_classes import made_when_needed
with made_when_needed():
    import lsprotocol.converters
from lsprotocol import types as lsp

def made():
    return {
        name
        for name, kind in vars(lsp).items()
        if isinstance(kind, type)
        and isinstance(vars(kind).get("__attrs_attrs__"), tuple)
    }

converter = lsprotocol.converters.get_converter()
before = made()
print(len(before) < 5)
hover = {"contents": {"kind": "markdown", "value": "x"}}
told = converter.structure(hover, lsp.Hover)
print(told.contents, sorted(made() - before))
print(converter.unstructure(told) == hover)
"""
    content = "MarkupContent(kind=<MarkupKind.Markdown: 'markdown'>, value='x')"
    made = "['Hover', 'MarkupContent']"
    assert said(program).splitlines() == ["True", f"{content} {made}", "True"]


def test_threads_that_need_a_class_at_once_get_the_same_class() -> None:
    program = """\
import sys, threading
from fxls.serving.transport.late_classes import made_when_needed
with made_when_needed():
    from lsprotocol import types as lsp
sys.setswitchinterval(1e-6)
kinds = [lsp.Position, lsp.WorkspaceSymbol, lsp.Registration, lsp.TextEdit]
there, found = threading.Barrier(8), []

def make():
    there.wait()
    found.append([kind(*range(2)) for kind in kinds[:1]])
    found.append([kind.__attrs_attrs__ for kind in kinds])

threads = [threading.Thread(target=make) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
objects, fields = found[0::2], found[1::2]
print(len(found), {repr(one) for one in found if len(one) == 1})
print(len({tuple(map(id, one)) for one in found if len(one) == 4}))
"""
    assert said(program) == "16 {'[0:1]'}\n1\n"
