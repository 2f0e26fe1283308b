"""Model files: how they are framed, and how a network is read from one without scikit-learn.

A file is one line, ``ffmlp model <version> <SHA-256> <length>``, and then that many bytes in the format
of skops: a zip of NumPy arrays and a schema, JSON whose nodes say what is made of what. What is made
here are parts of a network, by an explicit list; nothing that a file names is imported.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.features import Gaussianisation
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.network import Network
from ffmlp.model.prediction import class_probabilities
from ffmlp.model.regions import Regions
from ffmlp.model.stages import BlobStages, ReadoutStages, RegionStages, Stages, TrainedStages
from ffmlp.storage.whole_files import write_whole

# Grows when files of a new version of the package cannot be read by the old one.
FORMAT_VERSION = 1
_MAGIC = b"ffmlp model "
_LONGEST_HEADER = 200
# The version of the schema that `Node` reads.
_PROTOCOL = 2

_STAGES = (RegionStages, BlobStages, ReadoutStages, TrainedStages)
NETWORK_PARTS = (Gaussianisation, Hyperplanes, Network, Regions, *_STAGES)


def name_of(kind: type) -> str:
    """What a schema calls a type."""
    return f"{kind.__module__}.{kind.__name__}"


_KINDS = {name_of(kind): kind for kind in NETWORK_PARTS}


def write_model(path: Path, payload: bytes) -> None:
    """Write a file, whole or not at all."""
    checksum = hashlib.sha256(payload).hexdigest()
    header = _MAGIC + f"{FORMAT_VERSION} {checksum} {len(payload)}\n".encode()
    write_whole(path, header + payload)


def checked_payload(source: Path) -> bytes:
    """What follows the header of a file, as it was written."""
    if source.exists() and not source.is_file():  # a device may have no end
        kind = "a folder" if source.is_dir() else "no ordinary file"
        raise ValueError(f"{source} is {kind}, not a model file.")
    content = source.read_bytes()
    if not content:
        raise ValueError(f"{source} is empty.")
    header, _, payload = content[:_LONGEST_HEADER].partition(b"\n")
    words = header.removeprefix(_MAGIC).decode("ascii", "replace").split(" ")
    if not header.startswith(_MAGIC) or not words[0].isdecimal():
        raise ValueError(f"{source} is not a model file: ffmlp fit and ffmlp.save write them.")
    version = int(words[0])
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{source} has format version {version}, this version of ffmlp reads up to "
            f"{FORMAT_VERSION}. Install a newer one."
        )
    if version < 1 or len(words) != 3 or not words[2].isdecimal():
        raise ValueError(f"{source} was changed or cut short: its first line is damaged.")
    payload = content[len(header) + 1 :]
    if len(payload) != int(words[2]):
        raise ValueError(
            f"{source} was cut short or added to: {words[2]} bytes were written after its first line, "
            f"there are {len(payload)}."
        )
    if hashlib.sha256(payload).hexdigest() != words[1]:
        raise ValueError(f"{source} was changed after it was saved: its checksum does not fit.")
    return payload


def damaged(source: object, error: Exception) -> ValueError:
    """The error to raise if what should be a model is none."""
    return ValueError(
        f"{source} holds no usable model ({type(error).__name__}: {error}). Save it again."
    )


@dataclass(frozen=True)
class Node:
    """A node of a schema, of which nothing is made before it is asked for its value."""

    schema: dict[str, Any]
    archive: zipfile.ZipFile

    @classmethod
    def root(cls, payload: bytes) -> Node:
        """The node of the whole."""
        archive = zipfile.ZipFile(io.BytesIO(payload))
        return cls(json.loads(archive.read("schema.json")), archive)

    @property
    def is_known(self) -> bool:
        """Whether the schema of a root is of the version that can be read here."""
        return bool(self.schema["protocol"] == _PROTOCOL)

    @property
    def loader(self) -> str:
        """How skops calls what makes it."""
        return str(self.schema["__loader__"])

    @property
    def kind(self) -> str:
        """The name of the type."""
        return f"{self.schema['__module__']}.{self.schema['__class__']}"

    def __getitem__(self, key: str | int) -> Node:
        """A part of a dict or a sequence, or an attribute of an object."""
        content = self.schema["content"]
        if self.loader == "ObjectNode":
            return Node(content, self.archive)[key]
        return Node(content[key], self.archive)

    def nodes(self) -> Iterator[Node]:
        """Yield the node and all that are within it."""
        for schema in _schemas(self.schema):
            yield Node(schema, self.archive)

    def array(self) -> NDArray:
        """The array that a node describes."""
        content = io.BytesIO(self.archive.read(self.schema["file"]))
        array: NDArray = np.load(content, allow_pickle=False)
        return array

    def value(self) -> Any:
        """What the node describes: plain values, arrays and parts of a network."""
        content: Any = self.schema.get("content")
        match self.loader:
            case "JsonNode":
                return json.loads(content)
            case "DictNode":
                return {key: self[key].value() for key in content}
            case "ListNode":
                return [self[place].value() for place in range(len(content))]
            case "TupleNode":
                return tuple(self[place].value() for place in range(len(content)))
            case "NdArrayNode":
                return self.array()
            case "ObjectNode":
                return _KINDS[self.kind](**Node(content, self.archive).value())
            case loader:
                raise ValueError(f"{loader} is no part of a network")


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The dicts of a schema that name a loader."""
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from _schemas(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _schemas(value)


def check_network(network: Network, regions: Regions | None, n_features: int, labels: NDArray) -> None:
    """Raise an error if the parts of a network do not fit together, or not with what is around it."""
    if labels.shape != (len(network.labels),) or labels.dtype.kind in "cV":
        raise ValueError(f"labels are {labels.dtype} of shape {labels.shape}")
    if regions is not None and regions.codes.shape != (len(regions.counts), len(network.hyperplanes)):
        raise ValueError(f"regions are {regions.codes.shape} codes with {len(regions.counts)} counts")
    if network.hyperplanes.gaussianisation is not None:
        _check_maps(network.hyperplanes.gaussianisation)
    probabilities = class_probabilities(network, regions, np.zeros((1, n_features)))
    if probabilities.shape != (1, len(labels)) or not np.isfinite(probabilities).all():
        raise ValueError(f"{len(labels)} classes have the probabilities {probabilities}")


def _check_maps(gaussianisation: Gaussianisation) -> None:
    for knots, scores in zip(gaussianisation.knots, gaussianisation.scores, strict=True):
        for part in (knots, scores):
            if part.shape != knots.shape or part.dtype != np.float64 or not np.isfinite(part).all():
                raise ValueError(f"knots or scores are {part.dtype} of shape {part.shape}")
        if not (np.diff(knots) > 0.0).all():
            raise ValueError("knots that do not ascend")


def check_part(value: Any, kind: Any, name: str) -> None:
    """A value is of the kind that an annotation says, its own parts included, or a ValueError."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        if value is None and type(None) in arguments:
            return
        (kind,) = (part for part in arguments if part is not type(None))
        check_part(value, kind, name)
        return
    allowed = {Stages: _STAGES, float: (float, int, np.floating)}.get(origin, origin)
    if not isinstance(value, allowed):
        raise ValueError(f"{name} is a {type(value).__name__}")
    if origin is tuple and arguments[-1] is Ellipsis:
        for part in value:
            check_part(part, arguments[0], f"part of {name}")
    if is_dataclass(value):
        _check_fields(value, name)


def _check_fields(part: Any, name: str) -> None:
    hints = get_type_hints(type(part))
    for field in fields(part):
        if field.name in vars(part):
            check_part(getattr(part, field.name), hints[field.name], f"{name}.{field.name}")
        elif field.default is MISSING:  # a file of an older version has the default of a new field
            raise ValueError(f"{name} has no {field.name}")
    unknown = vars(part).keys() - {field.name for field in fields(part)}
    if unknown:
        raise ValueError(f"{name} has an unknown {sorted(unknown)[0]}")
