"""Models of data files: columns by name go in, labels as they were written come out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from ffmlp.classifier import FFMLPClassifier
from ffmlp.storage.model_files import damaged
from ffmlp.storage.persistence import load_with_metadata, save
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.columns import Columns
from ffmlp.tabular.interface import Interface, interface_of
from ffmlp.tabular.preparation import MISSING_CATEGORY, Encoding, Preparation

if TYPE_CHECKING:
    import pandas as pd

# Categories of one column that get an input of their own; rarer ones share one.
_MAX_CATEGORIES = 32
# More different numbers than this, if they are no integers, are quantities and not names of classes.
_MAX_DECIMAL_CLASSES = 20


@dataclass(frozen=True, eq=False)
class TableModel(Interface):
    """A fitted pipeline and the columns that it takes."""

    estimator: Any

    @classmethod
    def load(cls, path: Path) -> TableModel:
        """Read a model that ``ffmlp fit`` or, with feature names, `ffmlp.save` wrote."""
        saved = load_with_metadata(path)
        try:
            interface = interface_of(saved.metadata)
        except Exception as error:
            raise damaged(path, error) from error
        if interface is not None:
            return cls(**vars(interface), estimator=saved.estimator)
        names = getattr(saved.estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(f"{path} does not know its columns by name. Make it with ffmlp fit.")
        facts = {"metadata": saved.metadata} if saved.metadata else {}
        features = tuple(map(str, names)), ()
        return cls(*features, "class", None, Dialect(), facts, None, saved.estimator)

    def save(self, path: Path) -> None:
        """Write the model to a file, whole or not at all."""
        save(self.estimator, path, self.to_metadata())

    @property
    def labels(self) -> NDArray:
        """The classes."""
        labels: NDArray = self.estimator.classes_
        return labels

    @property
    def n_inputs(self) -> int:
        """How many features the classifier has."""
        return int(self.classifier.n_features_in_)

    @property
    def classifier(self) -> FFMLPClassifier:
        """The last step."""
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return last

    def probabilities(self, features: pd.DataFrame | Block) -> NDArray[np.float64]:
        """The probability of each class, for rows of features."""
        if isinstance(features, Block):
            features = features.frame(self.numbers, self.categories)
        probability: NDArray[np.float64] = self.estimator.predict_proba(features)
        return probability

    def classes(self, features: pd.DataFrame | Block) -> NDArray[np.intp]:
        """The most probable class of each row of features, as an index into the labels."""
        return self.probabilities(features).argmax(axis=1)

    def inputs(self, features: pd.DataFrame) -> Any:
        """What the classifier takes in: features as they are after the steps before it."""
        if isinstance(self.estimator, Pipeline):
            return self.estimator[:-1].transform(features)
        return features


def pipeline(columns: Columns, classifier: FFMLPClassifier) -> Pipeline:
    """Imputation of numbers, one-hot encoding of categories, then the classifier.

    Nothing is standardised here, because the classifier does that itself.
    """
    encoded = Pipeline(
        [
            ("impute", SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)),
            (
                "encode",
                OneHotEncoder(
                    handle_unknown="infrequent_if_exist",
                    max_categories=_MAX_CATEGORIES,
                    sparse_output=False,
                ),
            ),
        ]
    )
    steps = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), list(columns.numbers)),
        ("categories", encoded, list(columns.categories)),
    ]
    prepared = ColumnTransformer(
        [step for step in steps if step[2]], verbose_feature_names_out=not _tellable(columns)
    )
    prepared.set_output(transform="pandas")  # so that the classifier knows the names
    return Pipeline([("prepare", prepared), ("classify", classifier)])


def preparation(fitted: Pipeline) -> Preparation | None:
    """What the first step of a fitted `pipeline` does; None if a median is too large to be a number."""
    steps, medians, encodings = fitted[0].named_transformers_, np.empty(0), []
    if "numbers" in steps:
        medians = steps["numbers"].statistics_
    if "categories" in steps:
        encoder = steps["categories"][-1]
        for known, rare in zip(encoder.categories_, encoder.infrequent_categories_, strict=True):
            others = set() if rare is None else set(rare)
            frequent = tuple(name for name in known if name not in others)
            encodings.append(Encoding(frequent, tuple(name for name in known if name in others)))
    return Preparation(medians, tuple(encodings)) if np.isfinite(medians).all() else None


def _tellable(columns: Columns) -> bool:
    """Whether no number can have the name of an encoded category, such as ``colour_red``."""
    return not any(
        name.startswith(f"{other}_") for name in columns.features for other in columns.categories
    )


def labels(cells: pd.Series) -> NDArray:
    """Labels as integers if all of them are written as such, else as text.

    Raises
    ------
    ValueError
        If there is one class only, or so many that these are no classes.
    """
    texts = cells.to_numpy(dtype=str)
    distinct = np.unique(texts)
    if len(distinct) < 2:
        raise ValueError(f"2 classes are needed, but all {len(texts)} rows have {str(distinct[0])!r}.")
    n_decimals = sum(map(_is_decimal, distinct.tolist()))
    if len(distinct) > len(texts) / 2 or n_decimals > _MAX_DECIMAL_CLASSES:
        raise ValueError(
            f"{len(distinct)} different values in {len(texts)} rows are no classes, of which each needs "
            "some rows, and ffmlp predicts no quantities."
        )
    if all(_is_integer(text) for text in distinct.tolist()):
        return texts.astype(np.int64)
    return texts


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and str(int(text)) == text and abs(int(text)) < 2**63


def _is_decimal(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and not _is_integer(text)
    except ValueError:
        return False


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts rows that it was not made with; a mean and a deviation over folds.

    ``majority`` is the accuracy of always saying the most frequent class.
    """

    method: str
    n_rows: int
    accuracy: float
    accuracy_deviation: float
    balanced_accuracy: float
    log_loss: float
    majority: float
    seconds: float


def evaluate(
    model: Pipeline,
    X: pd.DataFrame,
    y: NDArray,
    *,
    test_size: float,
    n_folds: int | None,
    seed: int,
    on_part: Callable[[], object],
) -> Evaluation:
    """Hold out a share of the rows, or each of ``n_folds`` parts in turn."""
    start = perf_counter()
    _check_parts(y, n_folds)
    scores, n_rows = [], 0
    for training, held in _parts(y, test_size, n_folds, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the whole fit warns of the same
            fitted = clone(model).fit(X.iloc[training], y[training])
            probability = fitted.predict_proba(X.iloc[held])
        predicted = fitted.classes_[probability.argmax(axis=1)]
        scores.append(
            (
                accuracy_score(y[held], predicted),
                balanced_accuracy_score(y[held], predicted),
                log_loss(y[held], probability, labels=fitted.classes_),
            )
        )
        n_rows += len(held)
        on_part()
    accuracy, balanced, loss = np.mean(scores, axis=0).tolist()
    folds = [score[0] for score in scores]
    method = "held out" if n_folds is None else f"{n_folds}-fold cross-validation"
    deviation = float(np.std(folds, ddof=1)) if len(folds) > 1 else 0.0
    majority = float(np.unique(y, return_counts=True)[1].max() / len(y))
    return Evaluation(
        method, n_rows, accuracy, deviation, balanced, loss, majority, perf_counter() - start
    )


def _check_parts(y: NDArray, n_folds: int | None) -> None:
    values, counts = np.unique(y, return_counts=True)
    needed = 2 if n_folds is None else n_folds
    if counts.min() < needed:
        rare, n_rows = values.tolist()[counts.argmin()], counts.min()
        raise ValueError(
            f"class {rare!r} has {n_rows} row{'s' if n_rows > 1 else ''}, but an evaluation needs "
            f"{needed} of each class. Remove the class, or skip the evaluation: --test-size 0."
        )


def _parts(
    y: NDArray, test_size: float, n_folds: int | None, seed: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    rows = np.arange(len(y))
    if n_folds is None:
        n_classes, n_held = len(np.unique(y)), int(np.ceil(test_size * len(y)))
        if min(n_held, len(y) - n_held) < n_classes:
            raise ValueError(
                f"a test part of {n_held} of {len(y)} rows cannot have a row of each of the {n_classes} "
                "classes on both sides. Choose another --test-size, or none: --test-size 0."
            )
        training, held = train_test_split(rows, test_size=test_size, stratify=y, random_state=seed)
        yield training, held
    else:
        yield from StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, y)
