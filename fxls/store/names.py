"""How things are called: the store of a source, the file of a text, the URI of an
identity. Nothing here writes; only `locate` looks at the disk.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import msgspec

from fxls import store_root
from fxls.listing import Identity
from fxls.store_root import is_url

__all__ = [
    "class_name_of",
    "digest_in",
    "digest_of",
    "file_name",
    "identity_uri",
    "is_digest",
    "is_file_name",
    "is_url",
    "locate",
    "real_path",
    "slug_in",
    "slug_of",
    "table_path",
]

_DIGITS = 12
_LONGEST = 80
"""Bounds the readable part of a name, as file systems end names at 255 bytes."""

_FILE_NAME = re.compile(rf"([A-Za-z0-9_]+)_([0-9a-f]{{{_DIGITS}}})\.py")
_DIGEST = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_URI = re.compile(r"fxls:/+([A-Za-z0-9._-]+)/forward\.py")


def locate(start: Path, around: str | None = ".") -> Path:
    """The store root for a source file or folder, as `fxls.store_root` finds it."""
    return Path(store_root.locate(str(start), around))


def real_path(path: Path | str) -> str:
    """A path without links; as it is when no file can have the name."""
    try:
        return os.path.realpath(path)
    except ValueError:  # a byte of zero
        return str(path)


def digest_of(text: bytes) -> str:
    """The hash by which texts and facts are named."""
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def file_name(class_name: str, digest: str) -> str:
    """The name of the file of a text: ``Net_0123456789ab.py``."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "_", class_name)[:_LONGEST].strip("_")
    return f"{safe or 'graph'}_{digest}.py"


def is_file_name(name: str) -> bool:
    """Whether `file_name` makes names like this."""
    return _FILE_NAME.fullmatch(name) is not None


def is_digest(word: str) -> bool:
    """Whether `digest_of` makes words like this."""
    return _DIGEST.fullmatch(word) is not None


def table_path(root: Path, name: str) -> Path:
    """Where the table of a listing lies, for a client that reads files alone."""
    return root / "tables" / f"{name.removesuffix('.py')}.txt"


def class_name_of(path: Path) -> str | None:
    """The class in the name of a listing, sanitized; None for any other file."""
    found = _FILE_NAME.fullmatch(path.name)
    return found[1] if found else None


def digest_in(name: str) -> str | None:
    """The hash in the name of a listing; None for any other file."""
    found = _FILE_NAME.fullmatch(name)
    return found[2] if found else None


def slug_of(identity: Identity) -> str:
    """An identity as one word of ``[A-Za-z0-9._-]``: readable, and then a hash.

    Only the store knows the way back, because the readable part is cut and cleaned.
    """
    words = [f"{identity.module}.{identity.qualname}", identity.producer]
    if identity.stage:
        words.append(identity.stage)
    if identity.rank is not None:
        words.append(f"rank{identity.rank}")
    readable = "-".join([_UNSAFE.sub("_", word) for word in words])
    digest = digest_of(msgspec.json.encode(identity))
    return f"{readable[:_LONGEST].strip('._-') or 'graph'}-{digest}"


def identity_uri(identity: Identity) -> str:
    """The virtual document that always shows the newest revision of an identity."""
    return f"fxls:/{slug_of(identity)}/forward.py"


def slug_in(uri: str) -> str | None:
    """The slug in a URI made by `identity_uri`; None for any other."""
    found = _URI.fullmatch(uri)
    return found[1] if found else None
