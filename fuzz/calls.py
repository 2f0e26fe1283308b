"""Calls of compiled functions as JSON: every past failure is checked again, whatever draws new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How an array lies in memory. All but the first are unusual.
LAYOUTS = ("plain", "Fortran", "strided", "reversed", "read-only", "unaligned", "swapped", "view")


def written(function: str, arguments: Sequence[Any], is_hostile: bool) -> bytes:
    """A call as JSON; an array may be a pair of itself and its layout."""
    whole = {
        "function": function,
        "hostile": is_hostile,
        "arguments": [_written(argument) for argument in arguments],
    }
    return json.dumps(whole).encode()


def _written(argument: Any) -> Any:
    layout = "plain"
    if isinstance(argument, tuple):
        argument, layout = argument
    if not isinstance(argument, np.ndarray):
        return argument
    values = argument.ravel().tolist()
    return {"type": argument.dtype.str, "shape": argument.shape, "layout": layout, "values": values}


def read(data: bytes) -> tuple[str, list[Any], bool]:
    """The function, its arguments, and whether something is wrong with them."""
    whole = json.loads(data)
    return whole["function"], [_read(argument) for argument in whole["arguments"]], whole["hostile"]


def _read(argument: Any) -> Any:
    if not isinstance(argument, dict):
        return argument
    array = np.array(argument["values"], argument["type"]).reshape(argument["shape"])
    return laid_out(array, argument["layout"])


def laid_out(array: NDArray, layout: str) -> Any:
    """The same numbers, elsewhere."""
    match layout:
        case "Fortran":
            return np.asfortranarray(array)
        case "strided" if array.ndim:
            wide = np.repeat(array, 2, axis=-1)
            return wide[..., ::2]
        case "reversed":
            return np.flip(np.flip(array).copy())
        case "read-only":
            copy = array.copy()
            copy.flags.writeable = False
            return copy
        case "unaligned":
            room = np.zeros(array.nbytes + 1, np.uint8)
            room[1:] = np.frombuffer(array.tobytes(), np.uint8)
            return room[1:].view(array.dtype).reshape(array.shape)
        case "swapped":
            return array.astype(array.dtype.newbyteorder())
        case "view" if array.ndim == 1 and array.size and array.dtype.kind in "if":
            return memoryview(bytearray(b"-" + array.tobytes()))[1:].cast(
                array.dtype.char.replace("l", "q")
            )
    return array
