"""Fitted models as files that are loaded without running code from them.

skops writes and reads the content of the files. Every type that a schema names is compared with an
explicit list before any object is created. A loaded classifier is checked for completeness.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from ffmlp.classifier import FFMLPClassifier
from ffmlp.design.problem import Plan
from ffmlp.design.pruning import PruningPath
from ffmlp.design.selection import Selection
from ffmlp.design.statistics import Statistics
from ffmlp.extras import imported
from ffmlp.model.blobs import Blobs
from ffmlp.model.network import Network
from ffmlp.storage.checks import check_network, check_part
from ffmlp.storage.model_files import FORMAT_VERSION, Content, read_content, usable, write_model
from ffmlp.storage.schema import NETWORK_TAGS, Node, sklearn_tag
from ffmlp.validation import check_parameters

# The attributes of a fitted classifier.
_FITTED = {
    "classes_": np.ndarray,
    "n_features_in_": int,
    "blobs_": Blobs,
    "pruning_path_": PruningPath,
    "selection_": Selection,
    "network_": Network,
    "timings_": dict,
}
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
_AS_BEFORE: dict[str, Any] = {"max_regions": 0}
_SCALARS = (np.float64, np.float32, np.int64, np.int32, np.bool_, np.str_)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file: an estimator and its metadata."""

    estimator: Any
    metadata: dict[str, Any]


def save(
    estimator: FFMLPClassifier | Pipeline,
    path: str | PathLike[str],
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, atomically (extra ``persistence``).

    Parameters
    ----------
    estimator : FFMLPClassifier or Pipeline
        A fitted classifier, or a fitted pipeline that ends with one. The other steps may be
        scikit-learn's imputers, encoders and scalers, column transformers and PCA.
    path : str or path-like
        The file to write. An existing file is replaced.
    metadata : dict, default=None
        Plain JSON values to store with the model.

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
    tags = {_name_of(kind): tag for tag, kind in _tags().items()}
    dumped = Content(FORMAT_VERSION, skops.dumps(whole, compression=zipfile.ZIP_STORED))
    payload = Node.root(dumped).renamed(lambda kind: tags.get(kind, kind), zipfile.ZIP_DEFLATED)
    _check_types(Node.root(Content(FORMAT_VERSION, payload)), "The estimator")
    write_model(target, payload)


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` wrote, without running code from the file (extra ``persistence``).

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
    skops = imported("skops.io", "loading models")
    source = Path(path)
    content = read_content(source)
    names = {tag: _name_of(kind) for tag, kind in _tags().items()}
    trusted = sorted({names.get(kind, kind) for kinds in _trusted().values() for kind in kinds})
    with usable(source):
        root = Node.root(content)
    _check_types(root, str(source))
    with usable(source):
        payload = root.renamed(lambda kind: names.get(kind, kind), zipfile.ZIP_STORED)
        whole = skops.loads(payload, trusted=trusted)
        saved = SavedModel(whole["estimator"], json.loads(whole["metadata"]))
        classifier = _classifier(saved.estimator, str(source))
    _check_whole(classifier, source)
    return saved


def _name_of(kind: type) -> str:
    """The name of a type in skops."""
    return f"{kind.__module__}.{kind.__name__}"


@cache
def _tags() -> dict[str, type]:
    """All types that have a tag."""
    # Imported here because a program that only fits and predicts should not wait for them.
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.impute import MissingIndicator, SimpleImputer

    steps = (
        *(Pipeline, FeatureUnion, ColumnTransformer, SimpleImputer, MissingIndicator),
        *(preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder, preprocessing.StandardScaler),
        *(preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler, preprocessing.RobustScaler),
        *(preprocessing.PowerTransformer, preprocessing.QuantileTransformer, VarianceThreshold, PCA),
        preprocessing.FunctionTransformer,  # passes columns through; a function needs a FunctionNode
    )
    return _PARTS | {sklearn_tag(kind.__name__): kind for kind in steps}


@cache
def _trusted() -> dict[str, frozenset[str]]:
    """The kinds that each type of node in a file may have: tags and names of basic types."""
    basic: dict[str, tuple[type, ...]] = {
        "NdArrayNode": (np.ndarray, *_SCALARS),
        "DTypeNode": (np.dtype,),
        "RandomStateNode": (np.random.RandomState,),
        "TypeNode": (int, float, str, bool, *_SCALARS),
        "DictNode": (dict,),
        "ListNode": (list,),
        "TupleNode": (tuple,),
        "SliceNode": (slice,),
        "JsonNode": (str,),
    }
    named = {loader: frozenset(map(_name_of, types)) for loader, types in basic.items()}
    return named | {"ObjectNode": frozenset(_tags())}


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


def _check_types(root: Node, where: str) -> None:
    """Raise a ValueError if the content names a type that is not trusted; no object is created."""
    with usable(where):
        nodes = list(root.nodes())
        types = [(node.loader, node.kind) for node in nodes]
        arrays = [node for node in nodes if node.loader == "NdArrayNode"]
        scalars = [(node.kind, node.array()) for node in arrays if node.kind != _name_of(np.ndarray)]
    for loader, name in types:
        if name not in _trusted().get(loader, ()):
            raise ValueError(
                f"{where} has a part of type {name} ({loader}), which is not trusted. A model file "
                "may contain an FFMLPClassifier and scikit-learn's common preprocessing. joblib stores "
                "other estimators, but can run code when it loads them."
            )
    for name, value in scalars:  # skops would convert a whole array to the named type
        if value.shape or name != _name_of(value.dtype.type):
            raise ValueError(f"{where} declares {value.dtype} of shape {value.shape} as {name}.")


def _check_whole(clf: FFMLPClassifier, source: Path) -> None:
    """Raise a ValueError unless a loaded classifier is complete and its parts are consistent."""
    with usable(source):
        clf.__dict__.update(FFMLPClassifier(**_AS_BEFORE).get_params() | clf.__dict__)
        check_parameters(clf)
        for name, kind in _FITTED.items():
            check_part(getattr(clf, name), kind, name)
        if hasattr(clf, "statistics_"):
            check_part(clf.statistics_, Statistics, "statistics_")
            clf.statistics_.check()
        check_network(clf.network_, clf.n_features_in_, clf.classes_)
        clf.network_.responses(clf.network_.inputs(np.zeros((1, clf.n_features_in_))))
