"""What the commands share: options, checks, and how they print."""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from ffmlp.extras import require
from ffmlp.storage.whole_files import errors_about_standard_output
from ffmlp.tables.tables import COMPRESSIONS, PARQUET, TEXT_FILES, Dialect
from ffmlp.words import counted, escaped, one_line

_SECONDS_BETWEEN_LINES = 10.0


class Console:
    """Results go to stdout, as text or as JSON; notes and progress to stderr."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.as_json = options.json
        self.quiet = getattr(options, "quiet", False)

    def say(self, *lines: str) -> None:
        """Print lines of the result, for people. A line break in one of them is shown as an escape."""
        if not self.as_json and not self.quiet:
            put("\n".join(map(escaped, lines)))

    def note(self, text: str) -> None:
        """Print something that the user should know."""
        if not self.quiet:
            print(f"note: {one_line(text)}", file=sys.stderr)

    def result(self, values: dict[str, Any]) -> None:
        """Print the result, for programs."""
        if self.as_json:
            text = json.dumps(values, indent=2, ensure_ascii=False)
            put(escaped(text, "\n", lambda letter: json.dumps(letter)[1:-1]))

    @contextmanager
    def progress(
        self, total: int | None, unit: str, label: str, before: int = 0
    ) -> Iterator[Callable[..., object]]:
        """A function that counts what is done, with a bar on a terminal and a line at times elsewhere.

        The time that is left is estimated without what was done ``before``.
        """
        label = one_line(label)  # it may name a file
        if sys.stderr.isatty() and not self.quiet:
            from tqdm import tqdm

            look: dict[str, Any] = {"unit_scale": unit == "row", "leave": False}
            with tqdm(total=total, unit=unit, desc=label, initial=before, **look) as bar:
                yield bar.update
            return
        done, start = before, monotonic()
        last = start

        def update(count: int = 1) -> None:
            nonlocal done, last
            done += count
            now = monotonic()
            if not self.quiet and now - last > _SECONDS_BETWEEN_LINES:
                last = now
                of_all = "" if total is None else f" of {total}"
                if total is not None and before < done < total:
                    left = round((now - start) * (total - done) / (done - before))
                    minutes = f"{left // 60} min " if left >= 60 else ""
                    of_all += f", {minutes}{left % 60} s left"
                print(f"{label}: {counted(done, unit)}{of_all}", file=sys.stderr)

        yield update

    @contextmanager
    def passes(
        self, label: str, n_rows: int | None, n_passes: int | None = None
    ) -> Iterator[Callable[[int, int, int], None]]:
        """A function that shows the progress of passes over all rows, with a bar for each pass.

        It takes the number of the pass, of the sections that are done, and of all sections.
        """
        with ExitStack() as stack:
            current, before = 0, 0
            update: Callable[..., object] = int

            def on_section(number: int, done: int, n_sections: int) -> None:
                nonlocal current, before, update
                total, unit = (n_sections, "section") if n_rows is None else (n_rows, "row")
                so_far = total * done // n_sections
                if number != current:  # the first section is done: the clock starts
                    stack.close()
                    of_all = "" if n_passes is None else f" of {max(number, n_passes)}"
                    name = f"{label}, pass {number}{of_all}"
                    update = stack.enter_context(self.progress(total, unit, name, so_far))
                    current, before = number, so_far
                update(so_far - before)
                before = so_far

            yield on_section


def put(text: str) -> None:
    """Print to standard output, which errors name."""
    with errors_about_standard_output():
        print(text)


def require_packages(command: str, *packages: str) -> None:
    """Raise an error about a missing package before anything is done."""
    require(f"ffmlp {command}", *packages, extra="cli")


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
    _check_parent(path)
    if path.exists() and any(source.exists() and path.samefile(source) for source in inputs):
        raise ValueError(f"{path} is an input of this command. Choose another name for the output.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ValueError(f"{path} already exists. Choose another name, or add --force to overwrite it.")


def check_folder(path: Path, force: bool) -> None:
    """Refuse a folder that exists, that cannot be written, or that has other files than Parquet."""
    if str(path) == "-" or (path.exists() and not path.is_dir()):
        raise ValueError(f"{path} is not a folder. Predictions of several files need a folder.")
    if path.suffix.lower() in (*TEXT_FILES, *COMPRESSIONS):
        raise ValueError(
            f"{path} looks like a text file. Predictions of several files are a folder of Parquet files."
        )
    if path.is_symlink():
        raise ValueError(f"{path} is a link. Give the name of a folder.")
    _check_parent(path)
    if path.exists() and not force:
        raise ValueError(f"{path} already exists. Choose another name, or add --force to replace it.")
    # Other programs write folders with such names, which must not be replaced.
    files = path.glob("*")
    other = next((file for file in files if file.suffix != PARQUET or not file.is_file()), None)
    if other is not None:
        raise ValueError(f"{path} has {other.name}, so it is not replaced. Choose another name.")


def _check_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} is not writable.")


def add_shared(
    parser: argparse.ArgumentParser,
    *inputs: str,
    output: tuple[str, str] | None = None,
    quiet: bool = True,
    several: bool = False,
) -> None:
    """Add the files to read (``MODEL``, and data files), the file to write, and what is printed.

    ``several`` allows for several files in place of ``DATA``.
    """
    kinds = {
        "MODEL": "model file, written by ffmlp fit",
        "DATA": "CSV, TSV or Parquet file; - is stdin",
        "BEFORE": "CSV, TSV or Parquet file with the earlier rows, for example of fit",
        "AFTER": "the same with the later rows",
    }
    for name in inputs:
        number: dict[str, Any] = {}
        if several and name == "DATA":
            kinds[name] += "; also several files, a pattern in quotes, or a folder of Parquet files"
            number = {"nargs": "+"}
        parser.add_argument(name.lower(), type=Path, metavar=name, help=kinds[name], **number)
    if output is not None:
        metavar, what = output
        parser.add_argument("-o", "--output", type=Path, required=True, metavar=metavar, help=what)
        parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    if quiet:
        parser.add_argument("--quiet", action="store_true", help="print errors only")
    if set(inputs) - {"MODEL"}:
        add_format(parser)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add how cells of data files are written, which is their `dialect`."""
    add = parser.add_argument_group("file format").add_argument
    what = "text that stands for a missing value, besides NA, ? and the like (repeatable)"
    add("--missing", action="append", default=[], metavar="TOKEN", help=what)
    add("--decimal", choices=(".", ","), metavar="MARK", help="decimal mark: . or ,")
    add("--encoding", default="utf-8", help="encoding of a text file (utf-8)")


def dialect(options: argparse.Namespace, usual: Dialect = Dialect()) -> Dialect:  # noqa: B008
    """The format of a data file: from the options, else from the file that the model was fitted to."""
    try:
        "".encode(options.encoding)
        encoding = codecs.lookup(options.encoding).name  # utf8 and UTF_8 are utf-8
    except (LookupError, ValueError):
        raise ValueError(
            f"unknown --encoding {options.encoding!r}. Examples: utf-8, utf-16, latin-1, cp1252."
        ) from None
    return Dialect((*usual.missing, *options.missing), options.decimal or usual.decimal, encoding)
