"""Runs the four acts; the exit code says whether each went as it says."""

from __future__ import annotations

import sys
import time

from tools.demo import compiler, debug, editor, screen, trace
from tools.demo.expect import NotSoError
from tools.demo.places import GPT, RESNET


def main() -> int:
    began = time.perf_counter()
    try:
        screen.act(
            1,
            "The code that nobody wrote is a file",
            "Each model is traced; its generated forward is written to the store.",
        )
        resnet = trace.show(RESNET, nodes=71)
        gpt = trace.show(GPT, nodes=78)
        screen.act(
            2,
            "An editor understands it",
            "A language server in its own process, asked over stdio.",
        )
        editor.show(resnet)
        screen.act(
            3,
            "A debugger stops in it",
            "debugpy runs examples/run_gpt.py with the settings an editor would send.",
        )
        debug.show(gpt)
        screen.act(
            4,
            "A compiler shows its work",
            "torch.compile runs examples/compile_gpt.py with a pass of its own.",
        )
        compiler.show()
    except NotSoError as failure:
        print(f"\nthe demo stopped, this should be so: {failure}", file=sys.stderr)
        return 1
    screen.say(f"All of it real, in {time.perf_counter() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
