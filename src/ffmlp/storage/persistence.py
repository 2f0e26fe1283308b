"""Fitted models as files that are loaded without running code from them.

skops writes and reads the content of the files. Every type that a schema names is compared with an
explicit list before any object is created. A loaded classifier is checked for completeness.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ffmlp.classifier import FFMLPClassifier
from ffmlp.design.problem import Plan
from ffmlp.design.pruning import PruningPath
from ffmlp.design.selection import Selection
from ffmlp.extras import imported
from ffmlp.merging import Statistics
from ffmlp.network.blobs import Blobs
from ffmlp.parameters import check_parameters
from ffmlp.storage.archives import TooLargeError
from ffmlp.storage.checks import check_network
from ffmlp.storage.contents import SKLEARN_STEPS, check_types, name_of, open_model, trusted_kinds
from ffmlp.storage.json_models import read_json
from ffmlp.storage.model_files import FORMAT_VERSION, Content, is_json, usable, write_model
from ffmlp.storage.schema import NETWORK_TAGS, Node, sklearn_tag

_PARTS: dict[str, type] = {
    **NETWORK_TAGS,
    "blobs": Blobs,
    "plan": Plan,
    "pruning-path": PruningPath,
    "selection": Selection,
    "statistics": Statistics,
    "classifier": FFMLPClassifier,
}
# Parameters that are newer than a file have their defaults, but for those that would change its design.
_AS_BEFORE: dict[str, Any] = {"max_leaves": 0}


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file: an estimator and its metadata."""

    estimator: Any
    metadata: dict[str, Any]


def save(
    estimator: FFMLPClassifier | Pipeline,
    path: str | PathLike[str],
    metadata: dict[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write a fitted model to a file, atomically (extra ``persistence``).

    Parameters
    ----------
    estimator : FFMLPClassifier or Pipeline
        A fitted classifier, or a fitted pipeline that ends with one. The other steps may be
        scikit-learn's imputers, encoders and scalers, column transformers and PCA.
    path : str or path-like
        The file to write.
    metadata : dict, default=None
        Plain JSON values to store with the model.
    replace : bool, default=True
        Whether an existing file is replaced. Otherwise, it is an error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import ffmlp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.model"
    ...     ffmlp.save(clf, path, {"source": "iris"})
    ...     again = ffmlp.load(path)
    >>> bool((again.predict(X) == clf.predict(X)).all())
    True
    """
    skops = imported("skops.io", "saving models")
    classifier = _classifier(estimator, "The estimator")
    check_is_fitted(classifier)
    if hasattr(classifier, "to_local"):
        raise ValueError("A classifier for Dask collections is not stored. Save clf.to_local().")
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder. Name the file to write the model to.")
    whole = {"estimator": estimator, "metadata": _plain_json(metadata)}
    tags = {name_of(kind): tag for tag, kind in _tags().items()}
    root = Node.root(Content(FORMAT_VERSION, skops.dumps(whole, compression=zipfile.ZIP_STORED)))
    payload = root.renamed(lambda kind: tags.get(kind, kind), zipfile.ZIP_DEFLATED)
    try:
        written = Node.root(Content(FORMAT_VERSION, payload))
    except TooLargeError:  # it is compressed more than a reader accepts
        payload = root.renamed(lambda kind: tags.get(kind, kind), zipfile.ZIP_STORED)
        written = Node.root(Content(FORMAT_VERSION, payload))
    check_types(written, "The estimator")
    write_model(target, payload, replace)


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` or the playground wrote, without running code from the file.

    Files that `save` wrote need the extra ``persistence``.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    FFMLPClassifier or Pipeline
        The fitted estimator.

    Raises
    ------
    ValueError
        If the file is not a model file, was truncated or changed, has a newer format, or contains a type
        that is not trusted.
    """
    return load_with_metadata(path).estimator


def load_with_metadata(path: str | PathLike[str]) -> SavedModel:
    """Load a model as `load` does, with its metadata."""
    source = Path(path)
    if is_json(source):
        classifier = read_json(source)
        _check_whole(classifier, source)
        return SavedModel(classifier, {})
    skops = imported("skops.io", "loading models")
    names = {tag: name_of(kind) for tag, kind in _tags().items()}
    trusted = sorted({names.get(kind, kind) for kinds in trusted_kinds().values() for kind in kinds})
    payload = _as_skops(source, names)
    with usable(source):
        whole = skops.loads(payload, trusted=trusted)
        saved = SavedModel(whole["estimator"], json.loads(whole["metadata"]))
        classifier = _classifier(saved.estimator, str(source))
    _check_whole(classifier, source)
    return saved


def _as_skops(source: Path, names: dict[str, str]) -> bytes:
    """The content of a model file with the names that skops knows, without the memory of the file."""
    root = open_model(source)
    with usable(source):
        return root.renamed(lambda kind: names.get(kind, kind), zipfile.ZIP_STORED)


@cache
def _tags() -> dict[str, type]:
    """All types that have a tag."""
    # Imported here because a program that only fits and predicts should not wait for them.
    names = ("compose", "decomposition", "feature_selection", "impute", "pipeline", "preprocessing")
    modules = [import_module(f"sklearn.{name}") for name in names]
    steps = {
        sklearn_tag(step): getattr(module, step)
        for module in modules
        for step in SKLEARN_STEPS
        if hasattr(module, step)
    }
    return _PARTS | steps


def _classifier(estimator: Any, where: str) -> FFMLPClassifier:
    """The classifier at the end of an estimator, or a ValueError."""
    last = estimator
    while isinstance(last, Pipeline) and last.steps and len(last.steps[-1]) == 2:
        last = last.steps[-1][1]
    if not isinstance(last, FFMLPClassifier):
        raise ValueError(
            f"{where} must be an FFMLPClassifier or a Pipeline that ends with one, got "
            f"{type(last).__name__}."
        )
    return last


def _plain_json(metadata: dict[str, Any] | None) -> str:
    metadata = {} if metadata is None else metadata
    try:
        text = json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be a dict of plain JSON values: {error}.") from error
    if not isinstance(metadata, dict) or json.loads(text) != metadata:
        raise ValueError(
            "metadata must be a dict of plain JSON values: keys are strings, sequences are lists, got "
            f"{metadata!r}."
        )
    return text


def _check_whole(clf: FFMLPClassifier, source: Path) -> None:
    """Raise a ValueError unless a loaded classifier is complete and its parts are consistent."""
    with usable(source):
        clf.__dict__.update(FFMLPClassifier(**_AS_BEFORE).get_params() | clf.__dict__)
        check_parameters(clf)
        names = getattr(clf, "feature_names_in_", None)
        check_network(clf.network_, clf.n_features_in_, clf.classes_, names)
        if hasattr(clf, "statistics_"):
            clf.statistics_.check()
