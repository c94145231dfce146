"""`fxls compare` beside torch's bisector and its minifier, on the same planted faults.

    python -m benchmarks.wrong_numbers [--limit SECONDS] [--only FAULT]

Each tool is given the same program in a process of its own, one after the other, with
torch's caches off. It prints a table in Markdown: the seconds, the frames that were
compiled, and the answer in the tool's own words.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAM = """\
import sys

import torch
import torch._inductor.config as config
import torch._inductor.decomposition as decomposition
from torch import nn
from torch.nn import functional

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        hidden = functional.relu(self.up(self.norm(x)))
        gate = torch.sigmoid(self.down(hidden))
        scaled = functional.gelu(gate * x)
        return x + torch.log1p(scaled.abs())


def calls(target, other, is_backward):
    def wrong(graph):
        has_tangents = any(node.name.startswith("tangents") for node in graph.nodes)
        found = [node for node in graph.nodes if node.target is target]
        if found and has_tangents == is_backward:
            found[0].target = other

    return wrong


def gelu(x, approximate="none"):
    return x * torch.sigmoid(1.702 * x)


def plant(fault):
    config.force_disable_caches = True
    if fault == "relu":
        config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
    elif fault == "log1p":
        config.cpp.inject_log1p_bug_TESTING_ONLY = "accuracy"
    elif fault == "post-grad pass":
        wrong = calls(aten.sigmoid.default, aten.tanh.default, False)
        config.post_grad_custom_post_pass = wrong
    elif fault == "post-grad pass, backward":
        config.post_grad_custom_post_pass = calls(aten.mul.Tensor, aten.add.Tensor, True)
    elif fault == "joint pass":
        config.joint_custom_post_pass = calls(aten.sigmoid.default, aten.tanh.default, True)
    elif fault == "decomposition":
        decomposition.fast_random_decomps()[aten.gelu.default] = gelu


def step(run, x):
    x.grad = None
    out = run(x)
    out.square().sum().backward()
    return out.detach(), x.grad.clone()


torch.manual_seed(0)
model, x = Net(), torch.randn(8, 16, requires_grad=True)
if __name__ == "__main__":
    plant(sys.argv[1])
    step(torch.compile(model), x)
"""

BISECT = """\
import json, sys
import torch
from torch._dynamo.callback import on_compile_start
from torch._inductor.compiler_bisector import CompilerBisector
import net

frames = []
count = lambda *_: frames.append(1)
net.plant(sys.argv[1])
expected = net.step(net.model, net.x)


def is_right():
    torch._dynamo.reset()
    on_compile_start(count)
    actual = net.step(torch.compile(net.model), net.x)
    return all(torch.allclose(a, e, rtol=1e-3, atol=1e-4) for a, e in zip(actual, expected))


found = CompilerBisector.do_bisect(is_right)
print(json.dumps([str(found), len(frames)]))
"""

COUNTING = """\
import importlib.abc
import importlib.machinery
import os
import sys

WATCHED = "torch._inductor.graph"


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != WATCHED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def watched(module):
            run(module)
            write = module.GraphLowering.compile_to_module

            def counted(self):
                with open(os.environ["FXLS_COUNTED"], "a") as file:
                    file.write("1")
                return write(self)

            module.GraphLowering.compile_to_module = counted

        spec.loader.exec_module = watched
        return spec


sys.meta_path.insert(0, Finder())
"""
"""What Python runs first in each process of the minifier: it counts the graphs that
inductor writes code of."""

FAULTS = (
    "relu",
    "log1p",
    "joint pass",
    "post-grad pass",
    "post-grad pass, backward",
    "decomposition",
)


class Answer(NamedTuple):
    seconds: float
    compiled: str
    said: str


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wrong_numbers")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per tool")
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    chosen = parser.parse_args(arguments)
    print(
        "| fault | tool | seconds | frames compiled | answer |\n|---|---|---|---|---|"
    )
    for fault in FAULTS:
        if chosen.only not in fault:
            continue
        for name, ask in (
            ("`fxls compare`", _compared),
            ("CompilerBisector", _bisected),
            ("minifier", _minified),
        ):
            with tempfile.TemporaryDirectory(prefix="fxls-peers-") as folder:
                path = Path(folder)
                (path / "net.py").write_text(PROGRAM, encoding="utf-8")
                found = ask(path, fault, chosen.limit)
            row = (fault, name, f"{found.seconds:.0f}", found.compiled, found.said)
            print(f"| {' | '.join(row)} |", flush=True)


def _compared(folder: Path, fault: str, limit: float) -> Answer:
    command = [sys.executable, "-m", "fxls", "compare", "--json", "net.py", fault]
    seconds, out = _run(command, folder, limit)
    found = json.loads(out) if out.startswith("{") else None
    if found is None:
        return Answer(seconds, "", _unended(limit))
    more = found["more_compilations"]
    said = [
        f"{one['kind']} {one['name']}: "
        + ", ".join(
            f"`{node['name']}`"
            + (f", line {node['place']['line']}" if node["place"] else "")
            for node in one["nodes"]
        )
        for one in found["faults"][:1]
    ]
    graphs = found["judged"]["graphs"]
    return Answer(seconds, f"{graphs} and {more} more", "; ".join(said) or "nobody")


def _bisected(folder: Path, fault: str, limit: float) -> Answer:
    (folder / "bisect_net.py").write_text(BISECT, encoding="utf-8")
    command = [sys.executable, "bisect_net.py", fault]
    seconds, out = _run(command, folder, limit)
    last = out.strip().splitlines()[-1:]
    if not last or not last[0].startswith("["):
        return Answer(seconds, "", _unended(limit))
    said, frames = json.loads(last[0])
    text = re.sub(r"BisectionResult\(|\)$", "", said)
    return Answer(seconds, str(frames), text.replace("|", "/")[:160])


def _minified(folder: Path, fault: str, limit: float) -> Answer:
    counting, counted = folder / "counting", folder / "counted.txt"
    counting.mkdir()
    (counting / "sitecustomize.py").write_text(COUNTING, encoding="utf-8")
    counted.touch()
    count = {"PYTHONPATH": str(counting), "FXLS_COUNTED": str(counted)}
    after = {"TORCHDYNAMO_REPRO_AFTER": "aot", "TORCHDYNAMO_REPRO_LEVEL": "4", **count}
    seconds, _ = _run([sys.executable, "net.py", fault], folder, limit, after)
    launchers = sorted(folder.rglob("minifier_launcher.py"))
    if not launchers:
        graphs = f"{counted.stat().st_size} graphs"
        return Answer(seconds, graphs, "it sees no fault")
    command = [sys.executable, str(launchers[0])]
    more, _ = _run(command, folder, limit, {"MINIFIER_DUMP": "1", **count})
    graphs = f"{counted.stat().st_size} graphs"
    scripts = [*folder.rglob("checkpoints/*.py")]
    counts = [
        int(match[1]) for one in scripts if (match := re.match(r"(\d+)", one.name))
    ]
    is_done = more < limit
    left = f"{min(counts)} nodes left" if counts else "no smaller graph"
    said = left if is_done else f"{left}, not done in time"
    return Answer(seconds + more, graphs, said)


def _run(
    command: Sequence[str],
    folder: Path,
    limit: float,
    more: dict[str, str] | None = None,
) -> tuple[float, str]:
    """How long it took, and what it printed, in a cache of its own."""
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    debug = {"TORCH_COMPILE_DEBUG_DIR": str(folder / "debug")}
    began = time.perf_counter()
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **cache, **debug, **(more or {})},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
        out = ended.stdout
    except subprocess.TimeoutExpired:
        out = ""
    return time.perf_counter() - began, out


def _unended(limit: float) -> str:
    return f"no answer in {limit:.0f} seconds"


if __name__ == "__main__":
    main()
