"""What the wheel installs works where nothing of the checkout is found."""

from __future__ import annotations

import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.listing import Identity
from fxls.store import Store
from tests.support.dap import Session
from tests.support.installed import PACKAGES, ROOT, Environment, built

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    return Environment.made(tmp_path_factory.mktemp("installed") / "env", wheel)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of a user's, who has fxls installed."""
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def write(project: Path, name: str, text: str) -> None:
    (project / name).write_text(dedent(text), "utf-8")


def test_the_wheel_holds_the_packages_and_says_what_they_offer(wheel: Path) -> None:
    kept = (one for name in PACKAGES for one in (ROOT / name).rglob("*"))
    sources = {
        one.relative_to(ROOT).as_posix()
        for one in kept
        if one.suffix == ".py" or one.name == "py.typed"
    }
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        (offers,) = (name for name in names if name.endswith("/entry_points.txt"))
        offered = file.read(offers).decode()
    about = offers.removesuffix("/entry_points.txt")

    assert {name for name in names if not name.startswith(about)} == sources
    assert {name.removeprefix(f"{about}/") for name in names - sources} == {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt"),
        "licenses/LICENSE",
    }
    assert offered == dedent("""\
        [console_scripts]
        fxls = fxls.cli:main

        [pytest11]
        fxls.pytest_plugin = fxls.pytest_plugin

        [torch_dynamo_backends]
        fxls = fxls.runtime.backend:backend
        """)


def test_torch_compile_finds_the_backend_by_its_entry_point(
    environment: Environment, project: Path
) -> None:
    write(
        project,
        "program.py",
        """\
        import torch

        @torch.compile(backend="fxls")
        def doubled(x):
            return x * 2

        print(doubled(torch.ones(2)).tolist())
        import fxls
        print(fxls.__file__)
        """,
    )
    ran = environment.run(project, "python", "program.py")
    ours = environment.site_packages / "fxls" / "__init__.py"
    assert (ran.stdout, ran.stderr) == (f"[2.0, 2.0]\n{ours}\n", "")
    assert Store(project / ".fxls").identities() == (
        Identity("program", "doubled", "torch.compile", "graph 0"),
    )


def test_fxls_run_starts_the_runtime_in_the_children_of_a_program(
    environment: Environment, project: Path
) -> None:
    write(
        project,
        "program.py",
        """\
        import subprocess, sys
        sys.exit(subprocess.call([sys.executable, "child.py"]))
        """,
    )
    write(
        project,
        "child.py",
        """\
        import torch

        def doubled(x):
            return x * 2

        print(torch.fx.symbolic_trace(doubled)(torch.ones(2)).tolist())
        import fxls.runtime
        print(fxls.runtime.__file__)
        """,
    )
    ran = environment.run(project, "fxls", "run", "program.py")
    ours = environment.site_packages / "fxls" / "runtime" / "__init__.py"
    assert (ran.stdout, ran.stderr) == (f"[2.0, 2.0]\n{ours}\n", "")
    assert Store(project / ".fxls").identities() == (
        Identity("child", "doubled", "torch.fx"),
    )


def test_debugpy_finds_the_plugin_that_shows_tensors(
    environment: Environment, project: Path
) -> None:
    write(project, "program.py", "import torch\nx = torch.ones(2)\nprint(x.shape)\n")
    program = project / "program.py"
    with Session.spawn(cwd=project, python=str(environment.python)) as session:
        session.launch(program, breakpoints={program: [{"line": 3}]})
        session.wait_stopped()
        value = session.hover("x").value
        file = "__import__('sys').modules['fxls.tensor_view'].__file__"
        plugin = session.evaluate(file)
        session.resume()
        assert session.wait_ended() == 0
    assert value == "float32 (2,) cpu, min 1 max 1 mean 1, [1, 1]"
    assert plugin == repr(str(environment.site_packages / "fxls" / "tensor_view.py"))
