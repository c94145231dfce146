"""A client that talks to a real server process, and sees all that it says."""

from __future__ import annotations

import json
import queue
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["PATIENCE", "SERVE", "LspClient", "connected", "started"]

Json = Any

SERVE = "from fxls.server import serve_stdio; serve_stdio()"

PATIENCE = 300
"""Seconds after which a message that does not come fails the test."""

VS_CODE: Mapping[str, Json] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
    },
}


class LspClient:
    """One conversation.

    - Messages of the server wait until the test takes them; `end` fails when one was
      left, so a test says all that its conversation has, unless it asked for `unread`.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reading: IO[bytes] | None = None,
        writing: IO[bytes] | None = None,
    ) -> None:
        """Talks over the process's own pipes, unless there are other streams."""
        assert process.stderr is not None
        reading, writing = reading or process.stdout, writing or process.stdin
        assert reading is not None
        assert writing is not None
        self.process = process
        self._reading, self._writing = reading, writing
        self._messages: queue.Queue[Json] = queue.Queue()
        self._kept: list[Json] = []
        self._says_all = True
        self._ids = 0
        self._errors = b""
        self._readers = [
            threading.Thread(target=self._read),
            # A server whose standard error nobody reads stops when the pipe is full.
            threading.Thread(target=self._read_errors),
        ]
        for reader in self._readers:
            reader.start()

    def initialize(
        self,
        root: Path,
        options: Mapping[str, Json] | None = None,
        capabilities: Mapping[str, Json] = VS_CODE,
    ) -> Json:
        """Begin the conversation; returns the server's capabilities."""
        params = {
            "processId": None,
            "rootUri": root.as_uri(),
            "capabilities": capabilities,
            "initializationOptions": options,
        }
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result["capabilities"]

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a file, as it is on the disk when no text is given."""
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
        content = path.read_bytes().decode() if text is None else text
        self.notify("textDocument/didOpen", {"textDocument": {**item, "text": content}})

    def ask(
        self, method: str, path: Path, line: int, character: int, **more: Json
    ) -> Json:
        """The answer to a ``textDocument/`` request about a place."""
        params = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line, "character": character},
            **more,
        }
        return self.request(f"textDocument/{method}", params)

    def request(self, method: str, params: Json) -> Json:
        """The result of a request; an error of the server fails the test."""
        answer = self.answer(self.send(method, params))
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def send(self, method: str, params: Json) -> int:
        """Send a request without waiting for its answer; returns its id."""
        self._ids += 1
        self._write({"id": self._ids, "method": method, "params": params})
        return self._ids

    def send_and_cancel(self, method: str, params: Json) -> int:
        """Send a request and its cancellation in one piece; returns the id."""
        self._ids += 1
        asked = {"id": self._ids, "method": method, "params": params}
        cancelled = {"method": "$/cancelRequest", "params": {"id": self._ids}}
        self._write(asked, cancelled)
        return self._ids

    def answer(self, request: int) -> Json:
        return self._take(
            lambda message: message.get("id") == request and "method" not in message
        )

    def notify(self, method: str, params: Json) -> None:
        self._write({"method": method, "params": params})

    def notification(self, method: str) -> Json:
        """The parameters of the next notification of this kind."""
        return self._take(lambda m: m.get("method") == method)["params"]

    def reply(self, method: str, result: Json = None) -> Json:
        """Answer the server's next request of this kind; returns its parameters."""
        asked = self._take(lambda m: m.get("method") == method and "id" in m)
        self._write({"id": asked["id"], "result": result})
        return asked.get("params")

    def command(self, name: str, *arguments: Json) -> Json:
        """The answer to a command."""
        params = {"command": name, "arguments": list(arguments)}
        return self.request("workspace/executeCommand", params)

    def diagnostics(self, path: Path) -> list[Json]:
        """The next diagnostics of a file."""
        method = "textDocument/publishDiagnostics"
        said = self._take(
            lambda m: m.get("method") == method and m["params"]["uri"] == path.as_uri()
        )
        return said["params"]["diagnostics"]

    def end(self) -> str:
        """Shut the server down; returns what it wrote to standard error."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self._writing.close()
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        errors = self._errors.decode()
        assert code == 0, errors
        while not self._messages.empty():
            self._kept.append(self._messages.get())
        left = [message for message in self._kept if message is not None]
        assert left == [] or not self._says_all, f"left unread: {left}"
        return errors

    def close(self) -> None:
        """Free what the process holds, also when the test failed."""
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        assert self.process.stderr is not None
        for stream in (self._reading, self._writing, self.process.stderr):
            stream.close()

    def came(self) -> list[Json]:
        """What came before the last answer that was asked for, and nobody took yet."""
        return [message for message in self._kept if message is not None]

    def unread(self) -> list[Json]:
        """Take all that came, for a test that does not say what comes.

        More may come behind it, because the server looks at the stores by itself.
        """
        self._says_all = False
        self.request("workspace/symbol", {"query": "nothing has this name"})
        kept, self._kept = self._kept, []
        return kept

    def _take(self, wanted: Callable[[Json], bool]) -> Json:
        for kept in self._kept:
            if kept is not None and wanted(kept):
                self._kept.remove(kept)
                return kept
        while True:
            message = self._messages.get(timeout=PATIENCE)
            assert message is not None, "the server ended"
            if wanted(message):
                return message
            self._kept.append(message)

    def _write(self, *messages: Json) -> None:
        bodies = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]
        heads = [b"Content-Length: %d\r\n\r\n" % len(body) for body in bodies]
        pairs = zip(heads, bodies, strict=True)
        self._writing.write(b"".join(part for pair in pairs for part in pair))
        self._writing.flush()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors += line

    def _read(self) -> None:
        stream = self._reading
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                assert name.lower() in {b"content-length", b"content-type"}, line
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                self._messages.put(None)
                return
            self._messages.put(json.loads(stream.read(length)))


@contextmanager
def started(program: str = SERVE) -> Generator[LspClient]:
    """A server in a process of its own, that is gone afterwards."""
    process = _process(program, subprocess.PIPE)
    client = LspClient(process)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def connected() -> Generator[LspClient]:
    """A server that was reached through a socket."""
    program = "from fxls.server import serve_tcp; serve_tcp('127.0.0.1', 0)"
    process = _process(program, subprocess.DEVNULL)
    assert process.stderr is not None
    port = 0
    while not port:
        line = process.stderr.readline().decode()
        assert line, "the server ended"
        found = re.search(r"Serving on .*, (\d+)", line)
        port = int(found[1]) if found else 0
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        reading, writing = connection.makefile("rb"), connection.makefile("wb")
        client = LspClient(process, reading, writing)
        try:
            yield client
        finally:
            client.close()


def _process(program: str, streams: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=streams,
        stdout=streams,
        stderr=subprocess.PIPE,
    )
