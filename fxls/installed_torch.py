"""The torch that is installed: whether fxls works with it, and what it lacks."""

from __future__ import annotations

import importlib.metadata
import logging
import pkgutil
import re
import sys
from collections.abc import Callable
from typing import Any

from fxls.attempt import Raised, attempt

__all__ = [
    "OLDEST",
    "OldTorch",
    "always",
    "is_at_least",
    "lack",
    "lacking",
    "looked_up",
    "private",
    "require",
    "require_installed",
]

_log = logging.getLogger("fxls")

OLDEST = "2.11"


class OldTorch(ImportError):
    """A torch that fxls does not work with; the message says which one it needs."""


def is_at_least(version: str, oldest: str) -> bool:
    """Whether a version of torch is this one or newer; asked where no name tells."""
    return _numbers(version) >= _numbers(oldest)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def require(version: str) -> None:
    """Raise `OldTorch` for a version of torch that is too old."""
    if not is_at_least(version, OLDEST):
        raise OldTorch(
            f"fxls needs torch {OLDEST} or newer, and {sys.executable} has torch {version}"
        )


def require_installed() -> str:
    """The version of the torch that is installed; it is not imported.

    Raises `OldTorch` for one that is too old, and `PackageNotFoundError` without any.
    """
    version = importlib.metadata.version("torch")
    require(version)
    return version


looked_up: set[str] = set()
"""The private names that something is off without, were they there or not."""

lacking: dict[str, str] = {}
"""The private names that this torch does not have, and what is off without each."""


def private(path: str, without: str, otherwise: Callable[[], Any] | None = None) -> Any:
    """What torch has at ``module:attribute``, or in its place what `otherwise` makes.

    - What is off `without` it is said once; where nothing is, nothing is said.
    - By default it is a class that has no instances: a call of it raises.
    """
    name = path.replace(":", ".")
    if without:
        looked_up.add(name)
    found = attempt(lambda: pkgutil.resolve_name(path))
    if not isinstance(found, Raised):
        return found
    if without:
        lack(name, without)
    return _absent(name, without) if otherwise is None else otherwise()


def always(value: Any) -> Callable[..., Any]:
    """A function that has this result, in the place of one that torch lacks."""

    def function(*_args: object, **_kwargs: object) -> Any:
        return value

    return function


def lack(name: str, without: str, how: str = "has no") -> None:
    """Say, once, that this torch has no such name, or has another one, and what is off."""
    if lacking.get(name) != without:
        lacking[name] = without
        _log.warning("fxls: %s", _said(name, without, how))


def _said(name: str, without: str, how: str = "has no") -> str:
    who, _, _ = name.partition(".")
    version = getattr(sys.modules.get(who), "__version__", "")
    return f"{' '.join(filter(None, (who, version)))} {how} {name}: {without}"


def _absent(name: str, without: str) -> Any:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise NotImplementedError(_said(name, without))

    return type(name.rpartition(".")[2], (), {"__new__": refuse, "__module__": name})
