"""Fitted classifiers as files that are loaded without running code from them.

A model file is one line, ``ffmlp model <version> <SHA-256> <length>``, and a zip of ``model.json`` and
arrays. The playground writes the same JSON with its arrays as lists. Both have the form of
`ffmlp.storage.form`: a network, the rest of a classifier, and metadata.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ffmlp.network.network import Network
from ffmlp.storage.form import Apart, Reader, write
from ffmlp.storage.whole_files import write_whole

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Increases when older versions of the package cannot read the files of a new one.
FORMAT_VERSION = 1
_MAGIC = b"ffmlp model "
_LONGEST_HEADER = 200
_MODEL = "model.json"
_PARTS = {"metadata", "network", "has_column_names", "classifier"}
# What a file takes once it is unpacked: this many bytes, and this many for each byte of the file. The
# text of the JSON counts as the widest characters can make it.
MOST_BYTES, BYTES_PER_BYTE, _WIDEST = 50_000_000, 4, 4
# Text and values of JSON. A parsed value takes some 60 bytes, whatever its length in the file.
_JSON_BYTES = 5_000_000
_MOST_VALUES, _BYTES_PER_VALUE = 100_000, 8
# Pages write no larger JSON files.
MOST_JSON_BYTES = 10_000_000
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True, eq=False)
class SavedNetwork:
    """What predicts of a model file; ``has_column_names`` if it was fitted to a table with names."""

    network: Network
    has_column_names: bool
    metadata: dict[str, Any]


@dataclass(frozen=True, eq=False)
class SavedModel(SavedNetwork):
    """The content of a model file: a classifier, its network and its metadata."""

    classifier: FFMLPClassifier


def save(
    classifier: FFMLPClassifier,
    path: str | PathLike[str],
    metadata: dict[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write a fitted classifier to a file, atomically.

    Parameters
    ----------
    classifier : FFMLPClassifier
        A fitted classifier. Its ``random_state`` must be None or an int.
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
    _check_saved(classifier)
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder. Name the file to write the model to.")
    arrays: dict[str, NDArray] = {}

    def stored(place: str, array: NDArray) -> str:
        arrays[f"{place}.npy"] = array
        return f"{place}.npy"

    names = [name for name in _attribute_kinds() if name != "parameters"]
    attributes = {name: getattr(classifier, f"{name}_", None) for name in names}
    form = {
        "metadata": _plain_json(metadata),
        "network": write(classifier.network_, stored, "network"),
        "has_column_names": hasattr(classifier, "feature_names_in_"),
        "classifier": {
            "parameters": _parameters_form(classifier),
            **write(attributes, stored, "classifier"),
        },
    }
    payload = _packed(form, arrays, zipfile.ZIP_DEFLATED)
    try:
        _Archive(payload)
    except ValueError:  # it is compressed more than a reader accepts
        payload = _packed(form, arrays, zipfile.ZIP_STORED)
    header = f"{FORMAT_VERSION} {hashlib.sha256(payload).hexdigest()} {len(payload)}\n"
    write_whole(target, _MAGIC + header.encode() + payload, replace)


def load(path: str | PathLike[str]) -> FFMLPClassifier:
    """Load a classifier that `save` or the playground wrote, without running code from the file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    FFMLPClassifier
        The fitted classifier.

    Raises
    ------
    ValueError
        If the file is not a model file, was truncated or changed, has a newer format, or contains
        anything else than a classifier.
    """
    return load_with_metadata(path).classifier


def load_with_metadata(path: str | PathLike[str]) -> SavedModel:
    """Load a classifier as `load` does, with its metadata."""
    source = Path(path)
    form, reader = _opened(source)
    saved = _network(source, form, reader)
    with usable(source):
        parts = reader.fields(form["classifier"], _attribute_kinds(), "classifier")
        reader.check_indices()
        classifier = _classifier(saved, {name: make() for name, make in parts.items()})
    return SavedModel(**vars(saved), classifier=classifier)


def read_network(source: Path) -> SavedNetwork:
    """What predicts of a model file, without importing scikit-learn."""
    return _network(source, *_opened(source))


def _network(source: Path, form: dict[str, Any], reader: Reader) -> SavedNetwork:
    with usable(source):
        make = reader.value(form["network"], Network, "network")
        reader.check_indices()
        network: Network = make()
        network.check()
    return SavedNetwork(network, form["has_column_names"], form["metadata"])


# Classifiers, with scikit-learn.


def _check_saved(classifier: Any) -> None:
    """Raise an error unless an object can be saved."""
    from sklearn.utils.validation import check_is_fitted

    from ffmlp.classifier import FFMLPClassifier

    if not isinstance(classifier, FFMLPClassifier):
        raise ValueError(
            f"Only an FFMLPClassifier is saved, got {type(classifier).__name__}. It takes tables with "
            "categories and missing values without other steps. joblib and skops store pipelines."
        )
    check_is_fitted(classifier)
    if hasattr(classifier, "to_local"):
        raise ValueError("A classifier for Dask collections is not stored. Save clf.to_local().")


def _attribute_kinds() -> dict[str, Any]:
    """What a classifier has beside its network."""
    from ffmlp.design.pruning import PruningPath
    from ffmlp.design.selection import Selection
    from ffmlp.merging import Statistics
    from ffmlp.network.blobs import Blobs

    return {
        "parameters": dict[str, Any],
        "blobs": Blobs,
        "pruning_path": PruningPath,
        "selection": Selection,
        "timings": dict[str, float],
        # Statistics have the hyperplanes before pruning.
        "statistics": Annotated[Statistics | None, Apart("L")],
    }


def _classifier(saved: SavedNetwork, parts: dict[str, Any]) -> FFMLPClassifier:
    """A fitted classifier, or an error if its parts are inconsistent."""
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.parameters import check_parameters

    network = saved.network
    blobs, path, statistics = (parts[name] for name in ("blobs", "pruning_path", "statistics"))
    clf = FFMLPClassifier(**{name: _parameter(form) for name, form in parts["parameters"].items()})
    missing = clf.get_params().keys() - parts["parameters"].keys()
    if missing:
        raise ValueError(f"classifier.parameters has no {min(missing)}")
    check_parameters(clf)
    blobs.check()
    if not np.array_equal(blobs.classes, network.blob_classes):
        raise ValueError("the blobs are not those of the network")
    path.check(len(network.hyperplanes))
    if statistics is not None:
        statistics.check()
        clf.statistics_ = statistics
    clf.classes_, clf.network_, clf.blobs_, clf.pruning_path_ = network.labels, network, blobs, path
    clf.selection_, clf.timings_ = parts["selection"], parts["timings"]
    clf.n_features_in_ = len(network.table)
    if saved.has_column_names:
        clf.feature_names_in_ = np.array(network.table.names, object)
    return clf


def _parameters_form(clf: FFMLPClassifier) -> dict[str, Any]:
    forms = {}
    for name, value in clf.get_params(deep=False).items():
        try:
            forms[name] = _parameter_form(value)
        except TypeError as error:
            raise ValueError(
                f"{name} is of type {error}, which is not saved. Set another one first, such as "
                "clf.set_params(random_state=0)."
            ) from None
    return forms


def _parameter_form(value: Any) -> Any:
    """JSON values for a parameter; NumPy's arrays and numbers become plain."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {"dict": [list(map(_parameter_form, pair)) for pair in value.items()]}
    if isinstance(value, list | tuple):
        forms = list(map(_parameter_form, value))
        return forms if isinstance(value, list) else {"tuple": forms}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(type(value).__name__)


def _parameter(form: Any) -> Any:
    """The parameter that `_parameter_form` has written."""
    if isinstance(form, list):
        return list(map(_parameter, form))
    if isinstance(form, dict):
        ((kind, parts),) = form.items()
        return {"dict": dict, "tuple": tuple}[kind](map(_parameter, parts))
    return form


def _plain_json(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Metadata, or a ValueError if they would not be read as they are."""
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
    return metadata


# Files, without scikit-learn.


def _opened(source: Path) -> tuple[dict[str, Any], Reader]:
    """The JSON of a file, and the reader of its arrays."""
    with source.open("rb") if source.is_file() else nullcontext(io.BytesIO()) as file:
        is_json = file.read(1) == b"{"
    if is_json:
        form, reader = _json_form(source), Reader()
    else:
        payload = _payload(source)
        with usable(source):
            archive = _Archive(payload)
            form, reader = archive.model(), Reader(archive)
    with usable(source):
        if form.keys() != _PARTS or not isinstance(form["metadata"], dict):
            raise ValueError("it does not consist of a network, a classifier and metadata")
        if not isinstance(form["has_column_names"], bool):
            raise ValueError("has_column_names is not true or false")
    return form, reader


def _payload(source: Path) -> bytes:
    """The zip of a model file, or a ValueError that says what is wrong with the file."""
    if source.exists() and not source.is_file():  # a device may have no end
        kind = "a folder" if source.is_dir() else "not a regular file"
        raise ValueError(f"{source} is {kind}. Name a model file.")
    content = source.read_bytes()
    if not content:
        raise ValueError(f"{source} is empty. Save the model again.")
    header, _, _ = content[:_LONGEST_HEADER].partition(b"\n")
    words = header.removeprefix(_MAGIC).decode("ascii", "replace").split(" ")
    if not header.startswith(_MAGIC) or not words[0].isdecimal():
        raise ValueError(f"{source} is not a model file. ffmlp fit and ffmlp.save write model files.")
    _check_version(source, int(words[0]))
    if words[0] != str(FORMAT_VERSION) or len(words) != 3 or not words[2].isdecimal():
        raise ValueError(f"{source} was changed or truncated: its first line is damaged.")
    payload = content[len(header) + 1 :]
    if len(payload) != int(words[2]):
        raise ValueError(
            f"{source} was truncated or extended: {words[2]} bytes were written after its first line, "
            f"but it has {len(payload)}."
        )
    if hashlib.sha256(payload).hexdigest() != words[1]:
        raise ValueError(f"{source} was changed after it was saved: its checksum does not match.")
    return payload


def _check_version(source: Path, version: int) -> None:
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{source} has format version {version}; this version of ffmlp reads {FORMAT_VERSION}. "
            "Install a newer version."
        )


def _json_form(source: Path) -> dict[str, Any]:
    """The content of a JSON file, whose numbers are finite."""
    if source.stat().st_size > MOST_JSON_BYTES:
        raise ValueError(
            f"{source} is too large for a JSON file of a network: {MOST_JSON_BYTES} bytes at most."
        )
    text = source.read_bytes()
    with usable(source):
        form = _parsed(text, parse_constant=_refuse, parse_float=_finite)
    if form.pop("ffmlp", None) != "classifier":
        raise ValueError(
            f"{source} is a JSON file, but not one of a network. The playground writes these."
        )
    version = form.pop("version", None)
    if type(version) is not int or version < FORMAT_VERSION:
        raise ValueError(f"{source} was changed: its format version is {version!r}.")
    _check_version(source, version)
    return form


def _parsed(text: bytes, **options: Any) -> dict[str, Any]:
    """An object of JSON whose values are limited before they are made."""
    n_values = sum(map(text.count, (b"[", b"{", b",", b":")))
    most = _MOST_VALUES + len(text) // _BYTES_PER_VALUE
    if n_values > most:
        raise ValueError(f"JSON of {n_values} values in {len(text)} bytes, at most {most}")
    form = json.loads(text, object_pairs_hook=_distinct, **options)
    if not isinstance(form, dict):
        raise ValueError("the JSON is not an object")
    return form


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    form = dict(pairs)
    if len(form) < len(pairs):
        raise ValueError("a name is there twice")
    return form


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number} is not a finite number")


def _finite(number: str) -> float:
    return value if math.isfinite(value := float(number)) else _refuse(number)


def _packed(form: Any, arrays: dict[str, NDArray], compression: int) -> bytes:
    """A zip of JSON and arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as members:
        for name, array in arrays.items():
            with members.open(name, "w") as member:
                npy.write_array(member, array, allow_pickle=False)
        members.writestr(_MODEL, json.dumps(form))
    return content.getvalue()


class _Archive:
    """A zip of JSON and arrays, whose sizes are limited before anything is unpacked."""

    def __init__(self, payload: bytes) -> None:
        self._n_bytes = len(payload)
        self._zip = zipfile.ZipFile(io.BytesIO(payload))
        infos = self._zip.infolist()
        self._left = {info.filename: info.file_size for info in infos}
        size = sum(info.file_size for info in infos) + (_WIDEST - 1) * self._left[_MODEL]
        self._limit("the content", size, MOST_BYTES + BYTES_PER_BYTE * len(payload))
        if not {info.compress_type for info in infos} <= {*_COMPRESSIONS}:
            raise ValueError("a part is compressed in an unknown way")

    def _limit(self, what: str, size: int, most: int) -> None:
        if size > most:
            raise ValueError(f"{what} of {size} bytes in a file of {self._n_bytes}; {most} are allowed")

    def model(self) -> dict[str, Any]:
        """The JSON."""
        self._limit(_MODEL, self._left[_MODEL], _JSON_BYTES + self._n_bytes)
        return _parsed(self._zip.read(_MODEL))

    def outline(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """What the header of an array says; the rest must be as long as it says."""
        size = self._left.pop(name, None)
        if size is None:
            raise ValueError(f"there is no array {name}, or it is there twice")
        with self._zip.open(name) as member:
            shape, _, dtype = _HEADERS[npy.read_magic(member)](member)
            expected = member.tell() + dtype.itemsize * math.prod(shape)
        if dtype.hasobject or min(shape, default=0) < 0 or size != expected:
            raise ValueError(f"an array of {dtype} and shape {shape} has {size} bytes")
        return dtype, shape

    def array(self, name: str) -> NDArray:
        """The array itself."""
        with self._zip.open(name) as member:
            return npy.read_array(member, allow_pickle=False)


@contextmanager
def usable(source: object) -> Iterator[None]:
    """Any error in the block means that the content of a model file is not a model: say so."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{source} does not hold a usable model ({type(error).__name__}: {error}). Save it again."
        ) from error
