"""A dataclass as JSON values, and back: one walk over the annotations of its fields.

A dataclass is an object with its name as ``type`` and its fields. A tuple is a list. NaN is null. An
array is the name of a member of an archive, or a list of lists of numbers. Annotations say which
classes, shapes and indices are allowed (`Shape`, `Below`): nothing else can be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Below, Shape

# Makes a value whose form has been checked.
Make = Callable[[], Any]


@dataclass(frozen=True)
class Apart:
    """Sizes that a part does not share with the rest of the model, as an annotation."""

    sizes: str


def write(value: Any, array: Callable[[str, NDArray], Any] | None = None, place: str = "") -> Any:
    """The form of a value; ``array`` returns what stands for an array at a place, by default lists."""
    if is_dataclass(value):
        parts = {part.name: getattr(value, part.name) for part in fields(value)}
        return {"type": type(value).__name__, **write(parts, array, place)}
    if isinstance(value, dict):
        return {name: write(part, array, f"{place}.{name}") for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        if array is not None:
            return array(place.lstrip("."), value)
        if value.dtype.kind == "f" and np.isnan(value).any():
            value = np.where(np.isnan(value), np.array(None), value)
        return value.tolist()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [write(part, array, f"{place}.{number}") for number, part in enumerate(value)]
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{place.lstrip('.') or 'a value'} of type {type(value).__name__} is not stored")


class Arrays(Protocol):
    """Arrays by name."""

    def outline(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Type and shape."""

    def array(self, name: str) -> NDArray:
        """The array."""


@dataclass(frozen=True)
class Sizes:
    """Sizes by their names: of the model, and of the part that is being read."""

    model: dict[str, int] = field(default_factory=dict)
    part: dict[str, int] = field(default_factory=dict)

    def of(self, expression: str) -> int:
        """The value of a sum of sizes and numbers."""
        known = self.model | self.part
        return sum(int(term) if term.isdecimal() else known[term] for term in expression.split("+"))

    def require(self, name: str, value: int, place: str) -> None:
        """Raise a ValueError unless a size has this value; one without a value gets it."""
        if name == "?":
            return
        known = self.model if name.isupper() else self.part
        if name.isalpha() and name not in known:
            known[name] = value
        elif value != self.of(name):
            raise ValueError(f"{place} has the size {value}, where {self.of(name)} is needed")


class Reader:
    """Reads forms: types, shapes and indices are checked first, and objects are made afterwards.

    Methods return functions that make the objects. `check_indices` comes between: all sizes are known
    then.
    """

    def __init__(self, arrays: Arrays | None = None) -> None:
        self._arrays, self._sizes = arrays, Sizes()
        self._indices: list[Callable[[], None]] = []

    def check_indices(self) -> None:
        """Raise a ValueError if an index points to nothing."""
        for check in self._indices:
            check()

    def fields(
        self, form: Any, kinds: dict[str, Any], place: str, sizes: Sizes | None = None
    ) -> dict[str, Make]:
        """The values of an object, whose names and annotations are known."""
        sizes = self._sizes if sizes is None else sizes
        if not isinstance(form, dict):
            raise _wrong(form, place)
        for name in kinds:
            if name not in form:
                raise ValueError(f"{place} has no {name}")
        unknown = form.keys() - kinds.keys()
        if unknown:
            raise ValueError(f"{place} has an unknown {min(unknown)}")
        return {
            name: self.value(form[name], kind, f"{place}.{name}", sizes) for name, kind in kinds.items()
        }

    def value(
        self, form: Any, kind: Any, place: str, sizes: Sizes | None = None, marks: tuple[Any, ...] = ()
    ) -> Make:
        """The value of any annotation; ``marks`` are what else it was annotated with."""
        sizes = self._sizes if sizes is None else sizes
        origin, arguments = get_origin(kind) or kind, get_args(kind)
        if origin is Annotated:
            return self.value(form, arguments[0], place, sizes, arguments[1:])
        if origin in (Union, UnionType) and form is None and NoneType in arguments:
            return lambda: None
        if origin in (Union, UnionType):
            kinds = [part for part in arguments if part is not NoneType]
            named = isinstance(form, dict) and form.get("type")
            chosen = next((part for part in kinds if part.__name__ == named), kinds[0])
            return self.value(form, chosen, place, sizes, marks)
        if origin is np.ndarray:
            return self._array(form, _scalars(kind), place, sizes, marks)
        if origin is tuple:
            return self._tuple(form, arguments, place, sizes, marks)
        if is_dataclass(origin):
            return self._dataclass(form, origin, place, sizes, marks)
        if origin is dict and arguments and isinstance(form, dict):
            parts = self.fields(form, dict.fromkeys(form, arguments[1]), place, sizes)
            return lambda: {name: make() for name, make in parts.items()}
        return self._plain(form, origin, place, sizes, marks)

    def _dataclass(self, form: Any, kind: Any, place: str, sizes: Sizes, marks: tuple[Any, ...]) -> Make:
        if not isinstance(form, dict) or form.get("type") != kind.__name__:
            raise _wrong(form, place)
        apart = "".join(mark.sizes for mark in marks if isinstance(mark, Apart))
        shared = {name: size for name, size in sizes.model.items() if name not in apart}
        inner = Sizes(shared if apart else sizes.model)
        form = {name: part for name, part in form.items() if name != "type"}
        parts = self.fields(form, _annotations(kind), place, inner)
        return lambda: kind(**{name: make() for name, make in parts.items()})

    def _tuple(
        self, form: Any, kinds: tuple[Any, ...], place: str, sizes: Sizes, marks: tuple[Any, ...]
    ) -> Make:
        if not isinstance(form, list):
            raise _wrong(form, place)
        for mark in marks:
            sizes.require(mark[0], len(form), place)
        each = kinds[:1] * len(form) if kinds[-1] is Ellipsis else kinds
        if len(form) != len(each):
            raise ValueError(f"{place} has {len(form)} parts, where {len(each)} are needed")
        parts = [
            self.value(part, kind, f"{place}[{number}]", sizes)
            for number, (part, kind) in enumerate(zip(form, each, strict=True))
        ]
        return lambda: tuple(make() for make in parts)

    def _array(
        self, form: Any, scalars: tuple[Any, ...], place: str, sizes: Sizes, marks: tuple[Any, ...]
    ) -> Make:
        (names,) = (mark for mark in marks if isinstance(mark, Shape))
        if isinstance(form, str) and self._arrays is not None:
            dtype, shape = self._arrays.outline(form)
            make: Make = cache(partial(self._arrays.array, form))
        else:
            array = _from_lists(form, scalars, names, sizes, place)
            dtype, shape = array.dtype, array.shape

            def make() -> NDArray:
                return array

        if dtype.kind not in _kinds(scalars) or len(shape) != len(names):
            raise ValueError(f"{place} has the wrong type {dtype} or shape {shape}")
        for name, size in zip(names, shape, strict=True):
            sizes.require(str(name), size, place)
        for mark in marks:
            if isinstance(mark, Below):
                self._indices.append(partial(_check_indices, make, mark, sizes, place))
        return make

    def _plain(self, form: Any, kind: Any, place: str, sizes: Sizes, marks: tuple[Any, ...]) -> Make:
        """A number, a text, a flag, or JSON values of any structure."""
        if kind is float and form is None:
            form = math.nan
        if kind is float and type(form) is int:
            form = float(form)
        if kind is not Any and type(form) is not kind:
            raise _wrong(form, place)
        for mark in marks:
            self._indices.append(partial(_check_indices, lambda: np.array(form), mark, sizes, place))
        return lambda: form


def read(form: Any, kind: Any, place: str) -> Any:
    """A value without arrays in an archive, or a ValueError."""
    reader = Reader()
    make = reader.value(form, kind, place)
    reader.check_indices()
    return make()


def _wrong(form: Any, place: str) -> ValueError:
    kind = form.get("type") if isinstance(form, dict) else None
    return ValueError(f"{place} has the wrong type {kind or type(form).__name__}")


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    """The annotation of each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {part.name: hints[part.name] for part in fields(kind)}


def _scalars(kind: Any) -> tuple[Any, ...]:
    """The types that the values of an array may have."""
    (scalar,) = get_args(get_args(kind)[1])
    return tuple(get_origin(part) or part for part in get_args(scalar) or (scalar,))


def _kinds(scalars: tuple[Any, ...]) -> str:
    """NumPy's letters for the kinds of some types."""
    if Any in scalars:
        return "biufUO"
    letters = {np.floating: "f", np.integer: "iu", np.bool_: "b"}
    return "".join(letters[base] for base in letters if any(issubclass(one, base) for one in scalars))


def _check_indices(make: Make, mark: Below, sizes: Sizes, place: str) -> None:
    indices, most = make(), sizes.of(mark.size)
    if indices.size and not mark.least <= indices.min() <= indices.max() < most:
        raise ValueError(f"{place} must have integers from {mark.least} to {most - 1}")


# The types of values in a list, for each kind of array.
_VALUES: dict[str, set[type]] = {"f": {float, int, NoneType}, "iu": {int}, "b": {bool}}


def _from_lists(form: Any, scalars: tuple[Any, ...], names: Shape, sizes: Sizes, place: str) -> NDArray:
    """An array of numbers, flags or texts, from lists of lists of them."""
    shape: list[int] = []
    values = [form]
    for name in names:
        lengths = {len(part) if isinstance(part, list) else -1 for part in values}
        if not lengths:  # where an array is empty, lists do not say how long they would be
            known = sizes.model | sizes.part
            lengths = {known.get(str(name), 0)}
        if len(lengths) > 1 or -1 in lengths:
            raise ValueError(f"{place} is not made of lists of the same length")
        shape.extend(lengths)
        values = [item for part in values for item in part]
    types, kinds = {type(value) for value in values}, _kinds(scalars)
    allowed = _VALUES.get(kinds)
    if allowed is not None and not types <= allowed:
        raise ValueError(f"{place} has values of the wrong type")
    if allowed is None and types not in ({str}, {int}, {bool}) and not types <= {int, float}:
        raise ValueError(f"{place} has values of several types")
    dtype = object if types == {str} else None if allowed is None else scalars[0]
    return np.array(values, dtype).reshape(shape)
