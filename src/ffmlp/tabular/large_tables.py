"""Models of tables that are larger than memory: sections of rows are read one by one, and add up.

Nothing here is imported unless such a table is fitted: it needs Dask (extra ``dask``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ffmlp.arrays import Flags
from ffmlp.classifier import FFMLPClassifier
from ffmlp.dask.estimator import FFMLPClassifier as DaskClassifier
from ffmlp.dask.partitions import Block, PartitionError, Passes, summed
from ffmlp.inputs.data_frames import columns_of, training_cells
from ffmlp.inputs.rows import mixed, row_hashes
from ffmlp.tables.tables import TEXT, DataTable, LocatedError, pandas
from ffmlp.tabular import scores
from ffmlp.tabular.dates import with_dates
from ffmlp.tabular.scores import HeldOutSums
from ffmlp.tabular.table_columns import Features, Tallies
from ffmlp.tabular.table_model import are_integers

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE = 100_000
# Each section counts the predictions of each class as each class.
_MOST_CLASSES = 1000


def _tasks(function: Callable[[DataTable], Any], sections: Sequence[DataTable]) -> list[Any]:
    task = delayed(function, pure=False, traverse=False)
    return [task(section) for section in sections]


@dataclass(frozen=True)
class FirstLook:
    """Tallies of columns, number of rows of each label, number of rows without a label; addable."""

    tallies: Tallies
    labels: Counter[str]
    n_unlabelled: int

    @classmethod
    def of(
        cls, target: str, texts: Sequence[str], left_out: Sequence[str], section: DataTable
    ) -> FirstLook | None:
        """The first look at a section; None if it has no rows."""
        looks = []
        for block in section.inferred(_ROWS_AT_ONCE, [*texts, target]):
            cells: Any = block[target]
            labelled = cells.indices >= 0
            counts = np.bincount(cells.indices[labelled], minlength=len(cells.distinct)).tolist()
            labels = Counter(dict(zip(cells.distinct, counts, strict=True)))
            tallies = Tallies.of(block, section.dialect, (*left_out, ""))
            looks.append(cls(tallies, labels, int((~labelled).sum())))
        return reduce(add, looks) if looks else None

    def __add__(self, later: FirstLook) -> FirstLook:
        labels = self.labels + later.labels
        if len(labels) > _MOST_CLASSES:
            raise ValueError(
                f"the target has more than {_MOST_CLASSES} distinct values. ffmlp predicts classes, not "
                "numbers."
            )
        n_unlabelled = self.n_unlabelled + later.n_unlabelled
        return FirstLook(self.tallies + later.tallies, labels, n_unlabelled)


def first_look(
    sections: Sequence[DataTable],
    target: str,
    texts: Sequence[str],
    left_out: Sequence[str],
    passes: Passes,
) -> FirstLook:
    """The columns and the labels of all sections, in one pass."""
    look = partial(FirstLook.of, target, texts, left_out)
    total = summed(_tasks(look, sections), passes) if sections else None
    return total or FirstLook(Tallies(0, {}), Counter(), 0)


@dataclass(frozen=True, eq=False)
class Reader:
    """How sections become labelled rows, some of which are held out.

    ``features`` are in the order of the classifier. Rows are held out by a hash of their features and a
    seed, so that equal rows are on the same side and neither files nor their order matter.
    """

    columns: Features
    features: list[str]
    target: str
    labels: NDArray
    test_size: float
    seed: int

    @classmethod
    def of(
        cls, columns: Features, features: list[str], target: str, counts: Counter[str],
        test_size: float, seed: int,
    ) -> Reader:  # fmt: skip
        """From the labels of a first look; a ValueError if they are no classes."""
        texts = np.unique(np.array(list(counts)))
        integers = are_integers(texts.tolist(), counts.total())
        labels = np.unique(texts.astype(np.int64)) if integers else texts
        return cls(columns, features, target, labels, test_size, seed)

    def rows(self, section: DataTable) -> Block:
        """All labelled rows of a section."""
        kinds = {**self.columns.kinds, self.target: TEXT}
        blocks = with_dates(section, self.columns.dates).blocks(_ROWS_AT_ONCE, kinds)
        frame = pandas().concat([_nothing(kinds), *blocks], ignore_index=True)
        frame = frame[frame[self.target].notna()].reset_index(drop=True)
        y = frame[self.target].to_numpy(dtype=str).astype(self.labels.dtype)
        return Block(frame[self.features], y)

    def training_rows(self, section: DataTable) -> Block:
        """The labelled rows of a section that are not held out."""
        rows = self.rows(section)
        training = ~self.held_out(rows.X)
        return Block(rows.X[training], rows.y[training])

    def held_out(self, X: pd.DataFrame) -> Flags:
        """Which rows are held out."""
        cells = training_cells(columns_of(X) or [], self.features, list(self.columns.categories))
        salt = mixed(np.array([self.seed], np.uint64))
        drawn = mixed(row_hashes(cells) ^ salt)
        return drawn.astype(np.float64) < self.test_size * 2.0**64


def _nothing(kinds: dict[str, str]) -> pd.DataFrame:
    """A frame without rows that has columns of these kinds."""
    dtypes = {name: object if kind == TEXT else float for name, kind in kinds.items()}
    return pandas().DataFrame({name: pandas().Series(dtype=kind) for name, kind in dtypes.items()})


def fitted(
    model: FFMLPClassifier,
    sections: Sequence[DataTable],
    reader: Reader,
    passes: Passes,
    *,
    to_all: bool,
) -> FFMLPClassifier:
    """A classifier with the parameters of ``model``, fitted to all rows or to those not held out."""
    parts = _tasks(reader.rows if to_all else reader.training_rows, sections)
    clf = DaskClassifier(**model.get_params())
    try:
        example = _nothing(reader.columns.kinds)[reader.features]
        return clf.fit_blocks(parts, example, passes).to_local()
    except PartitionError as error:
        if isinstance(error.__cause__, LocatedError):  # it names the file, the row and the column
            raise error.__cause__ from None
        raise


@dataclass(frozen=True)
class LastLook:
    """Sums over held-out rows, and the smallest hashes of all rows; addable."""

    held_out: HeldOutSums | None
    hashes: list[int]

    @classmethod
    def of(cls, reader: Reader, model: FFMLPClassifier | None, section: DataTable) -> LastLook:
        """The last look at a section; without a model, at hashes alone."""
        rows = reader.rows(section)
        features = rows.X[reader.columns.features]
        hashes = scores.stored_hashes(scores.hashes_of(features, rows.y))
        held_out = None
        if model is not None and (held := reader.held_out(rows.X)).any():
            truth = np.searchsorted(reader.labels, rows.y[held])
            probability = np.zeros((len(truth), len(reader.labels)))
            with threadpool_limits(1):  # other sections are read beside this one
                predicted = model.predict_proba(rows.X[held])
            # A class may have all its rows among the rows that are held out.
            probability[:, np.searchsorted(reader.labels, model.classes_)] = predicted
            held_out = HeldOutSums.of(truth, probability)
        return cls(held_out, hashes)

    def __add__(self, other: LastLook) -> LastLook:
        sums = [look.held_out for look in (self, other) if look.held_out is not None]
        hashes = np.array(self.hashes + other.hashes, np.uint64)
        return LastLook(reduce(add, sums) if sums else None, scores.stored_hashes(hashes))


def last_look(
    model: FFMLPClassifier | None, sections: Sequence[DataTable], reader: Reader, passes: Passes
) -> LastLook:
    """The last look at all sections, in one pass."""
    return summed(_tasks(partial(LastLook.of, reader, model), sections), passes)
