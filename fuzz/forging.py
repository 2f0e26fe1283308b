"""Changes of a model file that keep its frame: of its JSON, its arrays and its zip."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fuzz.changes import changed_bytes, one_of

MODEL = "model.json"
_ODD_NUMBERS = (
    0, 1, -1, 2, 3, 0.5, -0.0, 1e-320, 1e300, -1e308, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**63) - 1,
    10**30, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
_ODD_TEXTS = (
    "",
    "x",
    "nan",
    "\0",
    "\x1b[2J",
    "é" * 300,
    "\ud800",
    "../../x",
    "0",
    "auto",
    "model.json",
    "{}",
)
_ODD = (*_ODD_NUMBERS, *_ODD_TEXTS, None, True, False, [], {}, [[]], [0], {"": 0}, ["a", "a"])
_ODD_TYPES = ("os.system", "FFMLPClassifier", "Regions", "Imputation", "NumberColumn", "PaperStages")
_DTYPES = (
    "f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", "c16", ">f8", ">i4", "S3", "U3", "M8[ns]",
    "m8[s]", "V8", "f8,i4", "g",
)  # fmt: skip


@dataclass
class Forgery:
    """The JSON of a model file, and its other members."""

    version: bytes
    form: Any
    members: dict[str, bytes]

    @classmethod
    def of(cls, data: bytes) -> Forgery | None:
        """Unpack a file; None if that is not possible."""
        header, _, payload = data.partition(b"\n")
        try:
            with zipfile.ZipFile(io.BytesIO(payload)) as archive:
                if sum(info.file_size for info in archive.infolist()) > 10_000_000:
                    return None
                members = {name: archive.read(name) for name in archive.namelist()}
            return cls(header.split(b" ")[2], json.loads(members.pop(MODEL)), members)
        except Exception:  # whatever changed bytes can cause
            return None

    def packed(self, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
        """The content of a file."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", compression) as archive:
            for name, member in self.members.items():
                archive.writestr(name, member)
            archive.writestr(MODEL, json.dumps(self.form))
        return content.getvalue()


def framed(payload: bytes, version: bytes = b"1") -> bytes:
    """A file whose checksum and length fit its content."""
    checksum = hashlib.sha256(payload).hexdigest()
    return b"ffmlp model %s %s %d\n" % (version, checksum.encode(), len(payload)) + payload


def forged(rng: Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """A file after some changes, most of them of what it means."""
    kind, forgery = rng.random(), Forgery.of(data)
    if kind < 0.03 or forgery is None:
        payload = data.partition(b"\n")[2]
        return changed_bytes(rng, data) if kind < 0.5 else framed(changed_bytes(rng, payload))
    if kind < 0.1:  # what is wrong is the zip
        return framed(changed_bytes(rng, forgery.packed(zipfile.ZIP_STORED)), forgery.version)
    for _ in range(int(rng.geometric(0.6))):
        one_of(rng, _CHANGES)(rng, forgery, others)
    return framed(forgery.packed(), forgery.version)


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a JSON value with every key or index of it."""
    left = [part]
    while left:
        part = left.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            yield part, key
            if isinstance(part[key], dict | list):
                left.append(part[key])


def _parts(form: Any) -> list[dict[str, Any]]:
    """The objects in JSON values."""
    parts = [form, *(container[key] for container, key in _places(form))]
    return [part for part in parts if isinstance(part, dict)]


def _one_part(rng: Generator, form: Any) -> dict[str, Any]:
    """An object: those of every type come as often as any others."""
    parts = _parts(form) if isinstance(form, dict | list) else []
    if not parts:
        return {}
    types = sorted({str(part.get("type")) for part in parts})
    chosen = one_of(rng, types)
    return one_of(rng, [part for part in parts if str(part.get("type")) == chosen])


def _arrays(forgery: Forgery) -> list[tuple[Any, Any]]:
    """The places of the names of arrays."""
    if not isinstance(forgery.form, dict | list):
        return []
    places = _places(forgery.form)
    return [(part, key) for part, key in places if str(part[key]) in forgery.members]


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _odd(rng: Generator) -> Any:
    return _copied(one_of(rng, _ODD))


def _change_place(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Replace, remove, double or exchange a part of the JSON."""
    places = list(_places(_one_part(rng, forgery.form)))
    if not places:
        return
    container, key = one_of(rng, places)
    match int(rng.integers(5)):
        case 0:
            container[key] = _odd(rng)
        case 1:
            del container[key]
        case 2 if isinstance(container, list):
            container.insert(int(key), _copied(container[key]))
        case 2:
            container[one_of(rng, (*_ODD_TEXTS, "more"))] = _copied(container[key])
        case 3:
            container[key] = _copied(_one_part(rng, forgery.form))
        case _:
            other, place = one_of(rng, places)
            container[key] = _copied(other[place])


def _change_type(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Say that a part is of another type."""
    part, other = (_one_part(rng, forgery.form) for _ in range(2))
    part["type"] = one_of(rng, (*_ODD_TYPES, other.get("type"), other.get("type")))


def _change_number(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Change a plain value to an odd one of the same type."""
    part = _one_part(rng, forgery.form)
    kinds: tuple[tuple[Any, Any], ...] = (((int, float), _ODD_NUMBERS), (str, _ODD_TEXTS))
    for kind, odd in kinds:
        names = [name for name, value in part.items() if isinstance(value, kind)]
        if names and rng.random() < 0.5:
            part[one_of(rng, names)] = one_of(rng, odd)


def _change_lists(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Write an array as lists, perhaps of odd values."""
    places = _arrays(forgery)
    if not places:
        return
    part, key = one_of(rng, places)
    try:
        array = np.load(io.BytesIO(forgery.members[part[key]]), allow_pickle=False)
        with np.errstate(all="ignore"):
            array = _with_odd_values(rng, array) if rng.random() < 0.3 else array
        part[key] = array.tolist()
        json.dumps(part[key])
    except Exception:  # an earlier change was of the bytes, or of the type
        part[key] = [[0.5, None], "x"]


def _change_reference(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Name another array, perhaps one that is not there."""
    places = _arrays(forgery)
    if places:
        part, key = one_of(rng, places)
        part[key] = one_of(rng, (*forgery.members, "missing.npy", "", MODEL))


def _change_array(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Change the values, the shape, the type or the bytes of an array."""
    names = [name for name in forgery.members if name.endswith(".npy")]
    if not names:
        return
    name = one_of(rng, names)
    try:
        array = np.load(io.BytesIO(forgery.members[name]), allow_pickle=False)
    except Exception:  # an earlier change was of the bytes
        return
    with np.errstate(all="ignore"):
        change: Callable[..., Any] = one_of(
            rng, (_with_odd_values, _with_odd_values, _reshaped, _retyped)
        )
        content = _npy(change(rng, array))
    forgery.members[name] = changed_bytes(rng, content) if rng.random() < 0.05 else content


def _npy(array: NDArray) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def _with_odd_values(rng: Generator, array: NDArray) -> NDArray:
    if array.dtype.kind not in "biuf" or not array.size:
        return array
    flat = array.astype(np.float64).ravel()
    match int(rng.integers(5)):
        case 0:
            flat[rng.integers(flat.size)] = float(one_of(rng, _ODD_NUMBERS))
        case 1:
            flat = flat * float(one_of(rng, (-1.0, 0.0, 1e300, 1e-300, 1e6)))
        case 2:
            flat = rng.permutation(flat)
        case 3:
            flat[rng.integers(flat.size)] = rng.integers(-2, 10)
        case _:
            flat[rng.random(flat.size) < 0.3] = float(one_of(rng, _ODD_NUMBERS))
    if array.dtype.kind in "biu":
        flat = np.nan_to_num(np.clip(flat, -(2.0**62), 2.0**62))
    return flat.reshape(array.shape).astype(array.dtype)


def _reshaped(rng: Generator, array: NDArray) -> NDArray:
    axis = int(rng.integers(max(1, array.ndim)))
    match int(rng.integers(7)):
        case 0 if array.ndim:
            return np.concatenate([array, array], axis=axis)
        case 1 if array.ndim:
            return np.delete(array, 0, axis=axis) if array.shape[axis] else array
        case 2:
            return array.ravel()
        case 3:
            return array[None]
        case 4:
            return np.asfortranarray(array)
        case 5:
            return array[..., :0] if array.ndim else array
        case _:
            return array.T


def _retyped(rng: Generator, array: NDArray) -> NDArray:
    try:
        return array.astype(one_of(rng, _DTYPES))
    except (ValueError, TypeError):
        return array


def _make_large(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """Much that takes little room in the file: zeros, spaces, one array many times, long lists."""
    if rng.random() < 0.9:  # this takes long
        return
    n_bytes, places = int(10 ** rng.uniform(5.0, 7.9)), _arrays(forgery)
    part = _one_part(rng, forgery.form)
    match int(rng.integers(4)):
        case 0 if places:
            forgery.members["zeros.npy"] = _npy(np.zeros(n_bytes // 8, one_of(rng, ("f8", "i8"))))
            container, key = one_of(rng, places)
            container[key] = "zeros.npy"
        case 1:
            part["more"] = " " * n_bytes
        case 2:
            part["more"] = [_copied(part) for _ in range(int(10 ** rng.uniform(1, 4)))]
        case _:
            lists = [key for key, value in part.items() if isinstance(value, list) and value]
            if lists:
                key = one_of(rng, lists)
                part[key] = (part[key] * (1 + n_bytes // 100))[: n_bytes // 100]


def _bring_in(rng: Generator, forgery: Forgery, others: Sequence[bytes]) -> None:
    """A part of another file, with its arrays, in the place of one of this."""
    other = Forgery.of(one_of(rng, others))
    if other is None:
        return
    part, foreign = _one_part(rng, forgery.form), _copied(_one_part(rng, other.form))
    for container, key in list(_places(foreign)):
        name = container[key]
        if isinstance(name, str) and name in other.members:
            container[key] = f"other-{name}"
            forgery.members[f"other-{name}"] = other.members[name]
    part.clear()
    part.update(foreign)


_CHANGES = (
    *(_change_place, _change_place, _change_type, _change_number, _change_number, _change_number),
    *(_change_reference, _change_lists, _make_large, _bring_in, *5 * (_change_array,)),
)
