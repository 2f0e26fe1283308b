"""Predictions for the rows of a data file: read, predicted and written block by block, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.files.tables import COMPRESSIONS, TEXT, Table, pandas
from ffmlp.files.tabular import TableModel
from ffmlp.records import whole_file

# Each has a block of rows in memory.
_MAX_THREADS = 8
# Of the probabilities in text files.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Predictions:
    """For a block of rows: what they are called and what their classes are, if asked with chances."""

    ids: NDArray[np.object_] | None
    labels: NDArray
    probabilities: NDArray[np.float64] | None


def predictions(
    model: TableModel, table: Table, id_column: str | None, *, proba: bool, n_rows: int
) -> Iterator[Predictions]:
    """Predict blocks of rows, several at a time, and yield them in the order of the file."""
    from threadpoolctl import threadpool_limits

    kinds = model.kinds if id_column is None else {**model.kinds, id_column: TEXT}
    n_threads = min(_MAX_THREADS, os.cpu_count() or 1)
    pending: deque[Future[Predictions]] = deque()
    n_read = 0
    # Each block has its own thread; threads inside of products would only fight with them.
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        try:
            for block in table.blocks(n_rows, kinds):
                n_read += len(block)
                pending.append(pool.submit(_predicted, model, block, id_column, proba))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            if n_read == 0:
                raise ValueError(f"{table.path} has a header, but no rows.")
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _predicted(model: TableModel, block: Any, id_column: str | None, proba: bool) -> Predictions:
    features = block[model.columns]
    ids = None if id_column is None else block[id_column].to_numpy(object)
    if not proba:
        return Predictions(ids, model.estimator.predict(features), None)
    probability = model.estimator.predict_proba(features)
    return Predictions(ids, model.estimator.classes_[probability.argmax(axis=1)], probability)


def header(model: TableModel, id_column: str | None, *, proba: bool) -> list[str]:
    """The columns of what is written."""
    names = [] if id_column is None else [id_column]
    names.append(f"predicted_{model.target}")
    if proba:
        names += [f"probability_{label}" for label in model.estimator.classes_.tolist()]
    return names


def write_predictions(
    path: Path, names: list[str], blocks: Iterable[Predictions], on_block: Callable[[int], object]
) -> int:
    """Write a file whole or not at all, as its name says; how many rows it has."""
    n_rows = 0
    with whole_file(path) as temporary, _writer(path)(temporary, path, names) as write:
        for block in blocks:
            write(block)
            n_rows += len(block.labels)
            on_block(len(block.labels))
    return n_rows


Write = Callable[[Predictions], None]
Writer = Callable[[Path, Path, list[str]], AbstractContextManager[Write]]


def check_kind(path: Path) -> None:
    """Refuse a name that does not say how to write."""
    _writer(path)


def _writer(path: Path) -> Writer:
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
def _text(temporary: Path, path: Path, names: list[str]) -> Iterator[Write]:
    opener = COMPRESSIONS.get(path.suffix.lower())
    mark = _DELIMITERS[path.suffixes[-1 if opener is None else -2].lower()]
    with temporary.open("wb") if opener is None else opener(temporary, "wb") as file:
        file.write((mark.join(quoted(name, mark) for name in names) + "\n").encode())
        labels: dict[Any, bytes] = {}

        def write(block: Predictions) -> None:
            for label in set(block.labels.tolist()) - labels.keys():
                labels[label] = quoted(str(label), mark).encode()
            columns = [[labels[label] for label in block.labels.tolist()]]
            if block.ids is not None:
                texts = np.where(pandas().isna(block.ids), "", block.ids).tolist()
                columns.insert(0, [(quoted(text, mark) + mark).encode() for text in texts])
            if block.probabilities is not None:
                columns.append(decimals(block.probabilities, mark))
            rows = map(b"".join, zip(*columns, strict=True))
            file.writelines(row + b"\n" for row in rows)

        yield write


def quoted(text: str, delimiter: str) -> str:
    """A cell of a text file."""
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


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
def _parquet(temporary: Path, path: Path, names: list[str]) -> Iterator[Write]:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(f"{path}: Parquet files need pyarrow: pip install pyarrow") from error
    files: list[Any] = []

    def write(block: Predictions) -> None:
        columns = [block.labels, *([] if block.probabilities is None else block.probabilities.T)]
        if block.ids is not None:
            columns.insert(0, pyarrow.array(block.ids, pyarrow.string(), from_pandas=True))
        table = pyarrow.table(dict(zip(names, columns, strict=True)))
        if not files:
            files.append(parquet.ParquetWriter(temporary, table.schema))
        files[0].write_table(table)

    try:
        yield write
    finally:
        for file in files:
            file.close()
