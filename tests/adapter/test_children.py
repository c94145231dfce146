"""Child processes of a program under ``python -m fxls.adapter`` stop, or run on."""

from __future__ import annotations

import contextlib
import threading
from queue import SimpleQueue
from typing import Any, cast

import pytest

from fxls.adapter.children import Children
from fxls.adapter.messages import Message, event
from tests.debug.project import Project
from tests.support.dap import Ended, RequestFailed, Session
from tests.support.dap_connection import TIME_LIMIT, Json

pytestmark = pytest.mark.slow

PARENT = """\
    import subprocess, sys
    print("parent", subprocess.run([sys.executable, "child.py"]).returncode)
    """

CHILD = """\
    x = 1
    y = x + 1
    """

SPAWNING = """\
    import multiprocessing


    def work(n):
        total = n + 1
        return total


    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=work, args=(3,))
        process.start()
        print("pid", process.pid, flush=True)
        process.join()
        print("child", process.exitcode)
    """


def test_children_run_on_when_the_editor_knows_nothing_of_them(
    project: Project,
) -> None:
    project.write({"parent.py": PARENT, "child.py": CHILD})
    with adapted(project) as session:
        session.launch(project.folder / "parent.py", cwd=project.folder)
        assert session.wait_ended() == 0
        assert session.output("stdout") == "parent 0\n"
        (announced,) = session.events("debugpyAttach")
        said = session.output("console")
        assert said == (
            f"fxls: the child process {announced.body['subProcessId']} runs without a "
            'debugger: the editor did not attach to it in 10 s. With `"subProcess": '
            "false` in the configuration, children are not waited for.\n"
        )


def test_children_run_on_when_the_editor_refuses_them(project: Project) -> None:
    project.write({"parent.py": PARENT, "child.py": CHILD})
    asked: list[int] = []

    def refuse(request: Json) -> None:
        asked.append(configuration_of(request)["subProcessId"])
        raise RequestFailed("no room for a session")

    with adapted(project) as session:
        session.answer_requests(refuse)
        session.launch(project.folder / "parent.py", cwd=project.folder)
        assert session.wait_ended() == 0
        assert session.output("stdout") == "parent 0\n"
        (process,) = asked
        said = session.output("console")
        assert said == (
            f"fxls: the child process {process} runs "
            'without a debugger: no room for a session. With `"subProcess": false` in '
            "the configuration, children are not waited for.\n"
        )


def test_a_breakpoint_in_a_child_stops_when_the_editor_starts_a_session_for_it(
    project: Project,
) -> None:
    project.write({"spawning.py": SPAWNING})
    path, line = project.line("spawning.py: total = n + 1")
    begun: SimpleQueue[tuple[int, Session]] = SimpleQueue()

    def begin(asked: Json) -> None:
        configuration = configuration_of(asked)
        child = adapted(project)
        child.attach({path: [line]}, settings=configuration)
        begun.put((configuration["subProcessId"], child))

    with adapted(project) as session, contextlib.ExitStack() as open_ones:
        session.answer_requests(begin)
        session.launch(path, cwd=project.folder)
        while not session.output("stdout").endswith("\n"):
            session.wait_event("output")  # debugpy may send a line in parts
        worker = int(session.output("stdout").removeprefix("pid "))
        children: dict[int, Session] = {}
        while len(children) < 2:  # Python's resource tracker is one, first or second
            process, child = begun.get(timeout=TIME_LIMIT)
            children[process] = open_ones.enter_context(child)
        child = children[worker]
        child.wait_stopped()
        assert child.where() == f"work spawning.py:{line}"
        child.resume()
        assert session.wait_ended() == 0
        assert session.output("stdout") == f"pid {worker}\nchild 0\n"
        assert session.output("console") == ""


def test_a_child_that_an_editor_debugs_is_left_alone(project: Project) -> None:
    project.write({"parent.py": PARENT, "child.py": CHILD})
    path = project.folder / "child.py"
    said: list[Message] = []
    with Session.spawn(cwd=project.folder) as session:
        session.launch(project.folder / "parent.py", cwd=project.folder)
        announced = session.wait_event("debugpyAttach").body
        with adapted(project) as child:
            child.attach({path: [2]}, settings=announced)
            child.wait_stopped()
            children = Children(said.append, 60)
            children.from_adapter(event("debugpyAttach", announced))
            children.let_run(announced)
            assert said == []
            assert child.where() == "<module> child.py:2"
            assert child.evaluate("x") == "1"
            child.resume()
            child.wait_event("terminated")
        assert session.wait_ended() == 0


def adapted(project: Project) -> Session:
    """A session with ``python -m fxls.adapter``, as an editor starts it."""
    return Session.spawn(cwd=project.folder, adapter="fxls.adapter")


def configuration_of(request: Json) -> dict[str, Any]:
    return cast("dict[str, Any]", request["configuration"])


MODEL = """\
    import torch


    class Net(torch.nn.Module):
        def forward(self, x):
            return 1 + torch.relu(x)


    def work():
        module = torch.fx.symbolic_trace(Net())
        open("made.txt", "w").write(str(module(torch.ones(2)).tolist()))


    if __name__ == "__main__":
        work()
    """

BY_MULTIPROCESSING = """\
    import multiprocessing
    from model import work

    if __name__ == "__main__":
        process = multiprocessing.get_context("{way}").Process(target=work)
        process.start()
        process.join()
        print("ended", process.exitcode, flush=True)
    """

BY_TORCHRUN = """\
    from torch.distributed.run import main

    if __name__ == "__main__":
        main(["--standalone", "--nproc-per-node", "1", "model.py"])
        print("ended 0", flush=True)
    """


BY_DATALOADER = """\
    from torch.utils.data import DataLoader, Dataset
    from model import work


    class Data(Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            work()
            return 0


    if __name__ == "__main__":
        for batch in DataLoader(Data(), num_workers=1, multiprocessing_context="{way}"):
            print("ended", batch.item(), flush=True)
    """

PARENTS = {
    "spawn": BY_MULTIPROCESSING.format(way="spawn"),
    "forkserver": BY_MULTIPROCESSING.format(way="forkserver"),
    "torchrun": BY_TORCHRUN,
    "a DataLoader that forks": BY_DATALOADER.format(way="fork"),
    "a DataLoader that spawns": BY_DATALOADER.format(way="spawn"),
}


@pytest.mark.parametrize("way", PARENTS)
def test_a_breakpoint_in_generated_code_stops_in_a_process_that_python_starts(
    way: str, project: Project
) -> None:
    project.write({"model.py": MODEL, "parent.py": PARENTS[way]})
    project.run("-m", "fxls", "run", "model.py")
    (project.folder / "made.txt").unlink()
    path, line = project.line("Net:relu")
    begun: SimpleQueue[Session] = SimpleQueue()
    stopped: SimpleQueue[Session] = SimpleQueue()

    def begin(asked: Json) -> None:
        child = adapted(project)
        begun.put(child)
        # A child of torchrun's is one of the parent's child.
        child.answer_requests(begin)
        child.attach({path: [line]}, settings=configuration_of(asked))
        threading.Thread(target=wait, args=(child,)).start()

    def wait(child: Session) -> None:
        with contextlib.suppress(Ended):
            child.wait_stopped()
            stopped.put(child)

    with adapted(project) as session, contextlib.ExitStack() as open_ones:
        session.answer_requests(begin)
        session.launch(project.folder / "parent.py", cwd=project.folder)
        child = stopped.get(timeout=TIME_LIMIT)
        while not begun.empty():
            open_ones.enter_context(begun.get())
        assert child.where() == f"forward {path.name}:{line}"
        assert child.locals()["x"].startswith("float32 (2,) cpu")
        child.resume()
        child.wait_event("terminated")
        assert session.wait_ended() == 0
        assert session.output("stdout") == "ended 0\n"
        assert session.output("console") == ""
    assert (project.folder / "made.txt").read_text() == "[2.0, 2.0]"
