"""The command line: models from data files, and the paper's experiments. One module for each command."""

from __future__ import annotations

import argparse
import difflib
import io
import itertools
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ffmlp import __version__
from ffmlp.cli import benchmark, explain, export, fit, inspect, predict, report, reproduce
from ffmlp.cli.console import one_line

DONE, WRONG_INPUT, INTERRUPTED = 0, 2, 130

COMMANDS = {
    "Models from a table (CSV, TSV or Parquet)": {
        "fit": fit,
        "predict": predict,
        "explain": explain,
        "inspect": inspect,
        "report": report,
        "export": export,
    },
    "The paper and other classifiers": {"reproduce": reproduce, "benchmark": benchmark},
}

_EXIT_CODES = """\
Exit codes:
  0    done
  2    something is wrong with the options or with a file; one line says what and where
  130  interrupted with Ctrl-C; no half file is left"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 2 for anything wrong with what was asked, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of columns may have letters that it has not
            stream.reconfigure(errors="backslashreplace")
    options, unexpected = _parser().parse_known_args(arguments)
    if unexpected:
        first = unexpected[0]
        options.refuse(f"there is no option {first!r}" if first[0] == "-" else f"{first!r} is too much")
    try:
        return options.module.run(options)
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (ValueError, OSError, ImportError) as error:
        print(f"ffmlp: {one_line(_told(error))}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        what_now = getattr(options.module, "INTERRUPTED", "nothing was written")
        print(f"ffmlp: interrupted; {what_now}.", file=sys.stderr)
        return INTERRUPTED


# What argparse says, and how it is said here.
_SAID_BETTER = {
    r"the following arguments are required: (.+)": r"\1 must be given",
    r"argument COMMAND: invalid choice: (.+?) \(choose from .+\)": r"there is no command \1",
    r"argument (.+?): invalid choice: (.+?) \(choose from (.+)\)": r"\1 must be one of \3, got \2",
    r"argument (.+?): invalid int value: (.+)": r"\1 must be a whole number, got \2",
    r"argument (.+?): invalid float value: (.+)": r"\1 must be a number, got \2",
    r"argument (.+?): expected one argument": r"\1 needs a value",
    r"argument (.+?): expected at least one argument": r"\1 needs at least one value",
    r"argument (.+?): not allowed with argument (.+)": r"\1 and \2 exclude each other",
    r"argument (.+?): (.+)": r"\1 \2",
}


def _told(error: Exception) -> str:
    if "contains NaN" in str(error):  # scikit-learn would go on about other classifiers
        return "there are missing values, and this model fills none. Make it with ffmlp fit, which does."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


class _OneLineParser(argparse.ArgumentParser):
    """Tells what is wrong with the options in a line."""

    def error(self, message: str) -> NoReturn:
        for pattern, better in _SAID_BETTER.items():
            if re.fullmatch(pattern, message, re.DOTALL):
                message = re.sub(pattern, better, message, flags=re.DOTALL)
                break
        self.exit(WRONG_INPUT, f"ffmlp: {one_line(message)}. See {self.prog} --help.\n")


class _CommandParser(_OneLineParser):
    """Looks for mistyped options first: argparse would only miss what they should have said."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known = list(self._option_string_actions)
        for text in itertools.takewhile(lambda text: text != "--", args):
            name = text.split("=")[0]
            is_option = name.startswith("--") and " " not in text  # as argparse sees it
            if is_option and not any(option.startswith(name) for option in known):
                alike = difflib.get_close_matches(name, known, n=1)
                self.error(f"there is no option {name!r}" + "".join(f" (is it {n}?)" for n in alike))
        return super().parse_known_args(args, namespace)


class _Parser(_OneLineParser):
    """Its page shows the commands by what they are for."""

    def format_help(self) -> str:
        parts = ["usage: ffmlp COMMAND …", "Multilayer perceptrons that are designed, not trained."]
        for title, modules in COMMANDS.items():
            lines = [
                f"  {name:<11}{module.HELP}\n  {'':<11}$ {module.EXAMPLE}"
                for name, module in modules.items()
            ]
            parts.append("\n".join([f"{title}:", *lines]))
        parts.append("The options of a command: ffmlp COMMAND --help. The version: ffmlp --version.")
        return "\n\n".join([*parts, _EXIT_CODES]) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("ffmlp", usage="ffmlp COMMAND …")
    parser.add_argument("--version", action="version", version=f"ffmlp {__version__}")
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", prog="ffmlp", parser_class=_CommandParser
    )
    for modules in COMMANDS.values():
        for name, module in modules.items():
            description = f"{module.HELP[0].upper()}{module.HELP[1:]}. Example: {module.EXAMPLE}"
            command = commands.add_parser(name, description=description)
            module.add_options(command)
            command.set_defaults(module=module, refuse=command.error)
    return parser
