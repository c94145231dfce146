"""Which buffers of inductor's code are read, and when: where a kernel has written them."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
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
    buf1 = arg0; del arg0  # reuse
    buf2 = empty((3,))
    second(buf0, buf1, buf2)
    del buf0
    del buf1
    return (buf2, )
"""


def adds(first: Any, out: Any) -> None:
    torch.add(first, 1, out=out)


def writes_the_last(first: Any, _reused: Any, out: Any) -> None:
    torch.mul(first, 2, out=out)


def writes_both(first: Any, reused: Any, out: Any) -> None:
    reused.copy_(first)
    torch.mul(first, 2, out=out)


@pytest.mark.parametrize(
    ("second", "read"),
    [(writes_both, {"buf0", "buf1", "buf2"}), (writes_the_last, {"buf0", "buf2"})],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
def test_a_buffer_in_memory_of_an_input_is_read_only_when_it_is_written(
    tmp_path: Path, second: Callable[..., None], read: set[str], dtype: Any
) -> None:
    path = tmp_path / "code.py"
    path.write_text(CODE, "utf-8")
    linecache.checkcache(str(path))

    def empty(size: tuple[int, ...]) -> torch.Tensor:
        return torch.empty(size, dtype=torch.float32)

    values = {"empty": empty, "kernel": adds, "second": second}
    exec(compile(CODE, str(path), "exec"), values)  # as inductor does
    reading = Reading(str(path), Values())
    lowered = Lowered(KeptCall(()), is_backward=False, run=values["call"])  # pyright: ignore[reportArgumentType]  # made by exec
    given = torch.tensor([0.0, 1.0, 2.0]).to(dtype)

    (last,) = reading.call(lowered, [given.clone()])

    assert reading.values.keys() == read
    assert torch.equal(reading.values["buf2"], last)
