"""Which buffers of inductor's code are read, and when: where a kernel has written them."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import torch

from fxls.runtime.numbers.judging.kernels import Reading
from fxls.runtime.numbers.kept import KeptCall, Lowered
from fxls.runtime.numbers.room import Values

CODE = """\
def call(args):
    arg0, = args
    args.clear()
    buf0 = empty((3,))
    kernel(arg0, buf0)
    buf1 = buf0; del buf0  # reuse
    buf2 = buf1; del buf1  # reuse
    buf3 = empty((3,))
    buf4 = buf3; del buf3  # reuse
    kernel(buf2, buf4)
    del buf2
    return (buf4, )
"""


def adds(first: Any, out: Any) -> None:
    torch.add(first, 1, out=out)


def test_a_buffer_is_read_only_when_a_kernel_was_given_its_memory(
    tmp_path: Path,
) -> None:
    path = tmp_path / "code.py"
    path.write_text(CODE, "utf-8")
    linecache.checkcache(str(path))
    values: dict[str, Any] = {"empty": torch.empty, "kernel": adds}
    exec(compile(CODE, str(path), "exec"), values)  # as inductor does
    reading = Reading(str(path), Values())
    lowered = Lowered(KeptCall(()), is_backward=False, run=values["call"])

    reading.call(lowered, [torch.tensor([0.0, 1.0, 2.0])])

    found = {name: value.tolist() for name, value in reading.values.items()}
    assert found == {
        "buf0": [1.0, 2.0, 3.0],
        "buf2": [1.0, 2.0, 3.0],
        "buf4": [2.0, 3.0, 4.0],
    }
