"""`fxls completion`: what a shell is to know, so that it completes command lines."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from fxls.cli.command import Commands, ExitCode, add_command, completed, say

__all__ = ["add", "completion"]

_EPILOG = """\
examples:
  fxls completion bash > ~/.local/share/bash-completion/completions/fxls
  fxls completion zsh > ~/.zfunc/_fxls       with ~/.zfunc in fpath before compinit
  fxls completion fish > ~/.config/fish/completions/fxls.fish

The text is all that the shell needs: it starts no fxls to complete a line. Write it again
after an update of fxls.
"""


def add(commands: Commands, parser: argparse.ArgumentParser) -> None:
    """Add the subcommand, which tells a shell of all that `parser` takes."""
    own = add_command(
        commands, "completion", "print what a shell completes fxls by", _EPILOG
    )
    own.set_defaults(command=completion, parser=parser, commands=commands.choices)
    own.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def completion(options: argparse.Namespace) -> int:
    """`fxls completion`: print a script for a shell."""
    try:
        import shtab
    except ImportError:
        say("fxls: error: there is no shtab\nhelp: Install it: pip install shtab.")
        return ExitCode.TROUBLE
    # No parser of ours sees a program: it is split off before.
    completed(options.commands["run"].add_argument("program", nargs="..."), "file")
    functions, kinds = _kinds()[options.shell]
    print(
        shtab.complete(
            options.parser,
            shell=options.shell,
            preamble=functions,
            choice_functions=kinds,
        )
    )
    return ExitCode.OK


def _kinds() -> Mapping[str, tuple[str, dict[str, str]]]:
    """How each shell completes what only fxls has, and functions that it needs for it."""
    from fxls.rules import Rule

    rules = " ".join(rule.value for rule in Rule)
    return {
        "bash": (
            f"_fxls_rules() {{\n  compgen -W '{rules}' -- \"$1\"\n}}",
            {"rule": "_fxls_rules", "word": ":"},
        ),
        # Where an argument names no action, zsh completes no option in its place.
        "zsh": ("", {"rule": f"({rules})", "word": "{false}"}),
        "fish": ("", {"rule": rules, "word": ""}),
    }
