"""Predictions for a data file: blocks are parsed and predicted in parallel, and written in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.extras import imported
from ffmlp.inputs.columns import CategoryColumn, Columns, IndexedColumn, category_name
from ffmlp.tables.blocks import Block, Part
from ffmlp.tables.opening import sections_of
from ffmlp.tables.tables import DataFile, DataTable
from ffmlp.tables.writing import Output, Predictions, prediction_writer, renderer
from ffmlp.tabular.dates import with_dates
from ffmlp.words import counted, short_number

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.predictor import Predictor


@dataclass(frozen=True)
class Substitute:
    """A cell, None if it is missing, and the number that is used instead; None for categories.

    The number is an ``average``: "median", or "mean given the other columns".
    """

    column: str
    cell: str | None
    used: float | None
    average: str = ""

    def __str__(self) -> str:
        if self.used is not None:
            used = short_number(self.used)
            return f"{self.column} is missing: {used} is used, the {self.average}."
        what = "missing" if self.cell is None else f"{self.cell!r}, which the model has not seen"
        return f"{self.column} is {what}: the class shares of all training rows are used."


@dataclass(frozen=True)
class UnknownCategories:
    """The number of cells of a column with a category that the model has not seen, and an example."""

    column: str
    n_cells: int
    example: str

    def __str__(self) -> str:
        cells = f"{counted(self.n_cells, 'cell')} {'has' if self.n_cells == 1 else 'have'}"
        unseen = "a category that the model has not seen"
        return f"{self.column}: {cells} {unseen}, for example {self.example!r}."


def substitutes(table: Columns, row: pd.Series, inputs: Floats) -> tuple[Substitute, ...]:
    """The substitutes in a row of columns, which becomes the inputs of a network.

    Missing categories that were seen in training need none.
    """
    average = "median" if table.imputation is None else "mean given the other columns"
    found = []
    for part, first in zip(table.parts, table.firsts, strict=True):
        cell = row[part.name]
        name = category_name(cell)
        if isinstance(part, CategoryColumn):
            seen = part.knows_missing if not name else name in part.categories
            if not seen:
                found.append(Substitute(part.name, name or None, None))
        elif not name:
            found.append(Substitute(part.name, None, float(inputs[first]), average))
    return tuple(found)


def unknown_categories(table: Columns, columns: Sequence[IndexedColumn]) -> list[UnknownCategories]:
    """The unknown categories in the categorical columns of some rows."""
    found = []
    parts = [part for part in table.parts if isinstance(part, CategoryColumn)]
    for part, texts in zip(parts, columns, strict=False):
        known = {*part.categories, ""}
        unknown = [
            index for index, text in enumerate(texts.distinct) if category_name(text) not in known
        ]
        if unknown:
            n_cells = int(np.isin(texts.indices, unknown).sum())
            found.append(UnknownCategories(part.name, n_cells, texts.distinct[unknown[0]]))
    return found


def merged(unknown: Iterable[UnknownCategories]) -> list[UnknownCategories]:
    """The unknown categories of several blocks of rows, merged by column."""
    of_columns: dict[str, UnknownCategories] = {}
    for part in unknown:
        before = of_columns.get(part.column, replace(part, n_cells=0))
        of_columns[part.column] = replace(before, n_cells=before.n_cells + part.n_cells)
    return list(of_columns.values())


Given = TypeVar("Given")
Result = TypeVar("Result")

_MAX_THREADS = 8
# Cells in memory, in the blocks of all threads together, and rows of a block. Blocks with few rows cost
# more to start and to finish than to predict, so fewer threads are used instead. After the last large
# one, threads would wait for each other.
_CELLS_AT_ONCE = 4_500_000
_FEWEST_ROWS, _MOST_ROWS = 1500, 40_000


@dataclass(frozen=True)
class Added:
    """What is written beside the predicted class of each row.

    ``keep`` is the share of training samples that are familiar. Unfamiliar rows are flagged, unless
    ``keep`` is None.
    """

    proba: bool = False
    row_numbers: bool = False
    keep: float | None = None


@dataclass(frozen=True)
class Written:
    """The number of rows written, and the categories in them that the model has not seen.

    ``n_unfamiliar`` is the number of flagged rows.
    """

    n_rows: int
    unknown: list[UnknownCategories]
    n_unfamiliar: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(
            self.n_rows + other.n_rows,
            merged([*self.unknown, *other.unknown]),
            self.n_unfamiliar + other.n_unfamiliar,
        )


def output_columns(model: Predictor, kept: Sequence[str], added: Added) -> list[str]:
    """The column names of the output."""
    names = [*(["row"] if added.row_numbers else []), *kept, f"predicted_{model.target}"]
    if added.proba:
        names += [f"probability_{label}" for label in model.network.labels.tolist()]
    return names if added.keep is None else [*names, "unfamiliar"]


def write_predictions(
    model: Predictor,
    files: Sequence[tuple[DataFile, Output]],
    *,
    kept: Sequence[str],
    added: Added,
    n_rows: int | None,
    on_block: Callable[[int], object],
    may_be_empty: bool = False,
    on_cluster: bool = False,
) -> Written:
    """Predict the rows of data files and write each to a file atomically, after the kept columns.

    All files have the same columns, and all outputs the same type. Blocks have about ``n_rows`` rows;
    None is as many as fit in constant memory, whatever the number of threads and columns. ``on_block``
    is called with the number of rows of each block written. A file without rows is an error, unless it
    ``may_be_empty``. Blocks are predicted in threads of this process or, in sections, by the workers of
    the active cluster.
    """
    # An input of the classifier takes half the memory of a cell that is read.
    n_cells = len(files[0][0].columns) + model.network.layer_sizes[0] // 2
    n_threads, usual = threads_and_rows(os.cpu_count() or 1, n_cells)
    names = output_columns(model, kept, added)
    render = renderer(files[0][1], names)
    task = _Prediction(model, kept, added, usual if n_rows is None else n_rows, render)
    tables = [table for table, _ in files]
    parts = chain.from_iterable(map(task.parts, enumerate(tables)))
    blocks = _on_workers(task, tables) if on_cluster else _in_parallel(task.of_part, parts, n_threads)
    total = Written(0, [])
    with closing(blocks):
        for (table, output), of_file in zip(files, _by_file(blocks, len(files)), strict=True):
            with prediction_writer(output, names) as write:
                written = _written(task, of_file, write, on_block)
                if not written.n_rows and not may_be_empty:
                    raise ValueError(f"{table.path} has a header but no rows.")
                if not written.n_rows:
                    write(render(_no_predictions(model, len(kept), added)))
            total += written
    return total


@dataclass(frozen=True, eq=False)
class _Rendered:
    """A block of the file of this number, ready to be written; its rows may still lack numbers."""

    file: int
    written: Written
    content: Any


@dataclass(frozen=True, eq=False)
class _Prediction:
    """What is made of each block of rows, in any thread or on a worker of a cluster."""

    model: Predictor
    kept: Sequence[str]
    added: Added
    n_rows: int
    render: Callable[[Predictions], Any]

    def parts(self, numbered: tuple[int, DataTable]) -> Iterator[tuple[int, Part]]:
        """The blocks of a file or a section of it, with the number of the file."""
        file, table = numbered
        dated = with_dates(table, self.model.dates)
        return ((file, part) for part in dated.parts(self.n_rows, self.model.kinds, self.kept))

    def of_part(self, numbered: tuple[int, Part]) -> _Rendered:
        file, part = numbered
        block = part()
        if not len(block):
            return _Rendered(file, Written(0, []), None)
        content = _predicted(self.model, block, self.added)
        flagged = 0 if content.unfamiliar is None else int(content.unfamiliar.sum())
        written = Written(len(block), unknown_categories(self.model.network.table, block.texts), flagged)
        # The numbers of its rows are known when the blocks before it are.
        return _Rendered(file, written, content if self.added.row_numbers else self.render(content))

    def of_section(self, numbered: tuple[int, DataTable]) -> list[_Rendered]:
        return list(map(self.of_part, self.parts(numbered)))


def _on_workers(task: _Prediction, tables: Sequence[DataFile]) -> Generator[_Rendered, None, None]:
    from ffmlp.dask.partitions import on_workers

    sections = ((number, part) for number, table in enumerate(tables) for part in sections_of(table))
    with closing(on_workers(task.of_section, sections)) as found:
        for blocks in found:
            yield from blocks


def _by_file(blocks: Iterable[_Rendered], n_files: int) -> Iterator[Iterator[_Rendered]]:
    """The blocks of each file; one without rows may have none."""
    groups = groupby(blocks, lambda block: block.file)
    nothing: tuple[int, Iterator[_Rendered]] = (n_files, iter(()))
    number, of_file = next(groups, nothing)
    for file in range(n_files):
        if number == file:
            yield of_file
            number, of_file = next(groups, nothing)
        else:
            yield iter(())


def _written(
    task: _Prediction,
    blocks: Iterable[_Rendered],
    write: Callable[[Any], object],
    on_block: Callable[[int], object],
) -> Written:
    """Write the blocks of a file."""
    total = Written(0, [])
    for block in blocks:
        if block.written.n_rows:
            content = block.content
            if task.added.row_numbers:
                content = task.render(_numbered(content, total.n_rows))
            write(content)
            total += block.written
            on_block(block.written.n_rows)
    return total


def _predicted(model: Predictor, block: Block, added: Added) -> Predictions:
    probability = model.probabilities(block) if added.proba else None
    classes = model.classes(block) if probability is None else probability.argmax(axis=1)
    unfamiliar = None if added.keep is None else ~model.familiarity(block, added.keep).familiar
    return Predictions(block.kept, classes, model.network.labels, probability, unfamiliar)


def _no_predictions(model: Predictor, n_kept: int, added: Added) -> Predictions:
    """A block without rows."""
    pyarrow = imported("pyarrow", "data files")
    kept = (pyarrow.nulls(0, pyarrow.string()),) * n_kept
    flags = None if added.keep is None else np.zeros(0, bool)
    probability = np.empty((0, len(model.network.labels))) if added.proba else None
    nothing = Predictions(kept, np.zeros(0, np.intp), model.network.labels, probability, flags)
    return _numbered(nothing, 0) if added.row_numbers else nothing


def _numbered(predictions: Predictions, n_before: int) -> Predictions:
    """With the numbers of the rows as the first column."""
    numbers = np.arange(1, len(predictions.classes) + 1) + n_before
    pyarrow = imported("pyarrow", "data files")
    return replace(predictions, kept=(pyarrow.array(numbers), *predictions.kept))


def _in_parallel(
    function: Callable[[Given], Result], parts: Iterable[Given], n_threads: int
) -> Generator[Result, None, None]:
    """The result for each part, in order, with at most ``n_threads`` parts in progress or waiting."""
    from threadpoolctl import threadpool_limits

    pending: deque[Future[Result]] = deque()
    # Each part has its own thread; threads inside matrix products would only compete with them.
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in parts:
                pending.append(pool.submit(function, part))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def threads_and_rows(n_processors: int, n_cells: int) -> tuple[int, int]:
    """The number of threads, and of rows in a block, for rows of ``n_cells`` cells.

    All blocks together take the same memory, whatever the number of processors and cells.
    """
    n_threads = min(n_processors, _MAX_THREADS, max(1, _CELLS_AT_ONCE // (_FEWEST_ROWS * n_cells)))
    return n_threads, min(max(1, _CELLS_AT_ONCE // (n_threads * n_cells)), _MOST_ROWS)
