"""`fxls compare --keep` and `--with`: the same program with another torch or device."""

from __future__ import annotations

import argparse
import functools
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import ExitCode, harmless, say, sources_here
from fxls.cli.followed_program import follow, followed, watched

if TYPE_CHECKING:
    from fxls.launching.python_arguments import PythonArguments
    from fxls.verdicts.agreement import Agreement

__all__ = ["compare_elsewhere", "compare_ranks", "names_kept"]


def compare_elsewhere(
    options: argparse.Namespace, python: PythonArguments, environ: Mapping[str, str]
) -> int:
    """Run a program, and keep the values of its graphs, or compare them with others."""
    from fxls.cli.reports.agreement_report import (
        agreement_as_json,
        agreement_text,
        is_clear,
    )
    from fxls.verdicts.agreement import decode

    if options.into is not None:
        return follow(options, python, functools.partial(_done, options))
    option, path = (
        ("--keep", options.keep)
        if options.keep is not None
        else ("--with", options.other)
    )
    if option == "--keep" and (rank := _rank(environ)):
        path = path.with_name(f"{path.stem}.rank{rank}{path.suffix}")
        if path.exists():
            options.usage.error(f"{path} is there already: name a new file")
    # The program may go to another folder.
    more = [option, str(path.absolute())]
    found = followed("compare", more, options, python, decode)
    if found.refused:
        say(f"fxls: error: {path}: {found.refused}")
        return ExitCode.USAGE
    if options.json:
        print(json.dumps(agreement_as_json(found)))
    else:
        print(harmless(agreement_text(found, str(path), sources_here())))
    if found.differences:
        return ExitCode.TROUBLE
    return ExitCode.OK if is_clear(found) else ExitCode.USAGE


def _rank(environ: Mapping[str, str]) -> str:
    """Which rank of a launch of several this process is; empty where there is one."""
    several = environ.get("WORLD_SIZE", "1") not in ("", "1")
    return environ.get("RANK", "") if several else ""


def names_kept(program: Sequence[str]) -> bool:
    """Whether the words of a command line are two files that --keep wrote."""
    return len(program) == 2 and all(
        Path(one).suffix == ".pt" and Path(one).is_file() for one in program
    )


def compare_ranks(options: argparse.Namespace, program: Sequence[str]) -> int:
    """Say which node should have had the same value in two ranks, and had not."""
    from fxls.cli.reports.agreement_report import ranks_as_json, ranks_text
    from fxls.runtime.numbers.elsewhere.of_ranks import between_ranks

    first, second = map(Path, program)
    found = between_ranks(first, second, int(options.memory) << 20)
    if found.refused:
        say(f"fxls: error: {found.refused}")
        return ExitCode.USAGE
    if options.json:
        print(json.dumps(ranks_as_json(found)))
    else:
        print(harmless(ranks_text(found, (str(first), str(second)))))
    if found.differences:
        return ExitCode.TROUBLE
    return ExitCode.OK if found.values and not found.alone else ExitCode.USAGE


def _done(options: argparse.Namespace, raised: str | None) -> bytes:
    """Keep or compare what the program had, if it made any graph."""
    from fxls.verdicts.agreement import SCHEMA, Agreement, Environment, encode

    here = Environment("", platform.python_version(), ())
    found = Agreement(SCHEMA, here, None, 0, 0, raised=raised)
    installation = watched()
    if installation is not None and installation.numbers is not None:
        kept = installation.numbers
        installation.later.finish()
        if options.keep is not None:
            from fxls.runtime.numbers.elsewhere.keeping_values import keep as ask

            path = options.keep
        else:
            from fxls.runtime.numbers.elsewhere.agreeing import agreement as ask

            path = options.other
        found: Agreement = ask(kept.compilations, kept.copies, path, raised)
    return encode(found)
