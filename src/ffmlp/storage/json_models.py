"""Classifiers as small JSON files, which the playground writes.

A file is one JSON object: ``{"ffmlp": "classifier", "version": 1, "plan": …, "network": …, "blobs": …,
"pruning_path": …}``, whose parts have the form of `ffmlp.storage.json_form`. Sizes, types, shapes and
indices of all parts are checked, as in model files, before any of them is made.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ffmlp.classifier import FFMLPClassifier
from ffmlp.design.problem import Plan
from ffmlp.design.pruning import PruningPath
from ffmlp.design.selection import Selection, components_of_each
from ffmlp.network.blobs import Blobs
from ffmlp.network.network import Network
from ffmlp.storage.archives import Outline
from ffmlp.storage.forms import Part, Sizes, check_form
from ffmlp.storage.model_files import usable
from ffmlp.storage.schema import NETWORK_TAGS

VERSION = 1
# Larger files are not written by pages. A list or an object takes some 60 bytes once it is parsed,
# however short it is in the file.
MOST_BYTES = 10_000_000
MOST_CONTAINERS = 50_000
_PARTS = NETWORK_TAGS | {"blobs": Blobs, "plan": Plan, "pruning-path": PruningPath}
# In this order, parts give sizes to the parts after them.
_ROOT = {"network": "network", "blobs": "blobs", "pruning_path": "pruning-path", "plan": "plan"}
# The types of arrays, and those of their values in a list.
_DTYPES: dict[str, tuple[type, ...]] = {
    "float64": (float, int),
    "float32": (float, int),
    "int64": (int,),
    "int32": (int,),
    "bool": (bool,),
    "object": (str,),
}


def read_json(source: Path) -> FFMLPClassifier:
    """The classifier of a JSON file, or a ValueError that says what is wrong with the file.

    The values of its network remain to be checked.
    """
    content = _content(source)
    with usable(source):
        parts = {name: JsonPart(content[name]) for name in _ROOT}
        unknown = content.keys() - _ROOT.keys() - {"ffmlp", "version"}
        if unknown:
            raise ValueError(f"the file has an unknown {min(unknown)!r}")
        sizes = Sizes()
        for name, tag in _ROOT.items():
            check_form(parts[name], Part((tag,)), sizes, name)
        network, blobs, path, plan = (part.value() for part in parts.values())
        _check_values(network, blobs, path)
        return _classifier(network, blobs, path, plan)


def _content(source: Path) -> dict[str, Any]:
    if source.stat().st_size > MOST_BYTES:
        raise ValueError(
            f"{source} is too large for a JSON file of a network: {MOST_BYTES} bytes at most."
        )
    text = source.read_bytes()
    with usable(source):
        if text.count(b"[") + text.count(b"{") > MOST_CONTAINERS:
            raise ValueError(f"more than {MOST_CONTAINERS} lists and objects")
        content = json.loads(text, parse_constant=_refuse, object_pairs_hook=_distinct)
    if content.get("ffmlp") != "classifier":
        raise ValueError(
            f"{source} is a JSON file, but not one of a network. The playground writes these."
        )
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ValueError(
            f"{source} has format version {version!r}; this version of ffmlp reads {VERSION}. Install a "
            "newer version."
        )
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


@dataclass(frozen=True)
class JsonPart:
    """A JSON value that describes a part; its object is created by `value` only."""

    content: Any

    @property
    def loader(self) -> str:
        """The type of node that a model file has for such a value."""
        if isinstance(self.content, list):
            return "TupleNode"
        if not isinstance(self.content, dict):
            return "JsonNode"
        return "ObjectNode" if "tag" in self.content else "NdArrayNode"

    @property
    def kind(self) -> str:
        """The tag, or the name of a type."""
        if self.loader == "NdArrayNode":
            return "numpy.ndarray"
        return str(self.content["tag"]) if self.loader == "ObjectNode" else type(self.content).__name__

    @property
    def attributes(self) -> dict[str, JsonPart]:
        """The fields of a part; one that is null has its default."""
        return {
            name: JsonPart(value)
            for name, value in self.content.items()
            if name != "tag" and value is not None
        }

    @property
    def entries(self) -> dict[str, JsonPart]:
        """No part of a network has items by name."""
        raise ValueError("an object without a tag")

    @property
    def items(self) -> list[JsonPart]:
        """The items of a list."""
        return [JsonPart(item) for item in self.content]

    def outline(self) -> Outline:
        """Type and shape of an array, whose values are as many."""
        dtype, shape, n_values = self._array_parts()
        if math.prod(shape) != n_values:
            raise ValueError(f"an array of shape {shape} has {n_values} values")
        return Outline(np.dtype(dtype), shape)

    def _array_parts(self) -> tuple[str, tuple[int, ...], int]:
        names = set(self.content)
        if names not in ({"dtype", "shape", "values"}, {"dtype", "shape", "base64"}):
            raise ValueError(f"an array has the parts {sorted(names)}")
        dtype, shape = self.content["dtype"], self.content["shape"]
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise ValueError(f"an array of type {dtype!r}")
        if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"an array of shape {shape!r}")
        return dtype, tuple(shape), self._n_values(dtype)

    def _n_values(self, dtype: str) -> int:
        values = self.content.get("values")
        if isinstance(values, list):
            if not all(type(value) in _DTYPES[dtype] for value in values):
                raise ValueError(f"an array of {dtype} has values of other types")
            return len(values)
        text, size = self.content.get("base64"), np.dtype(dtype).itemsize
        if not isinstance(text, str) or dtype == "object":
            raise ValueError("an array has no values")
        n_bytes = len(b64decode(text, validate=True))
        if n_bytes % size:
            raise ValueError(f"an array of {dtype} has {n_bytes} bytes")
        return n_bytes // size

    def array(self) -> NDArray:
        """The array, of finite numbers."""
        outline = self.outline()
        if "values" in self.content:
            array = np.array(self.content["values"], outline.dtype)
        else:
            little = outline.dtype.newbyteorder("<")
            array = np.frombuffer(b64decode(self.content["base64"]), little).astype(outline.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("an array has numbers that are not finite")
        return array.reshape(outline.shape)

    def value(self) -> Any:
        """The object."""
        match self.loader:
            case "ObjectNode":
                fields = {name: part.value() for name, part in self.attributes.items()}
                return _PARTS[self.kind](**fields)
            case "NdArrayNode":
                return self.array()
            case "TupleNode":
                return tuple(item.value() for item in self.items)
            case _:
                if isinstance(self.content, float) and not math.isfinite(self.content):
                    raise ValueError("a number is not finite")
                return self.content


def _check_values(network: Network, blobs: Blobs, path: PruningPath) -> None:
    """What `ffmlp.storage.checks` does not ask for: labels, blobs and deletions."""
    labels = network.labels.tolist()
    if len(set(labels)) < len(labels):
        raise ValueError("two classes have the same label")
    if len(blobs.weights) and not (blobs.weights > 0.0).all():
        raise ValueError("the share of a blob is not positive")
    if not np.array_equal(blobs.classes, network.blob_classes):
        raise ValueError("the blobs are not those of the network")
    kept, n_all = path.kept.tolist(), len(path.kept) + len(path.deleted)
    if len(kept) != len(network.hyperplanes) or sorted(kept) != kept:
        raise ValueError("the hyperplanes are not those that pruning keeps")
    if sorted(kept + path.deleted.tolist()) != list(range(n_all)):
        raise ValueError("pruning deletes a hyperplane twice, or one that does not exist")


def _classifier(network: Network, blobs: Blobs, path: PruningPath, plan: Plan) -> FFMLPClassifier:
    """A classifier with the parameters of the plan."""
    if plan.design != network.stages.design:
        raise ValueError(f"the plan is of a {plan.design} design, the network is not")
    each: Any = "auto"
    if plan.n_components is not None:
        each = dict(zip(network.labels.tolist(), plan.n_components, strict=True))
        components_of_each(each, network.labels)
    clf = FFMLPClassifier(
        each,
        design=plan.design,
        gaussianise=plan.gaussianise,
        discriminant="lda" if plan.discriminant == "drawn_lda" else plan.discriminant,
        all_pairs=plan.all_pairs,
        error_threshold=plan.error_threshold,
        penalty=plan.penalty,
    )
    unknown = np.full(1, np.nan)
    clf.classes_, clf.network_, clf.blobs_, clf.pruning_path_ = network.labels, network, blobs, path
    clf.selection_, clf.timings_ = Selection((plan,), unknown, unknown, 0), {}
    clf.n_features_in_ = len(network.table)
    if network.columns is not None:
        clf.feature_names_in_ = np.array(network.columns.names, object)
    return clf
