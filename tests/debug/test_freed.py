"""Log points and hit conditions say of a value that was freed what evaluating it says."""

from __future__ import annotations

import pytest

from tests.debug.conftest import RUN
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.support.dap import RequestFailed

pytestmark = pytest.mark.slow


def test_all_who_ask_for_a_freed_value_are_told_the_same(traced: Project) -> None:
    traced.write(
        {"thrice.py": RUN.replace("y = gm(x)", "y = [gm(x) for _ in '123'][0]")}
    )
    path, line = traced.line("Net:sum_1")
    add, relu, scaled = (traced.line(f"Net:{n}")[1] for n in ("add", "relu", "scaled"))
    end, last = traced.line('thrice.py: print("ran", tuple(y.shape))')
    with Debugged(traced) as debugged:
        session = debugged.session
        asked = [
            {"line": relu, "logMessage": "{type(self).__name__}: {linear.shape}"},
            {"line": scaled, "logMessage": "{add} is gone, {relu.shape} is not"},
            {"line": line, "hitCondition": ">= add.sum()"},
        ]
        taken = session.launch(
            traced.folder / "thrice.py",
            breakpoints={path: asked, end: [last]},
        )
        assert [(b.line, b.verified) for b in taken[path]] == [
            (one["line"], True) for one in asked
        ]
        assert debugged.stopped() == "Net:sum_1"
        gone = session.evaluate("add")
        with pytest.raises(RequestFailed) as refused:
            session.hover("add.shape")
        assert debugged.resume() == 'thrice.py: print("ran", tuple(y.shape))'
        logged = session.output("stdout")
        debugged.finish()
        said = session.output("important")
    assert f"FreedValue: add was {gone}" in str(refused.value)
    assert said == (
        f"fxls: stopped on line {line} of {path.name}, because its condition cannot be"
        " judged: >= add.sum()\n"
        f"  FreedValue: add was {gone}\n"
        "  It will not stop here for this reason again.\n"
    )
    earlier = gone.replace(f"line {relu}", f"line {add}")
    logged_once = f"linear was {earlier}\n{gone} is gone, torch.Size([2, 4]) is not\n"
    assert logged == logged_once * 3
