"""The debug adapter as editors start it by a command: ``python -m fxls.adapter``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any, cast

from fxls.adapter.configuration import Unclear, translated
from fxls.adapter.messages import read, write
from fxls.listening import missing

__all__ = ["main"]


def main() -> int:
    """Be the adapter until the editor hangs up; returns what to end with."""
    problem = missing()
    if problem is not None:
        print(f"fxls: error: {problem}", file=sys.stderr)  # noqa: T201  # a command line
        return 1
    received = sys.stdin.buffer
    with subprocess.Popen(
        [sys.executable, "-m", "debugpy.adapter"], stdin=subprocess.PIPE
    ) as adapter:
        sent = cast("IO[bytes]", adapter.stdin)
        while (message := read(received)) is not None:
            refusal = _pass_on(message, sent)
            if refusal is not None:
                write(sys.stdout.buffer, refusal)
        sent.close()
        return adapter.wait()


def _pass_on(message: bytes, sent: IO[bytes]) -> Mapping[str, Any] | None:
    """Pass a message of the editor on; returns the answer to one that is refused."""
    request: Any = json.loads(message)
    if request.get("command") == "launch":
        try:
            request["arguments"] = translated(
                request.get("arguments") or {}, os.environ
            )
        except Unclear as unclear:
            return {
                "seq": 0,
                "type": "response",
                "request_seq": request["seq"],
                "success": False,
                "command": "launch",
                "message": f"fxls: {unclear}",
            }
        message = json.dumps(request).encode()
    sent.write(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))
    sent.flush()
    return None


if __name__ == "__main__":
    sys.exit(main())
