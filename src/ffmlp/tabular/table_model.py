"""The model of a table: a fitted classifier that takes columns by name and predicts labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.network.network import Network
from ffmlp.storage.model_files import load_with_metadata, save
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.interface import Interface, interface_of

if TYPE_CHECKING:
    import pandas as pd

# More distinct decimal numbers than this are quantities, not classes.
_MAX_DECIMAL_CLASSES = 20
# Characters of an integer of 64 bits.
_LONGEST_INTEGER = 20


@dataclass(frozen=True, eq=False)
class TableModel(Interface):
    """A fitted classifier and its columns."""

    classifier: FFMLPClassifier

    @classmethod
    def load(cls, path: Path) -> TableModel:
        """Read a model written by ``ffmlp fit``, or by `ffmlp.save` if it has feature names."""
        saved = load_with_metadata(path)
        return cls(**vars(interface_of(saved, path)), classifier=saved.classifier)

    def save(self, path: Path, replace: bool = True) -> None:
        """Write the model atomically; unless ``replace`` is set, an existing file is an error."""
        save(self.classifier, path, self.to_metadata(), replace)

    @property
    def labels(self) -> NDArray:
        """The classes, as they are written in the file."""
        return self.classifier.classes_

    @property
    def network(self) -> Network:
        """The network of the classifier."""
        return self.classifier.network_

    def probabilities(self, features: pd.DataFrame) -> Floats:
        """The probability of each class for each row."""
        return self.classifier.predict_proba(self.classified(features))

    def classified(self, features: pd.DataFrame) -> pd.DataFrame:
        """The columns in the order in which the classifier knows them."""
        return features[list(self.network.table.names)]


def labels(cells: pd.Series) -> NDArray:
    """Labels as integers if all of them are written so, else as text.

    A ValueError if there is only one class, or if there are too many.
    """
    texts = cells.to_numpy(dtype=str)
    distinct = np.unique(texts).tolist()
    return texts.astype(np.int64) if are_integers(distinct, len(texts)) else texts


def are_integers(distinct: Sequence[str], n_rows: int) -> bool:
    """Whether all labels are written as integers, given the distinct ones.

    A ValueError if there is only one class, or if there are too many.
    """
    if len(distinct) < 2:
        (only,) = distinct
        raise ValueError(f"at least 2 classes are needed, but all {n_rows} rows have {only!r}.")
    integers, numbers = (list(map(test, distinct)) for test in (_is_integer, Dialect().is_number))
    n_decimals = sum(numbers) - sum(integers)
    if len(distinct) > n_rows / 2 or n_decimals > _MAX_DECIMAL_CLASSES:
        remedy = "Each class needs several rows."
        if sum(numbers) > len(distinct) / 2:
            remedy = "ffmlp predicts classes, not numbers."
        raise ValueError(f"the target has {len(distinct)} distinct values in {n_rows} rows. {remedy}")
    return all(integers)


def _is_integer(text: str) -> bool:
    is_short = len(text) <= _LONGEST_INTEGER  # Python refuses to read thousands of digits
    is_integer = is_short and text.removeprefix("-").isdecimal() and str(int(text)) == text
    return is_integer and abs(int(text)) < 2**63
