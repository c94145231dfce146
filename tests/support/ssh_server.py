"""A machine that can be reached by ssh, as a process of a test: it serves files alone.

Run with a folder; writes there what a user's ``~/.ssh`` needs to reach it, and prints
its port.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import asyncssh

__all__ = ["ssh_server"]


@contextlib.contextmanager
def ssh_server(home: Path) -> Generator[str]:
    """Serve as long as the block runs; gives the URL of the root of its files.

    Who has `home` for a home folder may log in, and knows the server.
    """
    command = [sys.executable, "-m", __name__, str(home)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as server:
        try:
            assert server.stdout is not None
            yield f"ssh://somebody@127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


async def _serve(home: Path) -> None:
    ssh: Any = cast("Any", asyncssh)
    folder = home / ".ssh"
    folder.mkdir(mode=0o700)
    host, user = (ssh.generate_private_key("ssh-ed25519") for _ in range(2))
    user.write_private_key(folder / "id_ed25519")
    user.write_public_key(folder / "authorized")
    server = await ssh.listen(
        *("127.0.0.1", 0),
        server_host_keys=[host],
        authorized_client_keys=str(folder / "authorized"),
        sftp_factory=True,
    )
    known = host.export_public_key().decode()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{server.get_port()} {known}")
    print(server.get_port(), flush=True)  # noqa: T201 - to who started it
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
