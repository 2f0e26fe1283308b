"""How predictions are written: text and Parquet files, block by block, atomically, or to stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Flags, Floats
from ffmlp.extras import imported
from ffmlp.storage.whole_files import errors_about_standard_output, whole_file
from ffmlp.tables.tables import PARQUET, TEXT_FILES, Dialect, file_type, opener
from ffmlp.words import escaped

# The name that stands for it; what is written there is a CSV file.
STANDARD_OUTPUT = Path("-")
# How a cell begins that a spreadsheet takes for a formula, after byte order marks, which it leaves out.
_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_BYTE_ORDER_MARK = "\ufeff"
# Of probabilities in text files.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Predictions:
    """A block of predicted rows: Arrow arrays of the kept columns, and indices into ``labels``."""

    kept: tuple[Any, ...]
    classes: NDArray[np.intp]
    labels: NDArray
    probabilities: Floats | None
    unfamiliar: Flags | None = None


@dataclass(frozen=True)
class Output:
    """The file to write, whether it may replace another, and what becomes of the text of its cells.

    Spreadsheets take a cell for a formula if it begins with one of a few characters. A terminal obeys
    control characters.
    """

    path: Path
    replace: bool = True
    escape_formulas: bool = False
    to_terminal: bool = False

    @property
    def escaped(self) -> Callable[[str], str]:
        """What becomes of the text of a cell."""
        if self.to_terminal:
            return _shown_without_formula if self.escape_formulas else escaped
        return _without_formula if self.escape_formulas else str


def renderer(output: Output, names: list[str]) -> Callable[[Predictions], Any]:
    """How a block of predictions becomes what is written to such a file, in any thread or process."""
    if _is_parquet(output.path):
        return partial(_arrow_table, names)
    return partial(_lines, _delimiter(output.path), output.escaped)


@contextmanager
def prediction_writer(output: Output, names: list[str]) -> Iterator[Callable[[Any], object]]:
    """A function that writes rendered blocks, in order, to a file whose name says its type."""
    path, header = output.path, _header(output, names)
    if path == STANDARD_OUTPUT:
        _to_standard_output(header)
        yield _to_standard_output
        with errors_about_standard_output():
            sys.stdout.buffer.flush()
        return
    with whole_file(path, output.replace) as temporary:
        if _is_parquet(path):
            yield from _parquet_writer(temporary)
        else:
            with opener(path)(temporary, "wb") as file:
                file.write(header)
                yield file.write


def _to_standard_output(content: bytes) -> None:
    with errors_about_standard_output():
        sys.stdout.buffer.write(content)


def _is_parquet(path: Path) -> bool:
    return path != STANDARD_OUTPUT and file_type(path) == PARQUET


def _delimiter(path: Path) -> str:
    return "," if path == STANDARD_OUTPUT else TEXT_FILES[file_type(path)] or ","


def _header(output: Output, names: list[str]) -> bytes:
    """The first line of a text file."""
    if _is_parquet(output.path):
        return b""
    delimiter = _delimiter(output.path)
    return (delimiter.join(quoted(output.escaped(name), delimiter) for name in names) + "\n").encode()


def _lines(delimiter: str, escaped: Callable[[str], str], block: Predictions) -> bytes:
    """The rows as lines of a text file."""
    labels = [quoted(escaped(str(label)), delimiter).encode() for label in block.labels.tolist()]
    n_rows, columns = len(block.classes), list[Sequence[bytes]]()
    for column in block.kept:
        columns += [_cells(column, delimiter, escaped), [delimiter.encode()] * n_rows]
    columns.append(np.array(labels, object)[block.classes].tolist())
    if block.probabilities is not None:
        columns.append(decimals(block.probabilities, delimiter))
    if block.unfamiliar is not None:
        yes, no = (f"{delimiter}{flag}".encode() for flag in (1, 0))
        columns.append(np.where(block.unfamiliar, yes, no).tolist())
    columns.append([b"\n"] * n_rows)
    # One list of all pieces: joining the pieces of each row first takes three times as long.
    pieces = [b""] * (n_rows * len(columns))
    for place, column in enumerate(columns):
        pieces[place :: len(columns)] = column
    return b"".join(pieces)


def _cells(column: Any, delimiter: str, escaped: Callable[[str], str]) -> list[bytes]:
    """The cells of a column."""
    pyarrow = imported("pyarrow", "data files")
    texts = column if pyarrow.types.is_string(column.type) else column.cast("string")
    cells = [b"" if cell is None else cell for cell in texts.view(pyarrow.binary()).to_pylist()]
    if escaped is not str:
        cells = [escaped(cell.decode()).encode() for cell in cells]
    if _needs_quotes(b"".join(cells).decode(), delimiter):
        cells = [quoted(cell.decode(), delimiter).encode() for cell in cells]
    return cells


def _without_formula(text: str) -> str:
    """The text of a cell, after an apostrophe if a spreadsheet would take it for a formula."""
    is_formula = text.lstrip(_BYTE_ORDER_MARK).startswith(_FORMULAS) and not Dialect().is_number(text)
    return f"'{text}" if is_formula else text


def _shown_without_formula(text: str) -> str:
    return escaped(_without_formula(text))


def quoted(text: str, delimiter: str) -> str:
    """A cell of a text file."""
    return '"' + text.replace('"', '""') + '"' if _needs_quotes(text, delimiter) else text


def _needs_quotes(text: str, delimiter: str) -> bool:
    return any(mark in text for mark in (delimiter, '"', "\n", "\r"))


def decimals(probabilities: Floats, delimiter: str) -> list[bytes]:
    """Rows of numbers from 0 to 1 with six decimals, each after a delimiter.

    Digit by digit for all numbers at once: formatting each number would take longer than all the rest.
    """
    left = np.rint(probabilities * 10**_DECIMALS).astype(np.uint32)
    cells = np.empty((*left.shape, _DECIMALS + 3), np.uint8)
    cells[..., 0], cells[..., 2] = ord(delimiter), ord(".")
    for place in (*range(_DECIMALS + 2, 2, -1), 1):
        tens = left // np.uint32(10)
        cells[..., place] = left - np.uint32(10) * tens + ord("0")
        left = tens
    return cells.reshape(len(cells), -1).view(f"S{cells[0].size}")[:, 0].tolist()


def _parquet_writer(temporary: Path) -> Iterator[Callable[[Any], object]]:
    parquet = imported("pyarrow.parquet", "Parquet files")
    file: Any = None

    def write(table: Any) -> None:
        nonlocal file
        if file is None:  # the first block has the schema
            made = parquet.ParquetWriter(temporary, table.schema, write_page_checksum=True)
            file = closed_at_last.enter_context(made)
        file.write_table(table)

    with ExitStack() as closed_at_last:
        yield write


def _arrow_table(names: list[str], block: Predictions) -> Any:
    """The rows as a table of Arrow."""
    pyarrow = imported("pyarrow", "Parquet files")
    columns = [*block.kept, block.labels[block.classes]]
    if block.probabilities is not None:
        columns += list(block.probabilities.T)
    if block.unfamiliar is not None:
        columns.append(block.unfamiliar.astype(np.int8))
    return pyarrow.table(dict(zip(names, columns, strict=True)))
