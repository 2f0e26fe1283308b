"""The model of a table: a fitted pipeline that takes columns by name and predicts labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.storage.model_files import usable
from ffmlp.storage.persistence import load_with_metadata, save
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.columns import Columns
from ffmlp.tabular.interface import Interface, interface_of
from ffmlp.tabular.preparation import MISSING_CATEGORY, Encoding, Preparation

if TYPE_CHECKING:
    import pandas as pd

# Categories of one column with an input of their own; rarer ones share one.
_MAX_CATEGORIES = 32
# More distinct decimal numbers than this are quantities, not classes.
_MAX_DECIMAL_CLASSES = 20


@dataclass(frozen=True, eq=False)
class TableModel(Interface):
    """A fitted pipeline and its columns."""

    estimator: Any

    @classmethod
    def load(cls, path: Path) -> TableModel:
        """Read a model written by ``ffmlp fit``, or by `ffmlp.save` if it has feature names."""
        saved = load_with_metadata(path)
        with usable(path):
            interface = interface_of(saved.metadata)
        if interface is not None:
            return cls(**vars(interface), estimator=saved.estimator)
        names = getattr(saved.estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"{path} has no feature names. Fit the model with ffmlp fit, or to a data frame."
            )
        facts = {"metadata": saved.metadata} if saved.metadata else {}
        features = tuple(map(str, names)), ()
        return cls(*features, "class", None, Dialect(), facts, None, saved.estimator)

    def save(self, path: Path) -> None:
        """Write the model to a file atomically."""
        save(self.estimator, path, self.to_metadata())

    @property
    def labels(self) -> NDArray:
        """The classes, as they are written in the file."""
        return self.estimator.classes_

    @property
    def n_inputs(self) -> int:
        """The number of features of the classifier."""
        return int(self.classifier.n_features_in_)

    @property
    def classifier(self) -> FFMLPClassifier:
        """The last step of the pipeline."""
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return last

    def probabilities(self, features: pd.DataFrame | Block) -> Floats:
        """The probability of each class for each row."""
        if isinstance(features, Block):
            features = features.frame(self.numbers, self.categories)
        return self.estimator.predict_proba(features)

    def classes(self, features: pd.DataFrame | Block) -> NDArray[np.intp]:
        """The most probable class of each row, as an index into the labels."""
        return self.probabilities(features).argmax(axis=1)

    def inputs(self, features: pd.DataFrame) -> Any:
        """The features of the classifier: those of the table, transformed by the steps before it."""
        if isinstance(self.estimator, Pipeline):
            return self.estimator[:-1].transform(features)
        return features


def pipeline(columns: Columns, classifier: FFMLPClassifier) -> Pipeline:
    """Imputation of numbers, one-hot encoding of categories, then the classifier.

    Nothing is standardised: the classifier does that itself.
    """
    imputer = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MAX_CATEGORIES, sparse_output=False
    )
    encoded = Pipeline([("impute", imputer), ("encode", encoder)])
    steps = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), list(columns.numbers)),
        ("categories", encoded, list(columns.categories)),
    ]
    # Whether a column can be mistaken for an encoded category, such as ``colour_red``.
    starts = tuple(f"{name}_" for name in columns.categories)
    ambiguous = any(name.startswith(starts) for name in columns.features)
    prepared = ColumnTransformer(
        [step for step in steps if step[2]], verbose_feature_names_out=ambiguous
    )
    prepared.set_output(transform="pandas")  # for the feature names
    return Pipeline([("prepare", prepared), ("classify", classifier)])


def preparation(fitted: Pipeline) -> Preparation | None:
    """What the first step of a fitted `pipeline` does; None if a median overflows."""
    steps, medians, encodings = fitted[0].named_transformers_, np.empty(0), []
    if "numbers" in steps:
        medians = steps["numbers"].statistics_
    if "categories" in steps:
        encoder = steps["categories"][-1]
        for known, rare in zip(encoder.categories_, encoder.infrequent_categories_, strict=True):
            others = dict.fromkeys(() if rare is None else rare)
            frequent = tuple(name for name in known if name not in others)
            encodings.append(Encoding(frequent, tuple(others)))
    return Preparation(medians, tuple(encodings)) if np.isfinite(medians).all() else None


def labels(cells: pd.Series) -> NDArray:
    """Labels as integers if all of them are written so, else as text.

    A ValueError if there is only one class, or if there are too many.
    """
    texts = cells.to_numpy(dtype=str)
    distinct = np.unique(texts).tolist()
    if len(distinct) < 2:
        (only,) = distinct
        raise ValueError(f"at least 2 classes are needed, but all {len(texts)} rows have {only!r}.")
    integers, numbers = (list(map(test, distinct)) for test in (_is_integer, Dialect().is_number))
    n_decimals = sum(numbers) - sum(integers)
    if len(distinct) > len(texts) / 2 or n_decimals > _MAX_DECIMAL_CLASSES:
        remedy = "Each class needs several rows."
        if sum(numbers) > len(distinct) / 2:
            remedy = "ffmlp predicts classes, not numbers."
        number = len(distinct)
        raise ValueError(f"the target has {number} distinct values in {len(texts)} rows. {remedy}")
    return texts.astype(np.int64) if all(integers) else texts


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and str(int(text)) == text and abs(int(text)) < 2**63
