"""What a source does when it is imported, besides defining."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch.nn
import torch.optim

from fxls.ide.syntax.import_work import import_work

NET = """\
import argparse, sys
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x.sigmoid() - x

def train(epochs):
    for epoch in range(epochs):
        step()

def step():
    loss = Net()(torch.randn(2, requires_grad=True)).sum()
    loss.backward()

class Runner:
    def __init__(self, name):
        self.name = name

    def begin(self):
        train(3)

def options():
    return argparse.ArgumentParser().parse_args()

"""

WORK = [
    ("train(3)", "trains"),
    ("for epoch in range(3):\n    validate_with_imported(epoch)", "trains"),
    ("for batch in batches:\n    step()", "trains"),
    ("while True:\n    step()", "trains"),
    ("runner = Runner('a')\nrunner.begin()", "trains"),
    ("Runner('a').begin()", "trains"),
    ("if torch.cuda.is_available():\n    train(3)", "trains"),
    ("try:\n    train(3)\nfinally:\n    print()", "trains"),
    ("with open('log') as log:\n    train(3)", "trains"),
    ("if __name__ != '__main__':\n    train(3)", "trains"),
    ("if __name__ == '__main__':\n    pass\nelse:\n    train(3)", "trains"),
    ("pl.Trainer(max_epochs=3).fit(model)", "trains"),
    ("for e in tqdm(range(num_epochs)):\n    run(model)", "trains"),
    ("done = 0\nwhile done < epochs:\n    run(model)", "trains"),
    ("for batch in batches:\n    optimizer.step(closure)", "trains"),
    ("trainer = Trainer(model)\ntrainer.train()", "trains"),
    ("args = options()\ntrain(args.epochs)", "trains"),
    ("args = options()", "reads the command line"),
    ("@hydra.main(config_name='a')\ndef run(cfg): ...\nrun()", "reads the command line"),
    ("device = sys.argv[1]", "reads the command line"),
    ("typer.run(Runner)", "reads the command line"),
    ("app.run(Runner)", "reads the command line"),
    ("while True:\n    serve()", "runs until it is stopped"),
    ("demo.launch(share=False)", "starts a server"),
    ("uvicorn.run(app)", "starts a server"),
    ("plt.show()", "opens a window"),
    ("unittest.main()", "runs tests"),
    ("size = int(input('size? '))", "waits for input"),
    ("torch.distributed.init_process_group('gloo')", "joins or starts other processes"),
    ("torch.multiprocessing.spawn(train, (3,))", "joins or starts other processes"),
    ("mp.spawn(train, (3,))", "joins or starts other processes"),
    ("data = datasets.MNIST('.', download=True)", "downloads data"),
]  # fmt: skip

DEFINES = [
    "if __name__ == '__main__':\n    train(3)",
    "if '__main__' == __name__:\n    args = options()\n    train(args.epochs)",
    "model = Net()\nmodel.train()",
    "loss = Net()(torch.ones(2, requires_grad=True)).sum()\nloss.backward()",
    "step()",
    "run = lambda: train(3)",
    "def main():\n    train(3)",
    "class Later(Runner):\n    def begin(self):\n        train(4)",
    "parser = argparse.ArgumentParser()\nparser.add_argument('--epochs')",
    "program = sys.argv[0]",
    "table = [x * x for x in range(65536)]\nfor name in 'ab':\n    globals()[name] = 1",
    "data = datasets.MNIST('.', download=False)",
    "for epoch in range(3):\n    pass",
    "args = argparse.ArgumentParser().parse_args([])",
    "args = argparse.ArgumentParser().parse_args(args=['--epochs', '3'])",
    "while True:\n    if found():\n        break",
    "for place in range(3):\n    walk.step()",
    "model = torch.compile(Net())\nmodel(torch.ones(2))",
    "train(3",
]


@pytest.mark.parametrize(("code", "does"), WORK)
def test_a_statement_that_does_the_work_of_a_program_is_found(
    code: str, does: str
) -> None:
    found = import_work(NET + code)

    assert found is not None
    assert found.does == does


@pytest.mark.parametrize("code", DEFINES)
def test_what_defines_or_is_only_run_as_a_program_is_no_work(code: str) -> None:
    assert import_work(NET + code) is None


def test_the_weightiest_statement_is_named_by_its_line() -> None:
    found = import_work(NET + "args = options()\ntrain( args.epochs )  # all\n")

    assert found is not None
    line = NET.count("\n") + 1
    assert (found.span.start.line, found.text) == (line, "train(args.epochs)")


def test_functions_that_call_each_other_end() -> None:
    text = "def a():\n    b().backward()\ndef b():\n    a()\nwhile a(): b()\n"

    found = import_work(text)

    assert found is not None
    assert found.does == "trains"


def test_what_is_nested_more_deeply_than_python_recurses_is_no_work() -> None:
    assert import_work(f"model.fit({'+'.join(['1'] * 3000)})") is None


def test_no_file_of_torch_that_a_program_imports_does_work() -> None:
    folders = {Path(inspect.getfile(one)).parent for one in (torch.nn, torch.optim)}
    files = [path for folder in folders for path in folder.rglob("*.py")]

    found = [path for path in files if import_work(path.read_text("utf-8"))]

    assert len(files) > 50
    assert found == []
