"""The model of a table: a fitted classifier that takes columns by name and predicts labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.inputs.columns import CategoryColumn, Columns
from ffmlp.network.blobs import Familiarity
from ffmlp.network.network import Network
from ffmlp.storage.model_files import usable
from ffmlp.storage.persistence import load_with_metadata, save
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.interface import Interface, check_columns, interface_of

if TYPE_CHECKING:
    import pandas as pd

# More distinct decimal numbers than this are quantities, not classes.
_MAX_DECIMAL_CLASSES = 20
# Characters of an integer of 64 bits.
_LONGEST_INTEGER = 20


@dataclass(frozen=True, eq=False)
class TableModel(Interface):
    """A fitted classifier and its columns.

    Models of earlier versions are pipelines, which encode the columns before the classifier.
    """

    estimator: Any

    @classmethod
    def load(cls, path: Path) -> TableModel:
        """Read a model written by ``ffmlp fit``, or by `ffmlp.save` if it has feature names."""
        saved = load_with_metadata(path)
        with usable(path):
            interface = interface_of(saved.metadata)
            if interface is not None and not isinstance(saved.estimator, Pipeline):
                check_columns(interface, saved.estimator.network_)
        if interface is not None:
            return cls(**vars(interface), estimator=saved.estimator)
        with usable(path):
            names = getattr(saved.estimator, "feature_names_in_", None)
            if names is not None and not all(isinstance(name, str) for name in names):
                raise ValueError("feature names must be texts")
        if names is None:
            raise ValueError(
                f"{path} has no feature names. Fit the model with ffmlp fit, or to a data frame."
            )
        facts = {"metadata": saved.metadata} if saved.metadata else {}
        texts = _categorical(saved.estimator)
        numbers = tuple(str(name) for name in names if name not in texts)
        categories = tuple(str(name) for name in names if name in texts)
        return cls(numbers, categories, "class", None, Dialect(), facts, saved.estimator)

    def save(self, path: Path, replace: bool = True) -> None:
        """Write the model atomically; unless ``replace`` is set, an existing file is an error."""
        save(self.estimator, path, self.to_metadata(), replace)

    @property
    def labels(self) -> NDArray:
        """The classes, as they are written in the file."""
        return self.estimator.classes_

    @property
    def n_inputs(self) -> int:
        """The number of inputs of the network."""
        return self.network.layer_sizes[0]

    @property
    def table(self) -> Columns:
        """The columns as the classifier knows them; none for a pipeline."""
        return Columns(()) if isinstance(self.estimator, Pipeline) else self.estimator.network_.table

    @property
    def classifier(self) -> FFMLPClassifier:
        """The classifier itself, or the last step of a pipeline."""
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return last

    @property
    def network(self) -> Network:
        """The network of the classifier."""
        return self.classifier.network_

    def familiarity(self, features: pd.DataFrame | Block, keep: float) -> Familiarity:
        """How familiar each row is."""
        if isinstance(features, Block):
            features = features.frame(self.numbers, self.categories)
        return self.classifier.familiarity(self.classified(features), keep)

    def probabilities(self, features: pd.DataFrame | Block) -> Floats:
        """The probability of each class for each row."""
        if isinstance(features, Block):
            features = features.frame(self.numbers, self.categories)
        with self._in_words():
            return self.estimator.predict_proba(self._ordered(features))

    def classes(self, features: pd.DataFrame | Block) -> NDArray[np.intp]:
        """The most probable class of each row, as an index into the labels."""
        return self.probabilities(features).argmax(axis=1)

    def classified(self, features: pd.DataFrame) -> Any:
        """What the classifier is given: the columns, transformed by the steps of a pipeline."""
        if not isinstance(self.estimator, Pipeline):
            return self._ordered(features)
        with self._in_words():
            return self.estimator[:-1].transform(features)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Report any error of a pipeline: what is in its steps was not checked when it was read.

        Its steps may ask for any number of processes. They get none.
        """
        try:
            with parallel_config("sequential"):
                yield
        except Exception as error:
            if isinstance(error, ValueError) or not isinstance(self.estimator, Pipeline):
                raise
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(f"The pipeline of the model cannot predict ({problem}).") from error

    def _ordered(self, features: pd.DataFrame) -> pd.DataFrame:
        """The columns in the order in which the estimator knows them."""
        return features[getattr(self.estimator, "feature_names_in_", features.columns)]


def _categorical(estimator: Any) -> set[str]:
    """The columns of categories of a classifier; a pipeline takes numbers only."""
    if isinstance(estimator, Pipeline):
        return set()
    return {part.name for part in estimator.network_.table.parts if isinstance(part, CategoryColumn)}


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
