"""Opening a model file: what is checked before any object is created, by all that read one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from ffmlp.storage.foreign_indices import check_foreign_indices
from ffmlp.storage.forms import FORMS, check_forms
from ffmlp.storage.model_files import read_content, usable
from ffmlp.storage.schema import Node, sklearn_tag

# The steps of a pipeline that a file may have. FunctionTransformer passes columns through: to have a
# function, it would need a FunctionNode.
SKLEARN_STEPS = (
    *("Pipeline", "FeatureUnion", "ColumnTransformer", "SimpleImputer", "MissingIndicator"),
    *("OneHotEncoder", "OrdinalEncoder", "StandardScaler", "MinMaxScaler", "MaxAbsScaler"),
    *("RobustScaler", "PowerTransformer", "QuantileTransformer", "VarianceThreshold", "PCA"),
    "FunctionTransformer",
)
_SCALARS = (np.float64, np.float32, np.int64, np.int32, np.bool_, np.str_)


def open_model(source: Path) -> Node:
    """The root of a model file, or a ValueError that says what is wrong with the file."""
    content = read_content(source)
    with usable(source):
        root = Node.root(content)
    check_types(root, str(source))
    with usable(source):
        if root.entries.keys() != {"estimator", "metadata"}:
            raise ValueError("it is not an estimator with metadata")
        check_forms(root)
        check_foreign_indices(root)
    return root


def name_of(kind: type) -> str:
    """The name of a type in skops."""
    return f"{kind.__module__}.{kind.__name__}"


@cache
def trusted_kinds() -> dict[str, frozenset[str]]:
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
    named = {loader: frozenset(map(name_of, types)) for loader, types in basic.items()}
    return named | {"ObjectNode": frozenset([*FORMS, *map(sklearn_tag, SKLEARN_STEPS)])}


def check_types(root: Node, where: str) -> None:
    """Raise a ValueError if the content names a type that is not trusted."""
    with usable(where):
        nodes = list(root.nodes())
        types = [(node.loader, node.kind) for node in nodes]
    for loader, name in types:
        if name not in trusted_kinds().get(loader, ()):
            raise ValueError(
                f"{where} has a part of type {name} ({loader}), which is not trusted. A model file "
                "may contain an FFMLPClassifier and scikit-learn's common preprocessing. joblib stores "
                "other estimators, but can run code when it loads them."
            )
    with usable(where):
        arrays = [node for node in nodes if node.loader == "NdArrayNode"]
        outlines = [(node.kind, node.outline()) for node in arrays]
    for name, outline in outlines:  # skops would convert a whole array to the named type
        if name != name_of(np.ndarray) and (outline.shape or name != name_of(outline.dtype.type)):
            raise ValueError(f"{where} declares {outline.dtype} of shape {outline.shape} as {name}.")
