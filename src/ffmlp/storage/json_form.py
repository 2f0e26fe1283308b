"""Parts of a network as plain JSON values.

A part has its tag and its fields. An array has ``dtype``, ``shape`` and its numbers in rows, as a list
(``values``) or as the base64 text of their little-endian bytes (``base64``).
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.storage.schema import NETWORK_TAGS

_TAGS = {part: tag for tag, part in NETWORK_TAGS.items()}
# Longer arrays are written in base64, which is shorter than digits; shorter ones stay readable.
_READABLE = 64


def json_form(value: Any) -> Any:
    """A part of a network, an array or a plain value as JSON values."""
    if type(value) in _TAGS:
        parts = {field.name: json_form(getattr(value, field.name)) for field in fields(value)}
        return {"tag": _TAGS[type(value)], **parts}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, (list, tuple)):
        return [json_form(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _array(array: NDArray) -> dict[str, Any]:
    if array.dtype.kind in "OUS":
        return {"dtype": "object", "shape": list(array.shape), "values": array.ravel().tolist()}
    about = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size <= _READABLE and (array.dtype.kind != "f" or np.isfinite(array).all()):
        return about | {"values": array.ravel().tolist()}
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return about | {"base64": b64encode(little.tobytes()).decode()}
