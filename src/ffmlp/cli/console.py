"""What all commands say, ask for and check."""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from ffmlp.tables.tables import Dialect

_SECONDS_BETWEEN_LINES = 10.0
_LONGEST_LINE = 2000


@dataclass(frozen=True)
class Console:
    """Results go to stdout, as text or as JSON; notes and progress to stderr."""

    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, options: argparse.Namespace) -> Console:
        """As the options have it."""
        return cls(options.json, getattr(options, "quiet", False))

    def say(self, text: str) -> None:
        """Part of the result, for people."""
        if not self.as_json and not self.quiet:
            print(text)

    def note(self, text: str) -> None:
        """Something that a person should know."""
        if not self.quiet:
            print(f"note: {one_line(text)}", file=sys.stderr)

    def result(self, values: dict[str, Any]) -> None:
        """The result, for machines."""
        if self.as_json:
            print(json.dumps(values, indent=2, ensure_ascii=False))

    def bar(self, total: int | None, unit: str, label: str) -> Any:
        """A progress bar on a terminal; elsewhere a line from time to time."""
        if not sys.stderr.isatty() or self.quiet:
            return _Lines(unit, label, self.quiet)
        from tqdm import tqdm

        return tqdm(total=total, unit=unit, desc=label, unit_scale=total is None, leave=False)


class _Lines:
    """Progress where nothing can be drawn: a line every ten seconds, or none."""

    def __init__(self, unit: str, label: str, quiet: bool) -> None:
        self.unit, self.label, self.quiet = unit, label, quiet
        self.count, self.last = 0, monotonic()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, count: int = 1) -> None:
        """Count what has been done."""
        self.count += count
        if not self.quiet and monotonic() - self.last > _SECONDS_BETWEEN_LINES:
            self.last = monotonic()
            print(f"{self.label}: {counted(self.count, self.unit)}", file=sys.stderr)


def need(command: str, *packages: str) -> None:
    """Tell which package is missing before anything is done."""
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(f"{command} needs {package}: pip install 'ffmlp[cli]'")
    if "skops" in packages and "torch" not in sys.modules:
        _import_skops()


def _import_skops() -> None:
    """Import skops without PyTorch, whether or not that is installed.

    skops looks through all of scikit-learn, part of which would import PyTorch: seconds and 200 MB that
    no model needs.
    """
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import_module("skops.io")
    finally:
        sys.meta_path.remove(hidden)


class _Hidden:
    """An importer that finds no PyTorch."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError(name)


def check_name(path: Path, what: str, *suffixes: str) -> None:
    """Refuse the name of a file whose end says that it is something else."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: the name of {what} must end with {' or '.join(suffixes)}.")


def check_output(path: Path, force: bool, *inputs: Path) -> None:
    """Refuse to write where something is, where nothing can be, or over what is read."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file to write to.")
    if path.exists() and not path.is_file():  # a device would be replaced by what is written
        raise ValueError(f"{path} is no ordinary file: name another one to write to.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} cannot be written to.")
    if path.exists() and any(source.exists() and path.samefile(source) for source in inputs):
        raise ValueError(f"{path} is read by this command: write to another file.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ValueError(f"{path} is there already. Choose another name, or add --force.")


def add_output(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the options of what is written."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar=metavar, help=what)
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there")


def add_dialect(parser: argparse.ArgumentParser) -> None:
    """Add the options of how a file is written."""
    group = parser.add_argument_group("how the file is written")
    group.add_argument(
        "--missing", action="append", default=[], metavar="TOKEN",
        help="another token of a missing value, beside the usual ones (may be repeated)",
    )  # fmt: skip
    group.add_argument("--decimal", choices=(".", ","), help="decimal mark")
    group.add_argument("--encoding", default="utf-8", help="of a text file (utf-8)")


def dialect(options: argparse.Namespace, usual: Dialect | None = None) -> Dialect:
    """How a file is written: as told, else as the file that a model was made from."""
    usual = Dialect() if usual is None else usual
    try:
        "".encode(options.encoding)
        encoding = codecs.lookup(options.encoding).name  # utf8 and UTF_8 are utf-8
    except (LookupError, ValueError):
        raise ValueError(
            f"--encoding {options.encoding!r} is not known. Some are: utf-8, utf-16, latin-1, cp1252."
        ) from None
    return Dialect((*usual.missing, *options.missing), options.decimal or usual.decimal, encoding)


def one_line(text: str) -> str:
    """A text whose line breaks and other control characters are shown as Python writes them.

    Of a very long one, such as one with a whole file in it, beginning and end are left.
    """
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE // 2]} … {text[-_LONGEST_LINE // 2 :]}"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def counted(number: int, what: str) -> str:
    """A number and its noun."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}es" if what[-1] == "s" else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
