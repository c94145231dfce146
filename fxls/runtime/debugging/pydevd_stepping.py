"""A step of debugpy's goes on where it would end in what only leads to generated code.

Raises what `fxls.runtime.debugging.pydevd.logging_unknown` catches where this debugpy is another one.
"""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

from fxls.runtime.debugging.step_through import has_more_lines, leads_on
from fxls.runtime.patches import Patches

__all__ = ["step_on"]


def step_on(pydb: Any, patches: Patches) -> None:
    """Let steps go on; stops for another reason are as they are."""
    commands: Any = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
    infos: Any = sys.modules["_pydevd_bundle.pydevd_additional_thread_info"]
    constants: Any = sys.modules["_pydevd_bundle.pydevd_constants"]
    step: Any = sys.modules["_pydevd_bundle.pydevd_comm"].internal_step_in_thread
    over: Any = commands.CMD_STEP_OVER
    into = {commands.CMD_STEP_INTO, commands.CMD_STEP_INTO_MY_CODE}
    returning = {commands.CMD_STEP_RETURN, commands.CMD_STEP_RETURN_MY_CODE}
    steps = {*into, *returning, over, commands.CMD_STEP_OVER_MY_CODE}
    own: Any = pydb.do_wait_suspend
    stop: Any = pydb._do_wait_suspend

    @functools.wraps(own)
    def wait(
        thread: Any, frame: FrameType, event: str, *more: Any, **named: Any
    ) -> Any:
        reason = thread.stop_reason
        is_back = event == "return"
        if reason not in steps or not leads_on(frame, is_back=is_back):
            return own(thread, frame, event, *more, **named)
        command = reason if reason in into and not is_back else over
        if reason in returning and not has_more_lines(frame):
            command = reason
        thread_id = constants.get_current_thread_id(thread)
        step(pydb, thread_id, command, infos.set_additional_thread_info)
        # With nothing to wait for, this does what follows a request of the client's.
        return stop(thread, frame, event, None, "trace", [], None)

    patches.put(pydb, "do_wait_suspend", wait)
