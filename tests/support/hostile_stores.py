"""Folders that somebody might be given: each does one thing that no store of fxls does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fxls.listing import (
    Facts,
    Frame,
    HeadLink,
    Identity,
    Items,
    Listing,
    Mark,
    Parent,
    Place,
    Role,
    Scope,
    Source,
    Tensor,
    ToLine,
    ToParent,
    Value,
)
from fxls.listing.sidecar import encode
from fxls.record import (
    Compilation,
    Event,
    Guard,
    Guards,
    Made,
    Names,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
    Subject,
)
from fxls.store import Store, digest_of
from fxls.text import Span
from tests.support.projects import SOURCE, net_listing
from tests.support.records import FIRST, written

__all__ = ["HOSTILE", "Folder", "hostile_folder"]

RUN = "import pathlib; pathlib.Path({!r}).write_text('it ran')\n"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is opened, with a model and a listing; `outside` is none of its."""

    project: Path
    outside: Path
    text: Path

    @property
    def root(self) -> Path:
        return self.project / ".fxls"

    @property
    def facts(self) -> Path:
        return next((self.root / "facts" / self.text.stem).iterdir())

    @property
    def log(self) -> Path:
        return next((self.root / "log").iterdir())

    @property
    def table(self) -> Path:
        return self.root / "tables" / f"{self.text.stem}.txt"

    @property
    def shown(self) -> Path:
        return self.root / "shown.jsonl"

    @property
    def toml(self) -> Path:
        return self.project / "pyproject.toml"

    @property
    def listing(self) -> Listing:
        return net_listing(self.project)

    def files(self) -> dict[str, Path]:
        """What is read or written of a folder, by what it is."""
        return {
            "text": self.text,
            "facts": self.facts,
            "log": self.log,
            "table": self.table,
            "shown": self.shown,
            "gitignore": self.root / ".gitignore",
            "pruned": self.root / "tmp" / "pruned",
            "pyproject": self.toml,
        }

    def sidecar(self, data: bytes) -> None:
        """Let these bytes be the facts of the listing."""
        folder = self.facts.parent
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / digest_of(data)).write_bytes(data)

    def line(self, **changed: Any) -> None:
        """Let the log end with a line that says something else."""
        last = msgspec.json.decode(self.log.read_bytes().split(b"\n")[-2])
        with self.log.open("ab") as log:
            log.write(msgspec.json.encode({**last, **changed}) + b"\n")

    def says(self, **changed: Any) -> None:
        """Let the listing be another one."""
        shutil.rmtree(self.root)
        Store(self.root).materialize(msgspec.structs.replace(self.listing, **changed))


def hostile_folder(folder: Path, name: str) -> Folder:
    """Make a folder, and what surrounds it."""
    project, outside = folder / "project", folder / "outside"
    for one in (project, outside):
        one.mkdir()
        (one / "net.py").write_text(SOURCE)
        (one / "pyproject.toml").touch()
        Store(one / ".fxls").materialize(net_listing(one))
    ran = str(folder / "ran")
    for program in ("fxls.py", "sitecustomize.py", "conftest.py", "torch.py"):
        (project / program).write_text(RUN.format(ran))
    (project / "net.py").write_text(RUN.format(ran) + SOURCE)
    programs = project / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in ("fxls", "python", "python3"):
        (programs / program).write_text(f"#!/bin/sh\necho ran > {ran}\n")
        (programs / program).chmod(0o755)
    (outside / "precious").write_text("mine\n")
    (outside / "1-0123456789abcdef").write_text("mine\n")
    made = Folder(project, outside, next((project / ".fxls").glob("Net_*.py")))
    made.table.parent.mkdir()
    written(made.root, FIRST, *_recorded(made))
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))
    HOSTILE[name](made)
    return made


def _recorded(made: Folder) -> Iterator[Event]:
    """A record that names what is no file, no line and no listing."""
    identity, text = made.listing.identity, made.text.name
    places = [
        QuotedPlace(Place(path, "f", Span.of(line, 0, line, 9)), "line", "0" * 12)
        for path in (str(made.project / "net.py"), "/dev/zero", "\0")
        for line in (-1, 5, 2**62)
    ]
    yield Compilation("0/0", "\x1b[2J", Outcome.BREAK, place=places[1])
    yield Remark(Subject.BREAK, "](command:x)<script>", "0/0", "", tuple(places))
    guards = tuple(Guard("SIZE", "\0", place) for place in places)
    yield Guards("0/0", 2**40, guards)
    for other in (text, "../../outside/precious", "/dev/zero"):
        was, is_ = (RevisionName(identity, one) for one in (text, other))
        names = Names(2**40, ("relu", "\0"))
        yield Pass("p", 1, "0/0", before=was, after=is_, changed=True, erased=names)
        yield Made(is_)


def _in_place(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    make(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _linked(to: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(to)


def _looping(path: Path) -> None:
    other = path.with_name("loop")
    other.symlink_to(path)
    path.symlink_to(other)


def _nested(depth: int) -> Value:
    value: Value = Tensor((1,), "torch.float32", "cpu")
    for _ in range(depth):
        value = Items("tuple", (value,))
    return value


def _line(changed: Mapping[str, Any], f: Folder) -> None:
    f.line(**changed)


def _says(changed: Callable[[Folder], Mapping[str, Any]], f: Folder) -> None:
    f.says(**changed(f))


def _first(listing: Listing, **changed: Any) -> tuple[Facts, ...]:
    """Its nodes, all of them changed in the same way."""
    return tuple(msgspec.structs.replace(one, **changed) for one in listing.nodes)


def _named() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    yield "nothing is wrong", lambda f: None
    yield from _links()
    yield from _files()
    yield from _settings()
    yield from _sidecars()
    yield from _listings()
    yield from _logs()
    yield from _folders()


def _links() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    def store(to: str) -> Callable[[Folder], object]:
        return lambda f: _in_place(f.root, _linked(to.format(f.outside)))

    yield "the store is a link to another", store("{}/.fxls")
    yield "the store is a link to a folder", store("{}")
    yield "the store is a link to nothing", store("{}/nothing")
    yield "the store is a link to the root", store("/")
    yield "the store is a link to its folder", store(".")
    yield "the store is a link to itself", store(".fxls")

    def inside(name: str) -> Callable[[Folder], object]:
        def link(f: Folder) -> None:
            folder = f.facts.parent if name == "facts of one" else f.root / name
            there = f.outside / ".fxls" / folder.relative_to(f.root)
            _in_place(folder, _linked(str(f.outside if name == "tmp" else there)))

        return link

    for name in ("facts", "facts of one", "log", "tables", "tmp"):
        yield f"the folder {name} is a link", inside(name)


def _files() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    kinds: dict[str, Callable[[Folder, Path], object]] = {
        "link": lambda f, path: path.symlink_to(f.outside / "precious"),
        "dangling link": lambda f, path: path.symlink_to(f.outside / "absent"),
        "hard link": lambda f, path: path.hardlink_to(f.outside / "precious"),
        "loop": lambda f, path: _looping(path),
        "pipe": lambda f, path: os.mkfifo(path),
        "device": lambda f, path: path.symlink_to("/dev/zero"),
        "terminal": lambda f, path: path.symlink_to("/dev/stdin"),
        "gigabyte": lambda f, path: _sparse(path),
        "folder": lambda f, path: path.mkdir(),
    }

    def put(name: str, kind: str) -> Callable[[Folder], object]:
        def make(f: Folder) -> None:
            path = f.files()[name]
            path.parent.mkdir(exist_ok=True)
            _in_place(path, lambda path: kinds[kind](f, path))

        return make

    for name in ("text", "facts", "log", "pyproject"):
        for kind in kinds:
            yield f"{name}: {kind}", put(name, kind)
    for name in ("table", "shown", "gitignore", "pruned"):
        for kind in ("link", "dangling link", "hard link", "pipe"):
            yield f"{name}: {kind}", put(name, kind)


def _settings() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    texts: dict[str, bytes] = {
        "is nested": b"a=" + b"[" * 100_000,
        "has a long key": b".".join([b"a"] * 60_000) + b"=1",
        "has a long number": b"a=" + b"9" * 100_000,
        "is no UTF-8": b"\xff\xfe" * 1000,
        "has wrong entries": b"[tool.fxls]\nentries=[1, {a=[]}, {file='/dev/zero',"
        b"entry='x'}, {file='../../../x.py', entry='x'}, '\\u0000.py:x']",
    }
    for name, data in texts.items():
        yield f"pyproject {name}", lambda f, data=data: f.toml.write_bytes(data)


def _sidecars() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    head = b"\x82\xa6format\x01\xa7listing"
    for name, data in {
        "is nested": head + b"\x91" * 1_000_000,
        "promises four thousand million marks": head
        + b"\x81\xa5marks\xdd\xff\xff\xff\xf0",
        "promises a text of four gigabytes": head
        + b"\x81\xa5entry\xdb\xff\xff\xff\xf0",
        "is of another format": b"\x82\xa6format\xcd\x27\x0f\xa7listing\x80",
        "is of a format with a sign": b"\x82\xa6format\xff\xa7listing\x80",
        "is a number": b"\x01",
        "is empty": b"",
        "lacks all": head + b"\x80",
    }.items():
        yield f"sidecar {name}", lambda f, data=data: f.sidecar(data)
    yield "sidecar ends early", lambda f: f.sidecar(encode(f.listing)[:-9])


def _listings() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    huge = 2**62
    path = "{project}/net.py"
    changes: dict[str, Callable[[Folder], dict[str, Any]]] = {
        "marks of nothing": lambda f: {
            "marks": tuple(
                Mark(line, column, 3, node, Role.READS)
                for line in (-huge, -1, 3, huge)
                for column in (-huge, -1, 4, huge)
                for node in (-9, 99)
            )
        },
        "definition behind the end": lambda f: {"definition": huge},
        "definition before the start": lambda f: {"definition": -huge},
        "lines behind the end": lambda f: {"nodes": _first(f.listing, line=huge)},
        "lines before the start": lambda f: {"nodes": _first(f.listing, line=-5)},
        "users that are none": lambda f: {"nodes": _first(f.listing, users=(99, -7))},
        "arguments that are none": lambda f: {
            "nodes": _first(f.listing, args=((99,), ("x" * 10, -9)))
        },
        "users in a circle": lambda f: {
            "nodes": _first(f.listing, users=(0, 1, 2), args=((0, 1, 2),))
        },
        "origins that are none": lambda f: {
            "nodes": _first(f.listing, origin=99, more_origins=(-9, huge))
        },
        "modules that are none": lambda f: {"nodes": _first(f.listing, scope=99)},
        "calls that are none": lambda f: {"nodes": _first(f.listing, call=99)},
        "frames in a circle": lambda f: {
            "frames": (Frame(0, "f", 1, 0, 1, 1, 1), Frame(0, "g", 1, 0, 1, 1, 0)),
            "nodes": _first(f.listing, origin=0),
        },
        "a frame that calls itself": lambda f: {
            "frames": (Frame(0, "f", 1, 0, 1, 1, 0),),
            "nodes": _first(f.listing, origin=0),
        },
        "modules in a circle": lambda f: {
            "scopes": (Scope("a", "A", 1), Scope("b", "B", 0)),
            "nodes": _first(f.listing, scope=0),
        },
        "frames of no source": lambda f: {
            "frames": (Frame(99, "f", 1, 0, 1, 1),),
            "nodes": _first(f.listing, origin=0),
        },
        "frames behind the end": lambda f: {
            "frames": (Frame(0, "f", huge, huge, huge, huge),),
            "nodes": _first(f.listing, origin=0),
        },
        "frames before the start": lambda f: {
            "frames": (Frame(0, "f", -huge, -1, -9, -huge),),
            "nodes": _first(f.listing, origin=0),
        },
        "sizes without end": lambda f: {
            "nodes": _first(
                f.listing,
                width=huge,
                value=Tensor((huge,) * 9, "x" * 999, "", (huge,), huge),
            )
        },
        "a value in values": lambda f: {"nodes": _first(f.listing, value=_nested(50))},
        "a value deep in values": lambda f: {
            "nodes": _first(f.listing, value=_nested(150))
        },
        "many values": lambda f: {
            "nodes": _first(f.listing, value=Items("tuple", (_nested(0),) * 100_000))
        },
        "names that are none": lambda f: {
            "nodes": _first(f.listing, name="\0\n](command:x)<script>", target="\0"),
            "identity": Identity("../../x", "../../../y", "../z", "\0", -1),
            "entry": "__import__('os').system('touch ran')",
        },
        "links out of it": lambda f: {
            "links": (
                HeadLink(0, 0, 5, ToParent("../../../../etc/passwd")),
                HeadLink(0, 5, 5, ToLine("/dev/zero", huge)),
                HeadLink(-1, huge, -5, ToLine("\0", -1)),
            ),
            "parents": (
                Parent(Identity("net", "Net"), "../../outside/precious"),
                Parent(Identity("net", "Net"), f.text.name),
            ),
        },
        "a file of targets that never ends": lambda f: {
            "scopes": (Scope("a", "A", None, "/dev/zero", huge),),
            "nodes": _first(f.listing, scope=0),
        },
    }
    sources = {
        "/dev/zero": "/dev/zero",
        "the memory": "/proc/self/mem",
        "the kernel": "/proc/kmsg",
        "the input": "/dev/stdin",
        "a pipe": "{project}/pipe",
        "a gigabyte": "{project}/sparse.py",
        "no name": "{project}/\0.py",
        "a long name": "{project}/" + "x" * 100_000,
        "a way out": "../../../../../../etc/passwd",
        "nothing": "",
    }

    def source(named: str, f: Folder) -> dict[str, Any]:
        os.mkfifo(f.project / "pipe")
        _sparse(f.project / "sparse.py")
        named = named.format(project=f.project)
        mine = path.format(project=f.project)
        return {
            "sources": (Source(named, "0" * 16), Source(mine, "0" * 16)),
            "frames": (Frame(1, "f", 5, 8, 5, 9), Frame(0, "g", 1, 0, 1, 1, 0)),
            "nodes": _first(f.listing, origin=1),
        }

    for name, named in sources.items():
        changes[f"a source that is {name}"] = partial(source, named)
    for name, changed in changes.items():
        yield f"listing with {name}", partial(_says, changed)


def _logs() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    lines: dict[str, dict[str, Any]] = {
        "facts out of it": {"facts": "../../../outside/precious"},
        "facts on a device": {"facts": "/dev/zero"},
        "a text out of it": {"text": "../../outside/.fxls/Net_0123456789ab.py"},
        "a text that is none": {"text": "\0"},
        "a time that is none": {"time": 1e308},
        "a time long ago": {"time": -1e308},
        "numbers that are none": {"pid": -(2**63), "nodes": -1},
        "sources that are none": {"sources": ["/dev/zero", "\0", "", "x" * 100_000]},
        "another format": {"format": 9999},
        "wrong types": {"identity": [1], "sources": {}},
    }
    for name, changed in lines.items():
        yield f"log with {name}", partial(_line, changed)

    def long(f: Folder) -> None:
        f.log.write_bytes(f.log.read_bytes() * 300_000)

    def blank(f: Folder) -> None:
        f.log.write_bytes(f.log.read_bytes() + b"\n" * 5_000_000)

    def deep(f: Folder) -> None:
        line = b'{"format":1,"x":' + b"[" * 100_000 + b"\n"
        f.log.write_bytes(line + f.log.read_bytes() + line)

    def many(f: Folder) -> None:
        data = f.log.read_bytes()
        for number in range(3000):
            f.log.with_name(f"{number}.jsonl").write_bytes(data * 5)

    def asked(f: Folder) -> None:
        line = b'{"text":"../../../outside/precious","line":-5}\n'
        f.shown.write_bytes((line + b"[" * 100_000 + b"\n") * 100)

    yield "a log of 300,000 lines", long
    yield "a log of line ends", blank
    yield "a log that is nested", deep
    yield "3,000 logs", many
    yield "what is to be shown is none", asked


def _folders() -> Iterator[tuple[str, Callable[[Folder], object]]]:
    def text(data: bytes) -> Callable[[Folder], object]:
        def make(f: Folder) -> None:
            path = f.root / f"Net_{digest_of(data)}.py"
            path.write_bytes(data)
            facts = f.root / "facts" / path.stem
            shutil.copytree(f.facts.parent, facts)
            f.line(text=path.name)

        return make

    yield "the store is a file", lambda f: _in_place(f.root, Path.touch)
    yield "the store is a pipe", lambda f: _in_place(f.root, os.mkfifo)
    yield "the store may not be read", lambda f: f.root.chmod(0)
    yield "the store may not be written", lambda f: f.root.chmod(0o500)
    yield "a text that is no UTF-8", text(b"\xff\xfe\0" * 1000)
    yield "a text of 30 million characters", text(b"x = 1\n" * 5_000_000)
    yield "a text in one line", text(b"x" * 20_000_000)


HOSTILE: dict[str, Callable[[Folder], object]] = dict(_named())
"""What is wrong with a folder, by name."""
