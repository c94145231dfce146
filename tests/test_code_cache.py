"""Code that an earlier process compiled, and nobody else."""

from __future__ import annotations

import marshal
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import CodeType

import pytest

from fxls import code_cache
from fxls.code_cache import CodeCache, folder_for
from tests.cli.command import Command, Ended

TEXT = (
    "def forward(self, x):\n    assert x, 'a section'\n    def section(y):\n"
    "        return lambda: y + 1\n"
    + "".join(f"    add_{n} = x + {n};  x = None\n" for n in range(200))
    + "    return section(add_1)\n"
)
PLANTED = "planted = True\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "cache"


@pytest.fixture
def fxls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv("FXLS_STORE", raising=False)
    return Command(tmp_path)


def parts(code: CodeType) -> list[object]:
    """All that Python knows of code."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    # Python 3.14 warns of one that says what `co_lines` says.
    names = [
        name for name in dir(code) if name.startswith("co_") and name != "co_lnotab"
    ]
    own = [getattr(code, name) for name in names]
    said = [one for one in own if not callable(one) and not isinstance(one, CodeType)]
    constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
    plain = [one for one in said if one is not code.co_consts]
    places = [*code.co_positions(), *code.co_lines()]
    return [plain, constants, places, *map(parts, inner)]


def compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def plant(file: Path) -> None:
    """Put other code in place of what was kept, as a process of fxls would."""
    kept = marshal.dumps(compiled(PLANTED, "planted.py"))
    file.write_bytes(sha256(kept).digest() + kept)


def test_what_was_kept_is_what_python_compiles_under_any_path(folder: Path) -> None:
    assert parts(CodeCache(str(folder)).compiled(TEXT, "a.py")) == parts(
        compiled(TEXT, "a.py")
    )
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only_file(folder).stat().st_mode & 0o777 == 0o600
    for path in ("a.py", "another/b.py"):
        kept = CodeCache(str(folder)).compiled(TEXT, path)
        assert parts(kept) == parts(compiled(TEXT, path))
    plant(only_file(folder))
    kept = CodeCache(str(folder)).compiled(TEXT, "a.py")
    assert parts(kept) == parts(compiled(PLANTED, "a.py")), "it is read"


def test_short_texts_are_compiled(folder: Path) -> None:
    code = CodeCache(str(folder)).compiled(PLANTED, "a.py")
    assert parts(code) == parts(compiled(PLANTED, "a.py"))
    assert not folder.exists()


def test_what_is_damaged_is_compiled_and_written_again(folder: Path) -> None:
    CodeCache(str(folder)).compiled(TEXT, "a.py")
    file = only_file(folder)
    whole, draw = file.read_bytes(), random.Random(0)
    hostile = b"\xdb" + b"\xff\xff\xff\x7f" * 9  # a list that is longer than the memory
    damaged = [b"", whole[:-1], whole[:31], whole + b"\0", b"\0" * 99, hostile]
    damaged.append(sha256(whole[32:]).digest() + hostile)
    for _ in range(50):
        at = draw.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    for data in damaged:
        file.write_bytes(data)
        code = CodeCache(str(folder)).compiled(TEXT, "a.py")
        assert parts(code) == parts(compiled(TEXT, "a.py"))
        assert only_file(folder).read_bytes() == whole


def linked_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def linked_file(folder: Path) -> None:
    file = only_file(folder)
    file.rename(folder.with_name("elsewhere"))
    file.symlink_to(folder.with_name("elsewhere"))


def pipe(folder: Path) -> None:
    file = only_file(folder)
    file.unlink()
    os.mkfifo(file, 0o600)


def another_name(folder: Path) -> None:
    os.link(only_file(folder), folder.with_name("other"))


STRANGE: list[Callable[[Path], None]] = [linked_folder, linked_file, pipe, another_name]
MODES = ((0o777, 0o600), (0o750, 0o600), (0o700, 0o602), (0o700, 0o640))
BY_ROOT = ((65534, 0), (0, 65534)) if os.geteuid() == 0 else ()


def with_modes(of_folder: int, of_file: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        only_file(folder).chmod(of_file)
        folder.chmod(of_folder)

    return make


def with_owners(of_folder: int, of_file: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        os.chown(only_file(folder), of_file, -1)
        os.chown(folder, of_folder, -1)

    return make


@pytest.mark.parametrize(
    "make",
    [
        *STRANGE,
        *(with_modes(*modes) for modes in MODES),
        *(with_owners(*owners) for owners in BY_ROOT),
    ],
)
def test_what_others_may_have_put_there_is_compiled(
    folder: Path, make: Callable[[Path], None]
) -> None:
    CodeCache(str(folder)).compiled(TEXT, "a.py")
    plant(only_file(folder))
    make(folder)
    code = CodeCache(str(folder)).compiled(TEXT, "a.py")
    assert parts(code) == parts(compiled(TEXT, "a.py"))


@pytest.mark.parametrize("flag", ["-O", "-OO", "-Xno_debug_ranges"])
def test_code_of_another_mode_of_python_is_another(folder: Path, flag: str) -> None:
    CodeCache(str(folder)).compiled(TEXT, "a.py")
    program = (
        "import sys; from fxls.code_cache import CodeCache\n"
        "text = sys.stdin.read()\n"
        "for _ in range(2):\n"
        f"    found = CodeCache({str(folder)!r}).compiled(text, 'a.py')\n"
        "    expected = compile(text, 'a.py', 'exec', dont_inherit=True)\n"
        "    ours, theirs = found.co_consts[0], expected.co_consts[0]\n"
        "    assert ours.co_code == theirs.co_code\n"
        "    assert [*ours.co_positions()] == [*theirs.co_positions()]\n"
    )
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, flag, "-c", program],
        input=TEXT.encode(),
        env=environment,
        check=True,
    )
    assert len(list(folder.iterdir())) == 2


def test_the_code_that_was_not_used_longest_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CodeCache(str(folder))
    names: list[str] = []
    for number in range(5):
        cache.compiled(f"{TEXT}# {number}", "a.py")
        (name,) = {one.name for one in folder.iterdir()} - set(names)
        names.append(name)
        os.utime(folder / name, (number * 10, number * 10))
    cache.compiled(f"{TEXT}# 0", "a.py")  # used now
    size = (folder / names[0]).stat().st_size
    monkeypatch.setattr(code_cache, "MOST", 5 * size)
    while cache.compiled(f"{TEXT}# {len(names)}", "a.py") and len(names) < 6:
        names.append("the last")
    left = {one.name for one in folder.iterdir()}
    assert names[0] in left
    assert not left & set(names[1:3])
    assert sum(one.stat().st_size for one in folder.iterdir()) <= 5 * size
    assert cache.clear(is_rehearsal=True) > 0
    assert left == {one.name for one in folder.iterdir()}
    cache.clear()
    assert list(folder.iterdir()) == []


def test_it_lies_outside_of_the_project_in_a_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    own = "Library/Caches" if sys.platform == "darwin" else ".cache"
    plain = f"/home/someone/{own}/fxls-code"
    assert folder_for({}, "/home/someone/project") == plain
    assert folder_for({"FXLS_CODE_CACHE": "1"}) == plain
    assert folder_for({"XDG_CACHE_HOME": "/caches"}, "/p") == "/caches/fxls-code"
    assert folder_for({"XDG_CACHE_HOME": "caches"}, "/p") == plain
    assert folder_for({"XDG_CACHE_HOME": "/p/caches"}, "/p") is None
    assert folder_for({}, "/home/someone") is None
    assert folder_for({"FXLS_CODE_CACHE": "0"}, "/p") is None


PROGRAM = """\
import sys, torch, traceback
from fxls import engine
compiled = []
sys.addaudithook(
    lambda event, args: event == "compile" and compiled.append(str(args[1]))
)
def many(x):
    for _ in range(400):
        x = torch.relu(x) + 1
    return x.shape.wrong
for tracer in (torch.fx.symbolic_trace, engine.symbolic_trace):
    module = tracer(many)
    try:
        module(torch.ones(2))
    except AttributeError as error:
        file = traceback.extract_tb(error.__traceback__)[-1].filename
        print(file.partition("many_")[0], "many_" in file)
print(sum("many_" in file for file in compiled))
"""


@pytest.mark.slow
def test_a_second_start_compiles_no_graph(fxls: Command, tmp_path: Path) -> None:
    fxls.file(PROGRAM, "project/program.py")
    cached = {"XDG_CACHE_HOME": str(tmp_path / "caches"), "PYTHONDONTWRITEBYTECODE": ""}
    off = {**cached, "FXLS_CODE_CACHE": "0"}

    def compilations(store: str, environment: dict[str, str]) -> str:
        chosen = str(tmp_path / "project" / store)
        ended = fxls.run(
            "run", "--store", chosen, "project/program.py", env=environment
        )
        assert ended.code == 0, ended.err
        *files, count = ended.out.splitlines()
        assert files == [f"FOLDER/project/{store}/ True"] * 2
        return count

    assert compilations("first", off) == "2"
    assert compilations("first", cached) == "2"
    folder = tmp_path / "caches" / "fxls-code"
    assert len(list(folder.iterdir())) == 2
    assert compilations("moved", cached) == "0"
    folder.chmod(0o755)
    assert compilations("moved", cached) == "2"
    assert fxls.run("prune", "--compiled", env=cached) == Ended(
        3,
        "",
        "fxls: error: FOLDER/caches/fxls-code: other users may read or write it\n"
        "help: Delete it yourself.\n",
    )
    folder.chmod(0o700)
    assert fxls.run("prune", "--compiled", env=cached).code == 0
    assert list(folder.iterdir()) == []


def test_the_tests_keep_no_code_with_the_user_who_runs_them() -> None:
    folder = folder_for(os.environ)

    assert folder is not None
    assert Path(folder).is_relative_to(Path(tempfile.gettempdir()).resolve())
