"""A quick start changes how long imports take, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

PROGRAM = """\
import gc, linecache, sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    from lsprotocol import types as lsp; import fxls.attempt
a, b = lsp.Position(1, 2), lsp.Position(line=1, character=2)
file = lsp.Position.__init__.__code__.co_filename
print(gc.isenabled(), a == b, a, "self.line" in linecache.getline(file, 3))
try:
    lsp.Position(-1, 0)
except ValueError as error:
    print(error)
"""

DATACLASSES = """\
import dataclasses, inspect, sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    import fxls.server
found = {
    kind
    for name, module in sorted(sys.modules.items())
    if name.startswith("fxls.")
    for kind in vars(module).values()
    if isinstance(kind, type) and "__dataclass_fields__" in vars(kind)
}
for kind in sorted(found, key=str):
    own = {name: one for name, one in vars(kind).items() if inspect.isfunction(one)}
    for name, one in sorted(own.items()):
        parameters = [(p.name, p.kind) for p in inspect.signature(one).parameters.values()]
        print(kind, name, parameters, one.__annotations__, one.__qualname__)
print("exec" in vars(dataclasses), len(found) > 50)
"""


HOVERED = {
    "textDocument": {"uri": "file:///model.py"},
    "position": {"line": 0, "character": 0},
}

SERVER = """\
import sys
compiled = []

def note(event, arguments):
    if event == "compile":
        compiled.append(str(arguments[1]))

sys.addaudithook(note)
from fxls.cli import main
try:
    main(["serve"])
finally:
    kinds = ("<attrs generated methods lsp", "<cattrs generated ")
    print([len([x for x in compiled if x.startswith(kind)]) for kind in kinds])
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where Python keeps what it compiled."""
    return tmp_path / "cache"


def said(cache: Path, program: str = PROGRAM, **more: str) -> str:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), **more}
    if not more:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


def plain(program: str = PROGRAM) -> str:
    """What the program says without any of it."""
    program = program.replace("with quick_imports():\n    ", "")
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.parametrize(
    "program", [PROGRAM, pytest.param(DATACLASSES, marks=pytest.mark.slow)]
)
def test_classes_are_the_same_whether_their_code_was_kept_or_not(
    cache: Path, program: str
) -> None:
    expected = plain(program)

    first = said(cache, program)
    (kept,) = cache.rglob("quick_start.*.methods")
    written = kept.stat().st_mtime_ns
    second = said(cache, program)

    assert [first, second] == [expected, expected]
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xe3", b"i\x01\0\0\0"])
def test_kept_code_that_cannot_be_read_is_made_again(
    cache: Path, content: bytes
) -> None:
    expected = said(cache)
    (kept,) = cache.rglob("quick_start.*.methods")
    good = kept.read_bytes()
    kept.write_bytes(content)

    assert said(cache) == expected
    assert len(kept.read_bytes()) == len(good)


def served(cache: Path, store: Path, *methods: str) -> list[int]:
    """How many texts of attrs and of cattrs a server compiled that was asked so."""
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "initialized", "params": {}},
        *({"id": 2, "method": method, "params": HOVERED} for method in methods),
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    ]
    messages = [json.dumps({"jsonrpc": "2.0", **message}) for message in asked]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache)}
    environment |= {"FXLS_STORE": str(store)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(
        [sys.executable, "-c", SERVER],
        input="".join(f"Content-Length: {len(one)}\r\n\r\n{one}" for one in messages),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stderr)


@pytest.mark.slow
def test_a_server_compiles_what_no_server_before_it_needed(
    cache: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    hover, symbols = "textDocument/hover", "textDocument/documentSymbol"

    first = served(cache, store)
    second = served(cache, store)
    of_hover = served(cache, store, hover)
    of_symbols = served(cache, store, hover, symbols)
    again = served(cache, store, symbols, hover)

    assert min(*first, *of_hover, *of_symbols) > 0
    assert [second, again] == [[0, 0], [0, 0]]


def test_what_attrs_would_compile_in_another_way_is_compiled_so() -> None:
    program = """\
import ast
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    import attrs
import attr._make as maker
print(maker.compile is not compile, eval(maker.compile("6 * 7", "", "eval")))
tree = maker.compile("x: int = 1", "", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
names = {}
exec(maker.compile(tree, "", "exec"), names)
print(names["x"])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout == "True 42\n1\n"


def test_the_classes_hold_no_copy_of_their_module() -> None:
    program = """\
import sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    from lsprotocol import types as lsp
import attr._make, attrs, cattrs, lsprotocol.converters
lsp.Position(0, 0)
print(len(lsp.Position.__init__.__globals__) < 20, attr._make.sys is sys)
hover = {"contents": {"kind": "markdown", "value": "x"}}
converter = lsprotocol.converters.get_converter()
made = converter.structure(hover, lsp.Hover)
print(made.contents, converter.unstructure(made) == hover)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    content = "MarkupContent(kind=<MarkupKind.Markdown: 'markdown'>, value='x')"
    assert run.stdout.split("\n") == ["True True", f"{content} True", ""]


def test_a_process_that_started_quickly_speaks_tls(tmp_path: Path) -> None:
    """A store may lie behind https, and what reads it runs in the server's process."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "localhost.pem"
    pem.write_bytes(
        key.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        + certificate.public_bytes(Encoding.PEM)
    )
    program = """\
import sys
from fxls.serving.transport.quick_start import quick_imports
with quick_imports():
    import fxls.server
import asyncio, ssl

async def answer(reader, writer):
    writer.write(await reader.readline())
    writer.close()

async def main(pem):
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(pem)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=ours)
    theirs = ssl.create_default_context(cafile=pem)
    reader, writer = await asyncio.open_connection(
        *server.sockets[0].getsockname(), ssl=theirs, server_hostname="localhost"
    )
    writer.write(b"hello\\n")
    print(await reader.readline(), writer.get_extra_info("cipher") is not None)

asyncio.run(asyncio.wait_for(main(sys.argv[1]), 30))
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(pem)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.stdout, run.stderr) == ("b'hello\\n' True\n", "")


def test_where_python_keeps_nothing_nothing_is_kept(cache: Path) -> None:
    assert said(cache, PYTHONDONTWRITEBYTECODE="1") == plain()
    assert list(cache.rglob("*")) == []
