"""Whether somebody listens is asked without being in anybody's way."""

from __future__ import annotations

import socket

from fxls.launching.listening import LOCAL, Address, free, is_taken, trouble


def test_a_port_is_taken_while_somebody_listens() -> None:
    with socket.create_server((LOCAL, 0)) as listening:
        where = Address(LOCAL, listening.getsockname()[1])
        assert (is_taken(where), trouble(where)) == (
            True,
            f"cannot listen on {where}: Address already in use",
        )
    assert (is_taken(where), trouble(where)) == (False, None)


def test_who_asks_keeps_nobody_from_listening() -> None:
    where = free()
    for _ in range(1000):
        assert not is_taken(where)
        with socket.create_server((where.host, where.port)):
            assert is_taken(where)
