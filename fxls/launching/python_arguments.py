"""A command line that has a program: what of it is for fxls, what for Python, and the program."""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing`, whose import takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PythonArguments", "split"]

_OURS_WITH_VALUE = {
    *(
        "--store",
        "--break-on",
        "--on-break",
        "--listen",
        "--baseline",
        "--name",
        "--run",
    ),
    *("--entries", "--memory", "--into", "--reproduce", "--check", "--commits"),
    *("--keep", "--with"),
}
_PYTHONS_LONG = "--check-hash-based-pycs"
"""The only long option of Python's that takes part in a run; its value follows."""
_WITH_VALUE, _PROGRAM = "WX", "cm"
"""Python's letters that take a value, and those whose value is the program."""


class PythonArguments:
    """What Python is called with, behind its own name.

    No dataclass, because importing `dataclasses` takes as long as starting Python.
    """

    __slots__ = ("flags", "letters", "program")

    def __init__(
        self,
        flags: Sequence[str] = (),
        letters: Iterable[str] = (),
        program: Sequence[str] = (),
    ) -> None:
        self.flags = tuple(flags)
        """The options, as they were written."""
        self.letters = frozenset(letters)
        """Those of them without a value."""
        self.program = tuple(program)
        """``FILE``, ``-m MODULE``, ``-c CODE`` or ``-``, and its arguments; maybe
        nothing."""

    @property
    def is_whole(self) -> bool:
        """Whether a program is named."""
        needs_more = self.program[:1] in (("-m",), ("-c",))
        return len(self.program) >= (2 if needs_more else 1)


def split(arguments: Sequence[str]) -> tuple[list[str], PythonArguments]:
    """The arguments of fxls, and those that `fxls run`, `fxls check`, `fxls compare`
    and `fxls bisect` give to Python.

    Options with two dashes are those of fxls, and may stand among Python's.
    """
    own, rest = list(arguments[:1]), list(arguments[1:])
    if own not in (["run"], ["check"], ["compare"], ["bisect"]):
        return list(arguments), PythonArguments()
    flags: list[str] = []
    letters: set[str] = set()
    while rest and rest[0].startswith("-") and rest[0] != "-":
        one = rest.pop(0)
        if one == "--":
            break
        if one == "-h" or (one.startswith("--") and one != _PYTHONS_LONG):
            own.append(one)
            if one in _OURS_WITH_VALUE:
                own += rest[:1]
                del rest[:1]
            continue
        letter, value = _ending(one)
        plain = one[1:] if not letter else one[1 : one.index(letter)]
        letters |= set(plain) if one != _PYTHONS_LONG else set()
        if letter and letter in _PROGRAM:
            if plain:
                flags.append(f"-{plain}")
            program = [f"-{letter}", *([value] if value else []), *rest]
            return own, PythonArguments(flags, letters, program)
        flags.append(one)
        if one == _PYTHONS_LONG or (letter and not value):
            flags += rest[:1]
            del rest[:1]
    return own, PythonArguments(flags, letters, rest)


def _ending(option: str) -> tuple[str, str]:
    """The letter of a group that takes a value, and what of it stands in the group."""
    if option != _PYTHONS_LONG:
        for at, letter in enumerate(option[1:], 2):
            if letter in _WITH_VALUE + _PROGRAM:
                return letter, option[at:]
    return "", ""
