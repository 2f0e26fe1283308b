"""The content of a model file: a zip of NumPy arrays and a schema, in the format of skops.

The schema is JSON. Its nodes describe how objects are composed. They name types by *tags*, which stay
the same when a class moves. The parts of a network are created here, without scikit-learn and skops.
Nothing that a file names is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.inputs.features import Gaussianisation
from ffmlp.inputs.imputation import Imputation
from ffmlp.network.blob import BlobStages
from ffmlp.network.blobs import FamiliarSpace
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages
from ffmlp.network.region import PaperStages, Regions, RegionStages
from ffmlp.network.trained import TrainedStages
from ffmlp.network.trees import Trees
from ffmlp.storage.archives import Archive, Outline, packed
from ffmlp.storage.model_files import Content

# The version of skops's schema that `Node` reads.
_PROTOCOL = 2
# What a tagged node has in place of a Python module.
_TAGGED = "tag"

NETWORK_TAGS: dict[str, type] = {
    "columns": Columns,
    "number-column": NumberColumn,
    "category-column": CategoryColumn,
    "imputation": Imputation,
    "gaussianisation": Gaussianisation,
    "familiar-space": FamiliarSpace,
    "hyperplanes": Hyperplanes,
    "regions": Regions,
    "region-stages": RegionStages,
    "paper-stages": PaperStages,
    "blob-stages": BlobStages,
    "readout-stages": ReadoutStages,
    "corrected-readout-stages": CorrectedReadoutStages,
    "trees": Trees,
    "trained-stages": TrainedStages,
    "network": Network,
}

# The tags of types in files of format 1, which name them by Python paths.
_FORMAT_1 = {
    "ffmlp.blobs.Blobs": "blobs",
    "ffmlp.classifier.FFMLPClassifier": "classifier",
    "ffmlp.designs.Plan": "plan",
    "ffmlp.gaussianise.Gaussianisation": "gaussianisation",
    "ffmlp.hyperplanes.Hyperplanes": "hyperplanes",
    "ffmlp.network.Network": "network",
    "ffmlp.pruning.PruningPath": "pruning-path",
    "ffmlp.regions.Regions": "regions",
    "ffmlp.selection.Selection": "selection",
    "ffmlp.stages.BlobStages": "blob-stages",
    "ffmlp.stages.ReadoutStages": "readout-stages",
    "ffmlp.stages.RegionStages": "region-stages",
    "ffmlp.stages.TrainedStages": "trained-stages",
}


@dataclass(frozen=True)
class Node:
    """A node of a schema. Its object is created by `value` only."""

    schema: dict[str, Any]
    archive: Archive

    @classmethod
    def root(cls, content: Content) -> Node:
        """The root node of a content of limited size, upgraded to the current format."""
        archive = Archive.of(content.payload)
        text = archive.schema()
        schema = json.loads(text)
        archive.limit_arrays(_array_names(schema), text)
        return cls(_upgraded(schema) if content.version == 1 else schema, archive)

    @property
    def is_known(self) -> bool:
        """Whether the schema of a root has a supported version."""
        return bool(self.schema["protocol"] == _PROTOCOL)

    @property
    def loader(self) -> str:
        """The type of the node in skops."""
        return str(self.schema["__loader__"])

    @property
    def kind(self) -> str:
        """The tag, or the Python name of a type that has none."""
        return kind_of(self.schema)

    def __getitem__(self, key: str | int) -> Node:
        """An item of a dict or a sequence, or an attribute of an object."""
        content = self.schema["content"]
        if self.loader == "ObjectNode":
            return Node(content, self.archive)[key]
        return Node(content[key], self.archive)

    @property
    def entries(self) -> dict[str, Node]:
        """The items of a dict. Its keys must be texts, also to skops."""
        if self.loader != "DictNode":
            raise ValueError(f"{self.kind} is not a dict")
        content, key_types = self.schema["content"], Node(self.schema["key_types"], self.archive)
        kinds = [(node.loader, node.kind) for node in key_types.items]
        are_texts = key_types.loader == "ListNode" and set(kinds) <= {("TypeNode", "builtins.str")}
        if not are_texts or len(kinds) < len(content):  # skops takes as many as there are
            raise ValueError("the keys of a dict are not texts")
        return {key: Node(schema, self.archive) for key, schema in content.items()}

    @property
    def items(self) -> list[Node]:
        """The items of a sequence."""
        return [Node(schema, self.archive) for schema in self.schema["content"]]

    @property
    def attributes(self) -> dict[str, Node]:
        """The attributes of an object."""
        return Node(self.schema["content"], self.archive).entries

    def nodes(self) -> Iterator[Node]:
        """Yield the node and all nodes within it."""
        for schema in _schemas(self.schema):
            yield Node(schema, self.archive)

    def array(self) -> NDArray:
        """The array that a node describes; an array of objects is a list in the schema."""
        if "file" in self.schema:
            return self.archive.array(self.schema["file"])
        return np.array([node.value() for node in self.items], object)

    def outline(self) -> Outline:
        """Type and shape of this array, which must be the same to skops."""
        is_file = "file" in self.schema
        if self.schema["type"] != ("numpy" if is_file else "json"):
            raise ValueError(f"an array is stored as {self.schema['type']}")
        if is_file:
            return self.archive.outline(self.schema["file"])
        shape = (len(self.items),)
        if Node(self.schema["shape"], self.archive).value() != shape:
            raise ValueError(f"an array of {shape[0]} objects has another shape")
        return Outline(np.dtype(object), shape)

    def value(self) -> Any:
        """The object that the node describes: a plain value, an array or a part of a network."""
        content: Any = self.schema.get("content")
        match self.loader:
            case "JsonNode":
                return json.loads(content)
            case "DictNode":
                return {key: node.value() for key, node in self.entries.items()}
            case "ListNode":
                return [node.value() for node in self.items]
            case "TupleNode":
                return tuple(node.value() for node in self.items)
            case "NdArrayNode":
                return self.array()
            case "ObjectNode":
                return NETWORK_TAGS[self.kind](**Node(content, self.archive).value())
            case loader:
                raise ValueError(f"{loader} is not part of a network")

    def renamed(self, name: Callable[[str], str], compression: int) -> bytes:
        """The content with every kind renamed, to ``module.class`` or to a tag, in the node too."""
        for node in _schemas(self.schema):
            _rename(node, name(kind_of(node)))
            node.pop("__id__", None)  # nodes of the same id would be taken for each other
        return packed(self.schema, _array_names(self.schema), self.archive, compression)


def kind_of(schema: dict[str, Any]) -> str:
    """The tag of a node, or the Python name of a type that has none."""
    module, name = schema["__module__"], schema["__class__"]
    return str(name) if module == _TAGGED else f"{module}.{name}"


def _rename(schema: dict[str, Any], kind: str) -> None:
    module, _, name = kind.rpartition(".")
    schema["__module__"], schema["__class__"] = module or _TAGGED, name


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The dicts of a schema that name a loader."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)


def _array_names(schema: Any) -> list[str]:
    """The name of each array, as often as a node has it."""
    return [node["file"] for node in _schemas(schema) if "file" in node]


def sklearn_tag(name: str) -> str:
    """The tag of a scikit-learn class, independent of its module."""
    return f"sklearn-{name}"


def _upgraded(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of format 1 as one of format 2."""
    for node in _schemas(schema):
        kind = kind_of(node)
        if kind.startswith("sklearn."):
            _rename(node, sklearn_tag(node["__class__"]))
        elif kind in _FORMAT_1:
            _rename(node, _FORMAT_1[kind])
    for node in list(_schemas(schema)):
        if kind_of(node) == "classifier":
            _move_regions(_attributes(node))
    return schema


def _move_regions(classifier: dict[str, Any]) -> None:
    """Format 1 stores the hyperplanes beside the network, and the codes of the regions twice."""
    regions = classifier.pop("regions_")
    del classifier["hyperplanes_"]
    stages = _attributes(classifier["network_"])["stages"]
    if kind_of(stages) == "region-stages":
        penalty = _attributes(stages)["penalty"]
        stages["content"]["content"] = {"regions": regions, "penalty": penalty}


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    return node["content"]["content"]
