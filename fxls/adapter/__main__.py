"""The command of the adapter, ``python -m fxls.adapter``, which editors start."""

from __future__ import annotations

import os
import sys

from fxls.adapter.relay import Relay
from fxls.launching.listening import missing

__all__ = ["main"]


def main() -> int:
    """Be the adapter until the editor hangs up; returns what to end with."""
    trouble = missing()
    if trouble is None:
        # Not those of `sys`, which Python waits for at its end, whoever reads them then.
        received = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
        sent = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
        trouble = Relay(received, sent, os.environ).run()
    if trouble is None:
        return 0
    print(f"fxls: error: {trouble}", file=sys.stderr)  # noqa: T201  # a command line
    return 1


if __name__ == "__main__":
    sys.exit(main())
