"""What the commands share: options, checks, and how they print."""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from ffmlp.extras import require
from ffmlp.tables.tables import Dialect
from ffmlp.words import counted

_SECONDS_BETWEEN_LINES = 10.0
_LONGEST_LINE = 2000


class Console:
    """Results go to stdout, as text or as JSON; notes and progress to stderr."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.as_json = options.json
        self.quiet = getattr(options, "quiet", False)

    def say(self, text: str) -> None:
        """Print a part of the result, for people."""
        if not self.as_json and not self.quiet:
            print(text)

    def note(self, text: str) -> None:
        """Print something that the user should know."""
        if not self.quiet:
            print(f"note: {one_line(text)}", file=sys.stderr)

    def result(self, values: dict[str, Any]) -> None:
        """Print the result, for programs."""
        if self.as_json:
            print(json.dumps(values, indent=2, ensure_ascii=False))

    @contextmanager
    def progress(self, total: int | None, unit: str, label: str) -> Iterator[Callable[..., object]]:
        """A function that counts what is done: with a bar on a terminal, elsewhere a line at times."""
        if sys.stderr.isatty() and not self.quiet:
            from tqdm import tqdm

            scale = total is None
            with tqdm(total=total, unit=unit, desc=label, unit_scale=scale, leave=False) as bar:
                yield bar.update
            return
        done, last = 0, monotonic()

        def update(count: int = 1) -> None:
            nonlocal done, last
            done += count
            if not self.quiet and monotonic() - last > _SECONDS_BETWEEN_LINES:
                last = monotonic()
                print(f"{label}: {counted(done, unit)}", file=sys.stderr)

        yield update


def require_packages(command: str, *packages: str) -> None:
    """Raise an error about a missing package before anything is done."""
    require(f"ffmlp {command}", *packages, extra="cli")
    if "skops" in packages and "torch" not in sys.modules:
        _import_skops()


def _import_skops() -> None:
    """Import skops without PyTorch, whether or not it is installed.

    skops walks through all of scikit-learn, part of which imports PyTorch: seconds and 200 MB that no
    model needs.
    """
    hidden = _Hidden()  # None in sys.modules would not do: SciPy takes it for an imported module
    sys.meta_path.insert(0, hidden)
    try:
        import_module("skops.io")
    finally:
        sys.meta_path.remove(hidden)


class _Hidden:
    """An importer that hides PyTorch."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError(name)


def check_numbers(options: argparse.Namespace, least: int, *names: str, bits: float = inf) -> None:
    """Refuse options, where given, that are below ``least`` or need more than ``bits`` bits."""
    limit = "" if bits == inf else f" and below 2^{bits}"
    for name in names:
        value = getattr(options, name)
        if value is not None and not least <= value < 2**bits:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} must be at least {least}{limit}, got {value}.")


def check_suffix(path: Path, *suffixes: str) -> None:
    """Refuse a file name that does not fit what is written."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: the file name must end with {' or '.join(suffixes)}.")


def check_output(path: Path, force: bool, *inputs: Path) -> None:
    """Refuse an output that exists, that cannot be written, or that is an input."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise ValueError(f"{path} is not a regular file. Choose another name.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} is not writable.")
    if path.exists() and any(source.exists() and path.samefile(source) for source in inputs):
        raise ValueError(f"{path} is an input of this command. Choose another name for the output.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ValueError(f"{path} already exists. Choose another name, or add --force to overwrite it.")


def add_shared(
    parser: argparse.ArgumentParser,
    *inputs: str,
    output: tuple[str, str] | None = None,
    quiet: bool = True,
) -> None:
    """Add the files to read (``MODEL``, and data files), the file to write, and what is printed."""
    kinds = {
        "MODEL": "model file, written by ffmlp fit",
        "DATA": "CSV, TSV or Parquet file; - is stdin",
        "BEFORE": "CSV, TSV or Parquet file with the earlier rows, for example those of fit",
        "AFTER": "the same with the later rows",
    }
    for name in inputs:
        parser.add_argument(name.lower(), type=Path, metavar=name, help=kinds[name])
    if output is not None:
        metavar, what = output
        parser.add_argument("-o", "--output", type=Path, required=True, metavar=metavar, help=what)
        parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    if quiet:
        parser.add_argument("--quiet", action="store_true", help="print errors only")
    if set(inputs) - {"MODEL"}:
        add = parser.add_argument_group("file format").add_argument
        what = "text that stands for a missing value, besides NA, ? and the like (repeatable)"
        add("--missing", action="append", default=[], metavar="TOKEN", help=what)
        add("--decimal", choices=(".", ","), metavar="MARK", help="decimal mark: . or ,")
        add("--encoding", default="utf-8", help="encoding of a text file (utf-8)")


def dialect(options: argparse.Namespace, usual: Dialect = Dialect()) -> Dialect:  # noqa: B008
    """The format of a data file: as the options say, else that of the file the model was fitted to."""
    try:
        "".encode(options.encoding)
        encoding = codecs.lookup(options.encoding).name  # utf8 and UTF_8 are utf-8
    except (LookupError, ValueError):
        raise ValueError(
            f"unknown --encoding {options.encoding!r}. Examples: utf-8, utf-16, latin-1, cp1252."
        ) from None
    return Dialect((*usual.missing, *options.missing), options.decimal or usual.decimal, encoding)


def one_line(text: str) -> str:
    """A text with its control characters, line breaks included, shown as Python writes them.

    A very long one, for example with a whole file in it, is cut in the middle.
    """
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE // 2]} … {text[-_LONGEST_LINE // 2 :]}"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
