"""`python -m fxls.worker`: started by a host, with pipes as its standard streams."""

from __future__ import annotations

from fxls.worker.channel import claim

if __name__ == "__main__":
    # Ahead of every other import: what those print must not get into the answers.
    channel = claim()

    from fxls.worker.program import main

    main(channel)
