"""`fxls serve`: the language server, as editors start it."""

from __future__ import annotations

import argparse
import os
import sys

from fxls.cli.command import Commands, ExitCode, add_command, say
from fxls.cli.listen_option import warn_of_exposure

__all__ = ["add", "serve"]


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "serve",
        "run the language server, as editors do",
        "It speaks LSP on standard input and output unless --tcp says otherwise.",
    )
    parser.set_defaults(command=serve)
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--stdio", action="store_true", help="standard input and output (the default)"
    )
    way.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="wait for a client there"
    )

    parser.add_argument(
        "--warm",
        action="store_true",
        help="import torch at once: the editor shows a model in this folder",
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def serve(options: argparse.Namespace) -> int:
    """`fxls serve`: the language server."""
    # The pipes of a process that is there already cannot be joined on Windows.
    is_early = options.warm and options.tcp is None and sys.platform != "win32"
    early = None
    if is_early:
        from fxls.host.early_worker import EarlyWorker

        early = EarlyWorker()
    from fxls.serving.transport.quick_start import quick_imports

    with quick_imports():
        from fxls.server import serve_stdio, serve_tcp
    store = os.environ.get("FXLS_STORE") or None
    if options.tcp is None:
        serve_stdio(store=store, early=early)
        return ExitCode.OK
    from fxls.launching.listening import Address

    warn_of_exposure(Address(*options.tcp))
    try:
        serve_tcp(*options.tcp, store=store)
    except OSError as error:
        host, port = options.tcp
        # What asyncio makes of `strerror` says the address once more.
        problem = os.strerror(error.errno) if error.errno else str(error)
        say(f"fxls: error: cannot listen on {host}:{port}: {problem}")
        return ExitCode.SYSTEM
    return ExitCode.OK
