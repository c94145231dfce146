"""`fxls run`: the user's program as it is, and its graphs in the store."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from fxls.listing import Identity
from fxls.store import Store
from tests.cli.command import Command, Ended

PROGRAM = """\
import sys
print(__name__, sys.argv, "torch" in sys.modules, *sys.path)
import net
print(net.traced())
if "raise" in sys.argv:
    raise ValueError(net.traced()[0])
if "exit" in sys.argv:
    sys.exit(7)
"""

NET = """\
import torch

def doubled(x):
    return x * 2

def traced():
    module = torch.fx.symbolic_trace(doubled)
    return module(torch.ones(2)).tolist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["raise"], ["exit", "--store", "x", "-m"]])
@pytest.mark.parametrize("way", [["program.py"], ["-m", "package.program"]])
def test_a_program_runs_as_under_python(
    fxls: Command, way: list[str], arguments: list[str]
) -> None:
    fxls.file(PROGRAM, "program.py")
    fxls.file(PROGRAM, "package/program.py")
    fxls.file("", "package/__init__.py")
    fxls.file(NET, "net.py")
    plain = subprocess.run(
        [sys.executable, *way, *arguments],
        cwd=fxls.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = Ended(
        plain.returncode, fxls.alike(plain.stdout), fxls.alike(plain.stderr)
    )
    assert fxls.run("run", *way, *arguments) == expected
    assert Store(fxls.folder / ".fxls").identities() == (
        Identity("net", "doubled", "torch.fx"),
    )


@pytest.mark.slow
def test_processes_that_a_program_starts_write_to_the_same_store(fxls: Command) -> None:
    fxls.file(NET, "net.py")
    fxls.file(
        """\
        import multiprocessing, sys
        import net

        def work(number):
            return net.traced()

        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(method, pool.map(work, range(2)))
                    pool.close()
                    pool.join()
        """,
        "program.py",
    )
    result = "[[2.0, 2.0], [2.0, 2.0]]"
    assert fxls.run("run", "--store", "chosen", "program.py") == Ended(
        0, f"fork {result}\nspawn {result}\n", ""
    )
    store = Store(fxls.folder / "chosen")
    (identity,) = store.identities()
    assert identity == Identity("net", "doubled", "torch.fx")
    assert len(store.revisions(identity)) == 1
    (revision,) = store.revisions(identity)
    assert [facts.name for facts in store.read(revision.path).nodes] == [
        *("x", "mul", "output"),
    ]


@pytest.mark.parametrize(
    "arguments", [[], ["-m"], ["--store", "x"], ["-u"], ["-uc"], ["-X", "dev"], ["--"]]
)
def test_a_program_must_be_named(fxls: Command, arguments: list[str]) -> None:
    assert fxls.run("run", *arguments) == Ended(
        2,
        "",
        "usage: fxls run [OPTION ...] {FILE | -m MODULE | -c CODE | -} [ARGUMENT ...]\n"
        "fxls run: error: name the file or the module to run\n",
    )


@pytest.mark.slow
def test_the_environments_own_sitecustomize_runs_too(fxls: Command) -> None:
    fxls.file("print('customized')\n", "site/sitecustomize.py")
    fxls.file("import sitecustomize; print(sitecustomize.__file__)\n", "program.py")
    site = {"PYTHONPATH": str(fxls.folder / "site")}
    found = "FOLDER/site/sitecustomize.py\n"
    assert fxls.run("run", "program.py", env=site) == Ended(
        0, "customized\n" + found, ""
    )
    # Python starts again where it has to be told a flag.
    assert fxls.run("run", "-u", "program.py", env=site) == Ended(
        0, "customized\n" * 2 + found, ""
    )


@pytest.mark.slow
def test_with_an_old_torch_a_program_runs_without_fxls_which_says_so(
    fxls: Command,
) -> None:
    fxls.file("import torch\ntorch.__version__ = '2.9.1'\n", "old/sitecustomize.py")
    fxls.file(NET + "\nprint(traced())\n", "program.py")
    ended = fxls.run("run", "program.py", env={"PYTHONPATH": str(fxls.folder / "old")})
    assert ended == Ended(
        0,
        "[2.0, 2.0]\n",
        "the program runs without fxls: fxls needs torch 2.11 or newer, and"
        f" {sys.executable} has torch 2.9.1\n",
    )
    assert not (fxls.folder / ".fxls").exists()


WAYS_TO_END = """\
import argparse, atexit, os, signal, sys, threading
print(argparse, [one for one in sys.path if "bin" in one])
print(sys.argv, sys.orig_argv, __file__, __spec__ and __spec__.name, sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals(), type(__loader__), sys.excepthook)

def failing():
    try:
        {}["key"]
    except KeyError:
        raise ValueError("nobody handles it")

way = sys.argv[1]
atexit.register(lambda: print("at exit", hasattr(sys, "excepthook")))
other = threading.Thread(target=lambda: print("in a thread", __name__))
other.start()
other.join()
if way == "status":
    sys.exit(5)
elif way == "message":
    sys.exit("why")
elif way == "error":
    failing()
elif way == "hook":
    sys.excepthook = lambda *told: print(told[:2], told[2].tb_lineno, sys.last_traceback.tb_lineno)
    raise TypeError("hooked")
elif way == "no hook":
    del sys.excepthook
elif way == "interrupt":
    signal.raise_signal(signal.SIGINT)
elif way == "signal":
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)
elif way == "pipe":
    raise BrokenPipeError
elif way == "main":
    import __main__
    print(__main__.failing is failing, sys.stdin.read())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        *("status", "message", "error", "hook", "no hook", "interrupt", "signal"),
        *("pipe", "main"),
    ],
)
@pytest.mark.parametrize(
    "program",
    [["./folder/../folder/ways.py"], ["link.py"], ["no_suffix"], ["-m", "folder.ways"]],
)
def test_a_program_ends_as_under_python(
    fxls: Command, program: list[str], way: str
) -> None:
    fxls.file(WAYS_TO_END, "folder/ways.py")
    fxls.file(WAYS_TO_END, "no_suffix")
    fxls.file("", "folder/argparse.py")
    fxls.file("", "argparse.py")
    (fxls.folder / "link.py").symlink_to("folder/ways.py")
    plain = subprocess.run(
        [sys.executable, *program, way],
        cwd=fxls.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "in a thread" in plain.stdout, "it began"
    expected = Ended(
        plain.returncode, fxls.alike(plain.stdout), fxls.alike(plain.stderr)
    )
    assert fxls.run("run", *program, way) == expected
    if way == "error":  # also behind a parser of options
        assert fxls.run("run", "--quiet", *program, way) == expected


def test_what_python_refuses_it_refuses_under_fxls(fxls: Command) -> None:
    fxls.file("1 +\n", "faulty.py")
    fxls.file("a = '\\0'\n", "zero.py").write_bytes(b"a = 1\0\n")
    fxls.file("", "odd.pyc")
    for program in ("faulty.py", "zero.py", "odd.pyc", "none.py", "."):
        plain = subprocess.run(
            [sys.executable, program],
            cwd=fxls.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert plain.returncode, program
        expected = Ended(plain.returncode, "", fxls.alike(plain.stderr))
        assert fxls.run("run", program) == expected


STOPPING = """\
def called():
    breakpoint()
    return 1

print(called())
"""


@pytest.mark.parametrize("program", [["stopping.py"], ["-m", "stopping"]])
def test_pdb_shows_a_program_and_leaves_it_as_under_python(
    fxls: Command, program: list[str]
) -> None:
    fxls.file(STOPPING, "stopping.py")
    commands = "where\nup\nup\ndown\n" + "next\n" * 12

    def debugged(*command: str) -> tuple[str, str]:
        ended = subprocess.run(
            [sys.executable, *command],
            cwd=fxls.folder,
            input=commands,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return ended.stdout, re.sub("0x[0-9a-f]+", "0x", ended.stderr)

    under_python = debugged(*program)
    assert "stopping.py(5)<module>()" in under_python[0]
    assert debugged("-m", "fxls", "run", *program) == under_python
