"""The command line: models from data files, and the paper's experiments. One module for each command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ffmlp import __version__
from ffmlp.cli import benchmark, explain, export, fit, inspect, predict, report, reproduce

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
    options = _parser().parse_args(arguments)
    try:
        return options.module.run(options)
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (ValueError, OSError, ImportError) as error:
        print(f"ffmlp: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        what_now = getattr(options.module, "INTERRUPTED", "nothing was written")
        print(f"ffmlp: interrupted; {what_now}.", file=sys.stderr)
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
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
        required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    for modules in COMMANDS.values():
        for name, module in modules.items():
            description = f"{module.HELP[0].upper()}{module.HELP[1:]}. Example: {module.EXAMPLE}"
            command = commands.add_parser(name, description=description)
            module.add_options(command)
            command.set_defaults(module=module)
    return parser
