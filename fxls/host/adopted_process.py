"""A process that began before there was an event loop, as asyncio has its own."""

from __future__ import annotations

import asyncio
import subprocess

__all__ = ["AdoptedProcess"]


class AdoptedProcess:
    """Its pipes, its end and its number, under the names of `asyncio.subprocess`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: asyncio.WriteTransport,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.pid = process.pid
        self._process = process

    @classmethod
    async def of(cls, process: subprocess.Popen[bytes]) -> AdoptedProcess:
        loop = asyncio.get_running_loop()
        assert process.stdin is not None
        stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        readers: list[asyncio.StreamReader] = []
        for pipe in (process.stdout, process.stderr):
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            await loop.connect_read_pipe(lambda p=protocol: p, pipe)
            readers.append(reader)
        return cls(process, stdin, *readers)

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait)

    def kill(self) -> None:
        self._process.kill()
