"""Whether a process is there, asked with the signal that is none.

On Windows there is no such signal: what is one elsewhere is Ctrl+C there.
"""

from __future__ import annotations

import os
import sys

__all__ = ["refusal"]


def refusal(pid: int) -> OSError | None:
    """Why a process cannot be sent a signal, as that there is none; None when it can.

    None on Windows, and of a number that stands for several processes: nobody is asked.
    """
    if sys.platform == "win32" or pid <= 0:
        return None
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error
    return None
