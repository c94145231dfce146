"""`fxls.uninstall()` takes out of debugpy all that was put into it."""

from __future__ import annotations

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

PROGRAM = """\
import os
import sys
import torch
import fxls
from fxls import engine as fx
from net import Net

OURS = os.path.dirname(fxls.__file__)


def is_ours(value):
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename.startswith(OURS)


def ours():
    from _pydevd_bundle import pydevd_constants, pydevd_extension_api
    from _pydevd_bundle import pydevd_extension_utils

    pydb = pydevd_constants.get_global_debugger()
    owners = {"debugger": pydb, "reader": pydb.reader}
    for name, module in list(sys.modules.items()):
        if name.startswith(("_pydevd", "pydevd")) and module is not None:
            if "plugin" in name or "fxls" in name:
                continue
            owners[name] = module
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == name:
                    owners[name + "." + value.__name__] = value
    found = {
        owner + ":" + name
        for owner, one in owners.items()
        for name, value in list(vars(one).items())
        if is_ours(value) or name.startswith("_fxls")
    }
    filters = pydb._files_filtering
    found |= {"root " + r for r in filters._get_library_roots() if r == OURS}
    found |= {"filter" for f in filters._exclude_filters if "fxls" in f.name}
    kind = pydevd_extension_api.StrPresentationProvider
    for shown in pydevd_extension_utils.extensions_of_type(kind):
        if type(shown).__name__ == "TensorView":
            found.add("view")
    return found


fxls.install()
before = ours()
gm = fx.symbolic_trace(Net())
fxls.uninstall()
print(len(before) > 8, sorted(ours() - {"view"}))
fxls.install()
print(before == ours())
"""


def test_the_debugger_is_as_it_was_and_is_made_ready_again(project: Project) -> None:
    project.write({"net.py": NET, "undone.py": PROGRAM})
    with Debugged(project) as debugged:
        debugged.launch("undone.py")
        assert debugged.finish() == "True []\nTrue\n"


STOPPING = """\
import torch
import fxls
from fxls import engine as fx
from net import Net

x = torch.ones(2, 4)
fxls.install()
gm = fx.symbolic_trace(Net())
print("made")
gm(x)
fxls.uninstall()
gm(x)
print("none")
"""

MADE, NONE = 'undone.py: print("made")', 'undone.py: print("none")'


def test_a_breakpoint_that_fxls_set_stops_nothing_any_more(project: Project) -> None:
    project.write({"net.py": NET, "undone.py": STOPPING})
    with Debugged(project) as debugged:
        debugged.launch("undone.py", stop_at=[MADE, NONE])
        assert debugged.stopped() == MADE
        debugged.break_on("node:relu")
        assert debugged.resume() == "Net:relu"
        assert debugged.resume() == NONE
        assert debugged.finish() == "made\nnone\n"
