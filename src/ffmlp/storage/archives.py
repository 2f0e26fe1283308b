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
# How large the schema and all arrays may be: this many bytes, and this many for each byte of the file.
# An array takes up to 3 times as much while it is read.
SCHEMA_BYTES, SCHEMA_FACTOR = 5_000_000, 1
ARRAY_BYTES, ARRAY_FACTOR = 50_000_000, 4
# A value of a schema takes some 60 bytes once it is parsed, whatever its length in the file. Those of
# models have 20 bytes on average.
MOST_VALUES, BYTES_PER_VALUE = 100_000, 8
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

    def schema(self) -> Any:
        """The schema, unless it is too large."""
        self._limit("schema", [SCHEMA], SCHEMA_BYTES + SCHEMA_FACTOR * self.n_bytes)
        text = self.members.read(SCHEMA)
        n_values, most = (
            sum(map(text.count, (b"[", b"{", b","))),
            MOST_VALUES + len(text) // BYTES_PER_VALUE,
        )
        if n_values > most:
            raise ValueError(f"schema of {n_values} values in {len(text)} bytes, at most {most}")
        return json.loads(text)

    def limit_arrays(self, names: list[str]) -> None:
        """Refuse arrays that are too large together, each counted as often as it is named."""
        self._limit("arrays", names, ARRAY_BYTES + ARRAY_FACTOR * self.n_bytes)

    def _limit(self, what: str, names: list[str], most: int) -> None:
        total = sum(self.members.getinfo(name).file_size for name in names)
        if total > most:
            raise TooLargeError(
                f"{what} of {total} bytes in a file of {self.n_bytes}; {most} are allowed"
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
        size = self.members.getinfo(name).file_size
        if dtype.hasobject or min(shape, default=0) < 0 or size != expected:
            raise ValueError(f"an array of {dtype} and shape {shape} has {size} bytes")
        return Outline(dtype, shape)

    def array(self, name: str) -> NDArray:
        """The array itself."""
        return np.load(io.BytesIO(self.members.read(name)), allow_pickle=False)


def packed(schema: Any, names: list[str], archive: Archive, compression: int) -> bytes:
    """The arrays of these names with another schema; others may be of any size."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as members:
        for name in dict.fromkeys(names):
            members.writestr(name, archive.members.read(name))
        members.writestr(SCHEMA, json.dumps(schema))
    return content.getvalue()
