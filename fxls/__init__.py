"""fxls: the code that PyTorch graph tools generate, as first-class source code.

Importing this package imports neither torch nor a protocol.
"""

from __future__ import annotations

from fxls._version import __version__

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fxls.listing import Listing
    from fxls.record import Pass

__all__ = [
    "__version__",
    "break_on",
    "install",
    "listing_of",
    "new_run",
    "passes",
    "set_trace",
    "show",
    "uninstall",
]


def install(
    store: str | os.PathLike[str] | None = None, *, keep_values: bool | None = None
) -> Path:
    """Let every graph module made from now on run from a file of the store.

    `store` is the folder; by default ``FXLS_STORE``, else the `.fxls` that belongs to the
    program. With `keep_values`, or ``FXLS_KEEP_VALUES=1``, the value of a node lives until
    the forward returns, so that a debugger can show it. Returns the folder.
    """
    from fxls.runtime import install as install_runtime  # noqa: PLC0415 - imports torch

    return install_runtime(store, keep_values=keep_values)


def break_on(*rules: str, on_break: str = "report") -> None:
    """Watch the nodes of every graph module: for ``nan``, ``inf``, ``shape``,
    ``dtype-change``, ``grad-nan``, or any of them; without a rule, watch no more.

    The first node whose value breaks a rule stops the program in the debugger. Where
    there is none it is reported on standard error; with ``on_break="raise"`` it raises
    `fxls.rules.BrokenRule` in either case.
    """
    from fxls.runtime import break_on as watch  # noqa: PLC0415 - imports torch

    watch(*rules, on_break=on_break)


def uninstall() -> None:
    """Let graph modules run from memory again, as before `install`."""
    from fxls.runtime import uninstall as uninstall_runtime  # noqa: PLC0415 - as above

    uninstall_runtime()


def listing_of(module: object) -> Listing:
    """The listing of a graph module of torch.fx, torch.compile or fxls.engine, or of a
    program of torch.export, as a value (`fxls.listing.Listing`).
    """
    from fxls.runtime import listing_of_module  # noqa: PLC0415 - imports torch

    return listing_of_module(module)


def show(module: object) -> Path:
    """Write the listing of a graph module, print where it is, and return that.

    An editor in which fxls runs opens it; in a notebook the cell shows it, and nothing
    is printed.
    """
    from fxls.runtime import show as show_listing  # noqa: PLC0415 - imports torch

    return show_listing(module)


def passes(module: object) -> AbstractContextManager[list[Pass]]:
    """A block in which functions transform a graph module of torch.fx or fxls.engine.

    Each ends where the module is recompiled, and is called after the function that did
    that; where it changed the graph, the graph that it left is a revision of the listing.
    The block gives the list of those (`fxls.record.Pass`). Installs the runtime when it
    is not.
    """
    from fxls.runtime import passes_of  # noqa: PLC0415 - as above

    return passes_of(module)


def new_run() -> None:
    """End the record of this run: what is compiled from now on is in another one.

    For a process that does one thing after the other, as a notebook. It is of the same
    launch where this process is one of several that belong together.
    """
    from fxls.runtime import new_run as cut_run  # noqa: PLC0415 - as above

    cut_run()


def set_trace() -> None:
    """Stop here, as `pdb.set_trace` does; a step then goes straight into a forward.

    In the debugger that is connected, else in `fxls.pdb`. Also for programs that say
    ``breakpoint()``: set ``PYTHONBREAKPOINT=fxls.set_trace``.
    """
    from fxls.pdb import stop_in_caller  # noqa: PLC0415 - as above

    stop_in_caller()


def load_ipython_extension(_shell: object) -> None:
    """``%load_ext fxls`` in a notebook: as `install`."""
    install()


def unload_ipython_extension(_shell: object) -> None:
    """``%unload_ext fxls`` in a notebook: as `uninstall`."""
    uninstall()
