"""The command line: models of data files, and the paper's experiments. One module per command."""

from __future__ import annotations

import argparse
import difflib
import io
import itertools
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ffmlp import __version__
from ffmlp.cli import (
    benchmark,
    drift,
    evaluate,
    explain,
    export,
    fit,
    inspect,
    playground,
    predict,
    report,
    reproduce,
)
from ffmlp.storage.whole_files import errors_about_standard_output
from ffmlp.words import one_line

DONE, WRONG_INPUT, INTERRUPTED, TERMINATED = 0, 2, 130, 143

COMMANDS = {
    "Models of tables (CSV, TSV or Parquet)": {
        "fit": fit,
        "predict": predict,
        "evaluate": evaluate,
        "explain": explain,
        "drift": drift,
        "inspect": inspect,
        "report": report,
        "export": export,
    },
    "The paper and other classifiers": {
        "playground": playground,
        "reproduce": reproduce,
        "benchmark": benchmark,
    },
}

_EXIT_CODES = """\
Exit codes:
  0    success
  2    invalid option or file; one line says what is wrong and where
  130  interrupted with Ctrl-C; no partial file is left
  143  ended by SIGTERM, with all its processes"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # column names may not fit its encoding
            stream.reconfigure(errors="backslashreplace")
    with _terminable():
        return _run(arguments)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM raises SystemExit, so that a command closes its files and stops its processes."""
    if threading.current_thread() is not threading.main_thread():  # only that receives signals
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _signal_behind(error: BaseException | None) -> BaseException | None:
    """The signal in the course of which a library raised this error, if any."""
    seen = []
    while error is not None and error not in seen:  # an error may be in the context of its own cause
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return error
        seen.append(error)
        error = error.__cause__ or error.__context__
    return None


def _run(arguments: Sequence[str] | None) -> int:
    what_now = "no partial file is left"
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options, unexpected = _parser(given[:1]).parse_known_args(given)
        what_now = getattr(options.module, "INTERRUPTED", what_now)
        if unexpected:
            first = unexpected[0]
            what = "unknown option" if first[0] == "-" else "unexpected argument"
            options.refuse(f"{what} {first!r}")
        try:
            options.module.run(options)
        except Exception as error:
            raise _signal_behind(error) or error from None
        with errors_about_standard_output():
            sys.stdout.flush()
        return DONE
    except BrokenPipeError:  # the reader of the output has closed it
        _discard_output()
        return DONE
    except (ValueError, OSError, ImportError) as error:
        try:
            sys.stdout.flush()
        except OSError:  # Python would try again at its end, and print a second error
            _discard_output()
        print(f"ffmlp: {one_line(_message(error))}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print(f"ffmlp: interrupted; {what_now}.", file=sys.stderr)
        return INTERRUPTED


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Messages of argparse, and what is printed instead.
_REWORDED = {
    r"the following arguments are required: (.+)": r"missing \1",
    r"argument COMMAND: invalid choice: (.+?) \(choose from .+\)": r"unknown command \1",
    r"argument (.+?): invalid choice: (.+?) \(choose from (.+)\)": r"\1 must be one of \3, got \2",
    r"argument (.+?): invalid int value: (.+)": r"\1 must be an integer, got \2",
    r"argument (.+?): invalid float value: (.+)": r"\1 must be a number, got \2",
    r"argument (.+?): expected one argument": r"\1 needs a value",
    r"argument (.+?): expected at least one argument": r"\1 needs at least one value",
    r"argument (.+?): not allowed with argument (.+)": r"\1 and \2 cannot be used together",
    r"argument (.+?): (.+)": r"\1 \2",
}


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


class _OneLineParser(argparse.ArgumentParser):
    """Reports invalid options in one line."""

    def error(self, message: str) -> NoReturn:
        for pattern, better in _REWORDED.items():
            if re.fullmatch(pattern, message, re.DOTALL):
                message = re.sub(pattern, better, message, flags=re.DOTALL)
                break
        self.exit(WRONG_INPUT, f"ffmlp: {one_line(message)}. See {self.prog} --help.\n")


class _CommandParser(_OneLineParser):
    """Looks for mistyped options first: argparse would report the right ones as missing."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known = list(self._option_string_actions)
        for text in itertools.takewhile(lambda text: text != "--", args):
            name = text.split("=")[0]
            is_option = name.startswith("--") and " " not in text  # as argparse sees it
            if is_option and not any(option.startswith(name) for option in known):
                alike = difflib.get_close_matches(name, known, n=1)
                self.error(f"unknown option {name!r}" + "".join(f" (did you mean {n}?)" for n in alike))
        return super().parse_known_args(args, namespace)


class _Parser(_OneLineParser):
    """Its help groups the commands by purpose."""

    def format_help(self) -> str:
        parts = ["usage: ffmlp COMMAND …", "Multilayer perceptrons that are designed, not trained."]
        for title, modules in COMMANDS.items():
            lines = [
                f"  {name:<11}{module.HELP}\n  {'':<11}$ {module.EXAMPLE}"
                for name, module in modules.items()
            ]
            parts.append("\n".join([f"{title}:", *lines]))
        parts.append("Options of a command: ffmlp COMMAND --help. Version: ffmlp --version.")
        return "\n\n".join([*parts, _EXIT_CODES]) + "\n"


def _parser(chosen: Sequence[str]) -> argparse.ArgumentParser:
    """A parser that knows all commands, and the options of the chosen one."""
    parser = _Parser("ffmlp", usage="ffmlp COMMAND …")
    parser.add_argument("--version", action="version", version=f"ffmlp {__version__}")
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", prog="ffmlp", parser_class=_CommandParser
    )
    for modules in COMMANDS.values():
        for name, module in modules.items():
            description = f"{module.HELP[0].upper()}{module.HELP[1:]}.\n\n  $ {module.EXAMPLE}"
            as_written = argparse.RawDescriptionHelpFormatter
            command = commands.add_parser(name, description=description, formatter_class=as_written)
            command.set_defaults(module=module, refuse=command.error)
            if name in chosen:
                module.add_options(command)
    return parser
