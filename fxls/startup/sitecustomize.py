"""Python runs this at its start when this folder is on PYTHONPATH: the way to turn the
runtime on for a program from outside.

`fxls run` and the editor's launches put it there, and FXLS_STORE beside it. The program
finds `sys.path` as it would be. Processes that it starts inherit both.
"""

import os
import sys


def _step_aside() -> None:
    """Leave the path, and let the environment's own sitecustomize run."""
    folder = os.path.dirname(__file__)  # noqa: PTH120 - pathlib costs time at each start
    sys.path[:] = [at for at in sys.path if os.path.abspath(at) != folder]  # noqa: PTH100
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]  # another one
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own  # where the import of it looks for it


def _begin() -> None:
    try:
        from fxls.launching.beginning import begin  # noqa: PLC0415
    except ImportError:
        return  # the interpreter of a child process, where there is no fxls
    begin()


_step_aside()
_begin()
