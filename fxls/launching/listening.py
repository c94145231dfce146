"""Where a program waits for a debugger, and how it is started so that it does.

``python -m fxls.launching.listening --listen HOST:PORT [--wait-for-client] PROGRAM...`` is
``python -m debugpy`` with the same arguments, which says when a debugger may come.
"""

from __future__ import annotations

import getpass
import importlib.util
import ipaddress
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "LOCAL",
    "Address",
    "address",
    "exposure",
    "free",
    "is_taken",
    "missing",
    "trouble",
    "under_debugger",
]

LOCAL = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port of it; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def address(text: str) -> Address:
    """The address that ``[HOST:]PORT`` is; raises ValueError, which says what is wrong."""
    host, colon, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (colon and not host):
        raise ValueError(f"{text!r} is not [HOST:]PORT")
    return Address(host.strip("[]") or LOCAL, int(port))


def trouble(wanted: Address) -> str | None:
    """Why nobody can listen there; None when it can be done."""
    try:
        with _bound(wanted) as made:
            made.listen()
    except OSError as error:
        return f"cannot listen on {wanted}: {error.strerror or error}"
    return None


def is_taken(wanted: Address) -> bool:
    """Whether somebody listens there, found without a connection: debugpy takes one, once.

    - Nobody is kept from listening by the question: on Linux two sockets may be bound to
      one port as long as neither listens.
    """
    try:
        _bound(wanted).close()
    except OSError:
        return True
    return False


def exposure(wanted: Address) -> str | None:
    """What to say before something listens that obeys whoever connects.

    None where this machine alone gets there, or where there is no such host.
    """
    try:
        # As whoever binds it does: "0", "127.1" and names are addresses, too.
        found = socket.getaddrinfo(wanted.host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    if all(_is_loopback(str(place[0])) for *_, place in found):
        return None
    return (
        f"whoever reaches {wanted} can run code as {_user()} on this machine, without"
        f" a password\nhelp: Listen on {LOCAL}, and come from elsewhere through"
        " `ssh -L`, unless you trust all of that network."
    )


def _is_loopback(host: str) -> bool:
    found = ipaddress.ip_address(host)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def _user() -> str:
    try:
        return getpass.getuser()
    # Python before 3.13 lets the error of the module pwd through, and Windows has none.
    except (ImportError, KeyError, OSError):
        return "this user"


def free() -> Address:
    """An address of this machine on which nobody listens."""
    with _bound(Address(LOCAL, 0)) as listening:
        return Address(LOCAL, listening.getsockname()[1])


def missing() -> str | None:
    """What to say when there is no debugger to wait with; None when there is one."""
    if importlib.util.find_spec("debugpy") is None:
        return "there is no debugpy\nhelp: Install it: pip install 'fxls[debug]'."
    return None


def under_debugger(
    wanted: Address, program: Sequence[str], *, waits: bool
) -> list[str]:
    """What Python is to run instead of `program`, so that it listens for a debugger."""
    waiting = ["--wait-for-client"] if waits else []
    return [
        # Breakpoints in frozen modules would be missed, and debugpy complains.
        *("-X", "frozen_modules=off", "-m", "fxls.launching.listening"),
        *("--listen", str(wanted), *waiting, *program),
    ]


def main() -> None:
    """Be ``python -m debugpy``, and say where it listens once it does."""
    import debugpy  # noqa: PLC0415, T100  # pyright: ignore[reportMissingTypeStubs]  # the program may be without
    from debugpy.server import cli  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]  # as above

    own: Any = debugpy.listen
    waits = "--wait-for-client" in sys.argv

    def listen(*args: Any, **more: Any) -> Any:
        host, port = own(*args, **more)
        where = Address(host, port)
        verb = "waits for a debugger" if waits else "can be debugged"
        print(f"fxls: the program {verb} on {where}", file=sys.stderr, flush=True)  # noqa: T201  # a command line
        return host, port

    debugpy.listen = listen
    cli.main()  # pyright: ignore[reportUnknownMemberType]  # untyped


def _bound(wanted: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    made = socket.socket(family)
    try:
        # As debugpy does: a port that was just closed can be taken again.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((wanted.host, wanted.port))
    except OSError:
        made.close()
        raise
    return made


if __name__ == "__main__":
    main()
