"""The zip of a model file. Its sizes are known, and limited, before anything is unpacked."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

SCHEMA = "schema.json"
# How large the schema alone, and arrays and schema together, may be: this many bytes, and this many for
# each byte of the file. Both take up to 3 times as much while they are read.
SCHEMA_BYTES, SCHEMA_FACTOR = 5_000_000, 1
ARRAY_BYTES, ARRAY_FACTOR = 50_000_000, 4
# A value of a schema takes some 60 bytes once it is parsed, whatever its length in the file. Those of
# models have 20 bytes on average.
MOST_VALUES, BYTES_PER_VALUE = 100_000, 8
# A text takes so much memory for each byte in the file if one of its characters is beyond ASCII.
_WIDEST = 4
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class TooLargeError(ValueError):
    """A content is larger than its file explains."""


@dataclass(frozen=True)
class Outline:
    """The type and the shape of a stored array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Archive:
    """A zip of arrays and a schema."""

    members: zipfile.ZipFile
    n_bytes: int
    outlines: dict[str, Outline] = field(default_factory=dict)

    @classmethod
    def of(cls, payload: bytes) -> Archive:
        """Read the list of members."""
        return cls(zipfile.ZipFile(io.BytesIO(payload)), len(payload))

    def schema(self) -> bytes:
        """The text of the schema, unless it is too large."""
        size = self._size(SCHEMA)
        self._limit("schema", size, SCHEMA_BYTES + SCHEMA_FACTOR * self.n_bytes)
        text = self.members.read(SCHEMA)
        n_values, most = (
            sum(map(text.count, (b"[", b"{", b","))),
            MOST_VALUES + len(text) // BYTES_PER_VALUE,
        )
        if n_values > most:
            raise ValueError(f"schema of {n_values} values in {len(text)} bytes, at most {most}")
        return text

    def limit_arrays(self, names: list[str], schema: bytes) -> None:
        """Refuse arrays, each counted as often as it is named, that are too large beside the schema."""
        size = _memory(schema) + sum(map(self._size, names))
        self._limit("schema and arrays", size, ARRAY_BYTES + ARRAY_FACTOR * self.n_bytes)

    def _size(self, name: str) -> int:
        return self.members.getinfo(name).file_size

    def _limit(self, what: str, size: int, most: int) -> None:
        if size > most:
            raise TooLargeError(
                f"{what} of {size} bytes in a file of {self.n_bytes}; {most} are allowed"
            )

    def outline(self, name: str) -> Outline:
        """What the header of an array says; the rest must be as long as it says."""
        if name not in self.outlines:
            self.outlines[name] = self._outline(name)
        return self.outlines[name]

    def _outline(self, name: str) -> Outline:
        with self.members.open(name) as member:
            shape, _, dtype = _HEADERS[npy.read_magic(member)](member)
            expected = member.tell() + dtype.itemsize * math.prod(shape)
        size = self._size(name)
        if dtype.hasobject or min(shape, default=0) < 0 or size != expected:
            raise ValueError(f"an array of {dtype} and shape {shape} has {size} bytes")
        return Outline(dtype, shape)

    def array(self, name: str) -> NDArray:
        """The array itself."""
        return np.load(io.BytesIO(self.members.read(name)), allow_pickle=False)


def _memory(schema: bytes) -> int:
    """The bytes that the texts of a schema take in memory at most."""
    is_narrow = schema.isascii() and b"\\u" not in schema
    return len(schema) * (1 if is_narrow else _WIDEST)


def packed(schema: Any, names: list[str], archive: Archive, compression: int) -> bytes:
    """The arrays of these names with another schema; others may be of any size."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as members:
        for name in dict.fromkeys(names):
            members.writestr(name, archive.members.read(name))
        members.writestr(SCHEMA, json.dumps(schema))
    return content.getvalue()
