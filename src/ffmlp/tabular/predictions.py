"""Predictions for the rows of a data file: read, predicted and written block by block, in order."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ffmlp.storage.whole_files import whole_file
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import COMPRESSIONS, Table
from ffmlp.tabular.substitutes import UnknownCategory, summed, unknown_categories

if TYPE_CHECKING:
    from ffmlp.tabular.predictor import Predictor
    from ffmlp.tabular.table_model import TableModel

Part = TypeVar("Part")
Result = TypeVar("Result")

_MAX_THREADS = 8
# Cells of the blocks that all threads have in memory together, and rows of a block. To begin and to end
# one of few rows takes longer than to predict it: where all threads would have such, there are fewer.
_CELLS_AT_ONCE = 4_500_000
_FEWEST_ROWS, _MOST_ROWS = 1500, 100_000
# Memory that is kept for the next blocks, and the most that the GNU C library keeps for one of them.
_BYTES_KEPT, _MOST_BYTES_KEPT = 2**26, 2**25 - 2**16
# Of the probabilities in text files.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Predictions:
    """For a block of rows: what they are called if known, their classes, and chances if asked for.

    ``classes`` are indices into ``labels``.
    """

    ids: NDArray[np.object_] | None
    classes: NDArray[np.intp]
    labels: NDArray
    probabilities: NDArray[np.float64] | None


# What a block becomes before it is written, such as lines of text.
Rendering = Callable[[Predictions], Any]


@dataclass(frozen=True, eq=False)
class Rendered:
    """A block of rows that is ready to be written."""

    n_rows: int
    content: Any
    unknown: tuple[UnknownCategory, ...]


@dataclass(frozen=True)
class Written:
    """How many rows have been written, and the categories in them that the model does not know."""

    n_rows: int
    unknown: list[UnknownCategory]


def predictions(
    model: Predictor | TableModel,
    table: Table,
    id_column: str | None,
    render: Rendering,
    *,
    proba: bool,
    n_rows: int | None,
) -> Iterator[Rendered]:
    """Parse, predict and render blocks of about so many rows, several at a time.

    None for blocks that take as much memory however many threads and columns there are. Yields how many
    rows a block has, what was rendered and which categories in it the model does not know, in the order
    of the file.
    """
    from threadpoolctl import threadpool_limits

    # An input of the classifier takes half the memory of a cell that is read.
    n_cells = len(table.columns) + model.n_inputs // 2
    n_threads, usual = threads_and_rows(os.cpu_count() or 1, n_cells)
    if n_rows is None:
        n_rows = usual

    def rendered(part: Callable[[], Block]) -> Rendered:
        block = part()
        if not len(block):
            return Rendered(0, None, ())
        unknown = unknown_categories(model, block.texts)
        return Rendered(len(block), render(_predicted(model, block, proba)), unknown)

    empty = True
    _keep_freed_memory(n_threads)
    # Each block has its own thread; threads inside of products would only fight with them.
    with (
        warnings.catch_warnings(),
        threadpool_limits(1),
        ThreadPoolExecutor(n_threads) as pool,
    ):
        # Of numbers that are texts, which an error tells with their lines. Threads cannot ignore it.
        warnings.filterwarnings("ignore", "Columns? .* mixed types")
        parts = table.parts(n_rows, model.kinds, id_column)
        for block in _in_order(pool, rendered, parts, n_threads):
            if block.n_rows:
                empty = False
                yield block
    if empty:
        raise ValueError(f"{table.path} has a header, but no rows.")


def threads_and_rows(n_processors: int, n_cells: int) -> tuple[int, int]:
    """How many threads there are, and rows of a block, if a row has so many cells.

    So many that all blocks together take as much memory whatever the processors and cells.
    """
    n_threads = min(n_processors, _MAX_THREADS, max(1, _CELLS_AT_ONCE // (_FEWEST_ROWS * n_cells)))
    return n_threads, min(max(1, _CELLS_AT_ONCE // (n_threads * n_cells)), _MOST_ROWS)


def _keep_freed_memory(n_threads: int) -> None:
    """Have the GNU C library keep what a block of rows has freed for the next one.

    It gives large pieces back to the system at once and asks for them again, a quarter of the time of
    parsing, until it has seen one of their size come and go. Other libraries take no notice.
    """
    np.empty(min(_BYTES_KEPT // n_threads, _MOST_BYTES_KEPT), np.uint8)


def _in_order(
    pool: Executor, function: Callable[[Part], Result], parts: Iterable[Part], n_ahead: int
) -> Iterator[Result]:
    """What a function gives for each part, no more than so many of them being worked on or waiting."""
    pending: deque[Future[Result]] = deque()
    try:
        for part in parts:
            pending.append(pool.submit(function, part))
            if len(pending) > n_ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def _predicted(model: Predictor | TableModel, block: Block, proba: bool) -> Predictions:
    if not proba:
        return Predictions(block.ids, model.classes(block), model.labels, None)
    probability = model.probabilities(block)
    return Predictions(block.ids, probability.argmax(axis=1), model.labels, probability)


def header(model: Predictor | TableModel, id_column: str | None, *, proba: bool) -> list[str]:
    """The columns of what is written."""
    names = [] if id_column is None else [id_column]
    names.append(f"predicted_{model.target}")
    if proba:
        names += [f"probability_{label}" for label in model.labels.tolist()]
    return names


def write_predictions(
    path: Path,
    names: list[str],
    blocks: Callable[[Rendering], Iterable[Rendered]],
    on_block: Callable[[int], object],
) -> Written:
    """Write what ``blocks`` renders to a file, whole or not at all."""
    n_rows = 0
    unknown: list[UnknownCategory] = []
    with whole_file(path) as temporary, _file_kind(path)(temporary, path, names) as (render, write):
        for block in blocks(render):
            write(block.content)
            n_rows += block.n_rows
            unknown += block.unknown
            on_block(block.n_rows)
    return Written(n_rows, summed(unknown))


# How to render blocks, and how to write what was rendered.
FileKind = Callable[
    [Path, Path, list[str]], AbstractContextManager[tuple[Rendering, Callable[[Any], object]]]
]


def check_kind(path: Path) -> None:
    """Refuse a name that does not say how to write."""
    _file_kind(path)


def _file_kind(path: Path) -> FileKind:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".parquet", ".pq"):
        return _parquet
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _DELIMITERS:
        raise ValueError(
            f"{path}: predictions are written to .csv, .tsv (also .gz, .bz2 or .xz) or .parquet."
        )
    return _text


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}


@contextmanager
def _text(
    temporary: Path, path: Path, names: list[str]
) -> Iterator[tuple[Rendering, Callable[[Any], object]]]:
    opener = COMPRESSIONS.get(path.suffix.lower())
    mark = _DELIMITERS[path.suffixes[-1 if opener is None else -2].lower()]
    with temporary.open("wb") if opener is None else opener(temporary, "wb") as file:
        file.write((mark.join(quoted(name, mark) for name in names) + "\n").encode())
        yield partial(_lines, mark), file.write


def _lines(mark: str, block: Predictions) -> bytes:
    """The rows as they are in a text file."""
    labels = [quoted(str(label), mark).encode() for label in block.labels.tolist()]
    columns = [np.array(labels, object)[block.classes].tolist()]
    if block.ids is not None:
        ids = ["" if text != text else text for text in block.ids.tolist()]  # NaN is missing
        if _needs_quotes("".join(ids), mark):
            ids = [quoted(text, mark) for text in ids]
        columns.insert(0, [(text + mark).encode() for text in ids])
    if block.probabilities is not None:
        columns.append(decimals(block.probabilities, mark))
    rows = columns[0] if len(columns) == 1 else map(b"".join, zip(*columns, strict=True))
    return b"\n".join(rows) + b"\n"


def quoted(text: str, delimiter: str) -> str:
    """A cell of a text file."""
    return '"' + text.replace('"', '""') + '"' if _needs_quotes(text, delimiter) else text


def _needs_quotes(text: str, delimiter: str) -> bool:
    return any(mark in text for mark in (delimiter, '"', "\n", "\r"))


def decimals(probabilities: NDArray[np.float64], delimiter: str) -> list[bytes]:
    """Rows of numbers from 0 to 1 with six decimals, each after a delimiter.

    Made digit by digit for all numbers at once: formatting each would take longer than all the rest.
    """
    left = np.rint(probabilities * 10**_DECIMALS).astype(np.uint32)
    cells = np.empty((*left.shape, _DECIMALS + 3), np.uint8)
    cells[..., 0], cells[..., 2] = ord(delimiter), ord(".")
    for place in (*range(_DECIMALS + 2, 2, -1), 1):
        tens = left // np.uint32(10)
        cells[..., place] = left - np.uint32(10) * tens + ord("0")
        left = tens
    rows: list[bytes] = cells.reshape(len(cells), -1).view(f"S{cells[0].size}")[:, 0].tolist()
    return rows


@contextmanager
def _parquet(
    temporary: Path, path: Path, names: list[str]
) -> Iterator[tuple[Rendering, Callable[[Any], object]]]:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(f"{path}: Parquet files need pyarrow: pip install pyarrow") from error
    files: list[Any] = []

    def render(block: Predictions) -> Any:
        columns = [block.labels[block.classes]]
        if block.probabilities is not None:
            columns += list(block.probabilities.T)
        if block.ids is not None:
            columns.insert(0, pyarrow.array(block.ids, pyarrow.string(), from_pandas=True))
        return pyarrow.table(dict(zip(names, columns, strict=True)))

    def write(table: Any) -> None:
        if not files:
            files.append(parquet.ParquetWriter(temporary, table.schema))
        files[0].write_table(table)

    try:
        yield render, write
    finally:
        for file in files:
            file.close()
