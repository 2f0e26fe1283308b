"""Predictions for the rows of a data file: read, predicted and written block by block, in order."""

from __future__ import annotations

import csv
import io
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

from ffmlp.records import whole_file
from ffmlp.tables import COMPRESSIONS, TEXT, Table, pandas
from ffmlp.tabular import TableModel

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
    # Each block has its own thread; threads inside of products would only fight with them.
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        try:
            for block in table.blocks(n_rows, kinds):
                pending.append(pool.submit(_predicted, model, block, id_column, proba))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
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
            f"{path}: predictions are written to .csv, .tsv (also .gz, .bz2, .xz or .zst) or .parquet."
        )
    return _text


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}


def decimals(probabilities: NDArray[np.float64]) -> NDArray[np.str_]:
    """Numbers from 0 to 1 with six decimals; digit by digit for all at once, as formatting is slow."""
    scaled = np.rint(probabilities * 10**_DECIMALS).astype(np.int64)
    digits = np.empty((*probabilities.shape, _DECIMALS + 2), np.uint8)
    digits[..., 1] = ord(".")
    for place in (*range(_DECIMALS + 1, 1, -1), 0):
        scaled, digits[..., place] = np.divmod(scaled, 10)
    digits[..., 0] += ord("0")
    digits[..., 2:] += ord("0")
    return digits.view(f"S{_DECIMALS + 2}")[..., 0].astype(np.str_)


@contextmanager
def _text(temporary: Path, path: Path, names: list[str]) -> Iterator[Write]:
    opener = COMPRESSIONS.get(path.suffix.lower())
    kind = path.suffixes[-1 if opener is None else -2].lower()
    raw = temporary.open("wb") if opener is None else opener(temporary, "wb")
    with io.TextIOWrapper(raw, "utf-8", newline="") as file:
        rows = csv.writer(file, delimiter=_DELIMITERS[kind], lineterminator="\n")
        rows.writerow(names)

        def write(block: Predictions) -> None:
            columns = [block.labels.tolist()]
            if block.ids is not None:
                missing = pandas().isna(block.ids)
                columns.insert(0, np.where(missing, "", block.ids).tolist())
            if block.probabilities is not None:
                columns += decimals(block.probabilities).T.tolist()
            rows.writerows(zip(*columns, strict=True))

        yield write


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
