"""`fxls compare` of two ranks: the first node that should be the same in both."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

PROGRAM = """\
import sys

import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)) * SCALE)


dist.init_process_group("gloo")
rank = dist.get_rank()
SCALE = 2.0 + rank if "code" in sys.argv else 2.0
torch.manual_seed(0)
net = Net()
if "weight" in sys.argv:
    with torch.no_grad():
        net.second.weight[2, 3] += rank
torch.compile(net, backend="eager")(torch.randn(2, 4) + rank)
dist.destroy_process_group()
"""


SHARDED = """\
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1 + rank)
        self.part = nn.Linear(4, 8, bias=False)
        torch.manual_seed(0)
        self.whole = nn.Linear(8, 4, bias=False)

    def forward(self, x):
        hidden = torch.relu(self.part(x))
        hidden = functional.all_reduce(hidden, "sum", group)
        return self.whole(hidden)


dist.init_process_group("gloo")
rank = dist.get_rank()
alone = [dist.new_group([one]) for one in range(2)][rank]
group = alone if "alone" in sys.argv else dist.group.WORLD
net = Net()
if "weight" in sys.argv:
    with torch.no_grad():
        net.whole.weight[2, 3] += rank
torch.manual_seed(2)
torch.compile(net, backend="eager")(torch.randn(2, 4))
if "gone" in sys.argv:
    dist.destroy_process_group()
"""


def kept(fxls: Command, *arguments: str, program: str = PROGRAM) -> None:
    """Keep the values of two ranks."""
    fxls.file(program, "train.py")
    ranks = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
    compare = [sys.executable, "-m", "fxls", "compare", "--keep", "values.pt"]
    subprocess.run(
        [sys.executable, *ranks, *compare, "train.py", *arguments],
        cwd=fxls.folder,
        check=True,
        capture_output=True,
        timeout=600,
    )


BOTH = ("values.rank0.pt", "values.rank1.pt")


def test_a_parameter_that_is_another_one_is_named_with_both_values(
    fxls: Command,
) -> None:
    kept(fxls, "weight")

    ended = fxls.run("compare", *BOTH)
    printed = json.loads(fxls.run("compare", "--json", *BOTH).out)

    weight = "self_modules_second_parameters_weight_"
    assert ended.out.splitlines() == [
        f"error: l_{weight} is another value in both ranks, in graph 0, 0/0",
        f"  l_{weight}, L_{weight}, from train.py:14:16",
        "  values.rank0.pt and values.rank1.pt: -0.18264 and 0.81736 at [2, 3], off by 1",
        "  why: the model holds it, in each rank the same unless it is sharded",
        "",
        "1 difference (1 graph, 9 values)",
    ]
    assert ended.code == 1
    (found,) = printed["differences"]
    assert (printed["verdict"], found["node"]) == ("differs", f"l_{weight}")
    assert found["sides"] == "-0.18264 and 0.81736 at [2, 3], off by 1"


def test_ranks_may_be_given_other_inputs_and_agree(fxls: Command) -> None:
    kept(fxls)

    ended = fxls.run("compare", *BOTH)

    assert ended.out == (
        "the ranks agree in all that should be the same (1 graph, 9 values)\n"
    )
    assert ended.code == 0


def test_ranks_that_run_other_code_are_told_where_it_begins(fxls: Command) -> None:
    kept(fxls, "code")

    ended = fxls.run("compare", *BOTH)

    assert ended.out.splitlines()[:3] == [
        "error: mul is another value in both ranks, in graph 0, 0/0",
        "  mul, operator.mul, from train.py:14:28",
        "  why: it is another node there, so the ranks run other code",
    ]
    assert ended.code == 1


PART = (
    "not compared: l_self_modules_part_parameters_weight_, in graph 0, 0/0: it differs,"
    " and a collective operation is given what is computed of it, as of a shard"
)
OPEN = "nobody can say: the ranks agree as far as both files go"


OTHERS = "tensor, in graph 0, 0/0: each rank takes part in it with others"
GONE = "tensor, in graph 0, 0/0: its process group was gone when the program ended"
BEHIND = "hidden_1, linear_1, in graph 0, 0/0: its value is not in both files"


@pytest.mark.parametrize(
    ("how", "others", "count"),
    [("world", [], 8), ("alone", [OTHERS], 8), ("gone", [GONE, BEHIND], 5)],
)
def test_what_ranks_need_not_agree_in_is_left_out_by_name(
    how: str, others: list[str], count: int, fxls: Command
) -> None:
    kept(fxls, how, program=SHARDED)

    ended = fxls.run("compare", *BOTH)

    lines = ended.out.splitlines()
    said = [PART, *(f"not compared: {one}" for one in others)]
    assert sorted(lines[:-1]) == sorted(said)
    assert lines[-1] == f"{OPEN} (1 graph, {count} values)"
    assert ended.code == 2


def test_a_wrong_parameter_beside_a_shard_is_named(fxls: Command) -> None:
    kept(fxls, "weight", program=SHARDED)

    ended = fxls.run("compare", *BOTH)

    weight = "l_self_modules_whole_parameters_weight_"
    assert ended.out.splitlines()[0] == (
        f"error: {weight} is another value in both ranks, in graph 0, 0/0"
    )
    assert PART in ended.out
    assert ended.code == 1


def test_files_that_are_none_are_refused(fxls: Command) -> None:
    for name in BOTH:
        fxls.file("nothing", name)

    ended = fxls.run("compare", *BOTH)

    assert ended.err == (
        "fxls: error: values.rank0.pt: it is no file that --keep wrote\n"
    )
    assert ended.code == 2
