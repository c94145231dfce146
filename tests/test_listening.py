"""Whether somebody listens is asked without being in anybody's way."""

from __future__ import annotations

import socket
import sys
import threading

import pytest

from fxls.launching.listening import LOCAL, Address, free, is_taken, trouble


def test_a_port_is_taken_while_somebody_listens() -> None:
    with socket.create_server((LOCAL, 0)) as listening:
        where = Address(LOCAL, listening.getsockname()[1])
        assert (is_taken(where), trouble(where)) == (
            True,
            f"cannot listen on {where}: Address already in use",
        )
    assert (is_taken(where), trouble(where)) == (False, None)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one socket has a port")
def test_who_asks_keeps_nobody_from_listening() -> None:
    where, is_over = free(), threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            is_taken(where)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(2000):
            # Raises where whoever asks has the port at this moment.
            socket.create_server((where.host, where.port)).close()
    finally:
        is_over.set()
        asking.join()
