"""What may change in a sample, and what a person wants: frozen columns, bounds, units, norm, costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats, Indices
from ffmlp.inputs.columns import CategoryColumn, Columns, category_cells, category_name

# Columns by number or name, and their bounds, as a user gives them; None is no bound.
Features = Sequence[int | str]
GivenBounds = Mapping[int | str, tuple[float | None, float | None]] | None

# A number changes by at most this many standard deviations of its column.
REACH = 10.0
# An integer column with more values within its limits is searched at this many of them.
_MOST_VALUES = 400


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of changes: samples stay between ``low`` and ``high`` (n, N).

    ``scale`` (N,) are units; (n, N) if each sample has its own.
    """

    low: Floats
    high: Floats
    scale: Floats
    norm: float

    def rows(self, rows: Indices) -> Limits:
        """The limits of some of the samples."""
        return replace(self, low=self.low[rows], high=self.high[rows])


@dataclass(frozen=True, eq=False)
class Wishes:
    """Limits of changes of a row, by the number of the column.

    ``costs`` (M,) are the costs of one standard deviation of a number, or of another category.
    """

    costs: Floats
    wanted: int | None = None
    frozen: frozenset[int] = frozenset()
    bounds: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    rising: frozenset[int] = frozenset()
    falling: frozenset[int] = frozenset()
    integer: frozenset[int] = frozenset()
    categories: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_changed: int | None = None

    def relaxed(self, names: Sequence[str]) -> Iterator[tuple[str, Wishes]]:
        """The wishes without each limit in turn, and the limit in words."""
        for kind in ("frozen", "rising", "falling", "integer", "bounds", "categories"):
            limits = getattr(self, kind)
            for column in sorted(limits):
                others: Any = limits - {column} if isinstance(limits, frozenset) else dict(limits)
                if isinstance(others, dict):
                    del others[column]
                yield f"{kind} of {names[column]!r}", replace(self, **{kind: others})
        if self.max_changed is not None:
            yield f"max_changed={self.max_changed}", replace(self, max_changed=None)


@dataclass(frozen=True, eq=False)
class Range:
    """A number may be anything between two limits."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A cell may take some values (k,) at costs (k,); the first is the present one.

    ``whole`` says that these are all values that the limits allow.
    """

    cells: Floats
    costs: Floats
    whole: bool = True


Move = Range | Choice


def allowed_moves(table: Columns, row: Floats, units: Floats, wishes: Wishes) -> dict[int, Move]:
    """The moves of the cells of a row (M,) that may change, by column; units (M,) of the numbers."""
    moves: dict[int, Move] = {}
    for column, part in enumerate(table.parts):
        if column in wishes.frozen:
            continue
        cell = float(row[column])
        if isinstance(part, CategoryColumn):
            known = range(len(part.categories))
            others = [k for k in wishes.categories.get(column, known) if k != cell]
            costs = np.append(0.0, np.full(len(others), wishes.costs[column]))
            moves[column] = Choice(np.array([cell, *others], np.float64), costs)
        elif not np.isnan(cell):
            low, high = wishes.bounds.get(column, (-np.inf, np.inf))
            reach = REACH * units[column]
            low = cell if column in wishes.rising else max(low, cell - reach)
            high = cell if column in wishes.falling else min(high, cell + reach)
            if column in wishes.integer:
                moves[column] = _whole_numbers(cell, low, high, units[column], wishes.costs[column])
            elif low < high:
                moves[column] = Range(low, high)
    return moves


def _whole_numbers(cell: float, low: float, high: float, unit: float, cost: float) -> Choice:
    values = np.arange(np.ceil(low), np.floor(high) + 1)
    values = values[values != cell]
    whole = len(values) <= _MOST_VALUES
    if not whole:
        near = values[np.argsort(np.abs(values - cell), kind="stable")[: _MOST_VALUES // 2]]
        spread = values[np.linspace(0, len(values) - 1, _MOST_VALUES // 2).astype(np.intp)]
        values = np.union1d(near, spread)
    values = np.append(cell, values)
    return Choice(values, cost * np.abs(values - cell) / unit, whole)


def checked_limits(
    columns: Columns,
    cells: Floats,
    samples: Floats,
    norm: float | str,
    scale: ArrayLike | None,
    frozen: Features,
    bounds: GivenBounds,
) -> Limits:
    """The limits of changes of the samples, the inputs of cells, or a ValueError.

    Numbers that are not missing may change; everything else stays.
    """
    names, firsts = columns.names, columns.firsts
    lengths = {2: 2.0, 1: 1.0, np.inf: np.inf, "inf": np.inf}
    if norm not in lengths:
        raise ValueError(f'norm must be 2, 1 or "inf", got {norm!r}.')
    unit = np.ones(len(names)) if scale is None else np.asarray(scale, np.float64)
    if unit.shape != (len(names),) or not (np.isfinite(unit) & (unit > 0)).all():
        raise ValueError(
            f"scale must be {len(names)} positive numbers, one for each feature, got {scale!r}."
        )
    low, high = np.full(samples.shape, -np.inf), np.full(samples.shape, np.inf)
    for number, (least, most) in _checked_bounds(columns, cells, bounds, "leave it out").items():
        low[:, firsts[number]], high[:, firsts[number]] = least, most
    held = _feature_numbers(names, "frozen", frozen)
    if held and {*np.flatnonzero(columns.is_number).tolist()} <= held:
        raise ValueError(
            "All features are frozen, so no change is possible. Leave at least one number free."
        )
    free = columns.changeable(cells)
    free[:, firsts[list(held)]] = False
    low, high = np.where(free, low, samples), np.where(free, high, samples)
    return Limits(low, high, unit[columns.owners], lengths[norm])


def checked_wishes(
    table: Columns,
    cells: Floats,
    labels: NDArray,
    *,
    wanted: Any,
    frozen: Features,
    bounds: GivenBounds,
    rising: Features,
    falling: Features,
    integer: Features,
    categories: Mapping[int | str, Sequence[Any]] | None,
    max_changed: int | None,
    costs: Mapping[int | str, float] | None,
) -> Wishes:
    """The wishes by column number, or a ValueError."""
    if wanted is not None and (np.ndim(wanted) or wanted not in labels.tolist()):
        raise ValueError(f"wanted must be a class, got {wanted!r}. Classes: {labels.tolist()[:10]}.")
    is_count = isinstance(max_changed, Integral) and not isinstance(max_changed, bool)
    if max_changed is not None and not (is_count and max_changed > 0):
        raise ValueError(f"max_changed must be an int of at least 1, or None, got {max_changed!r}.")
    return Wishes(
        _checked_costs(table, costs),
        None if wanted is None else labels.tolist().index(wanted),
        _feature_numbers(table.names, "frozen", frozen),
        _checked_bounds(table, cells, bounds, "limit it by categories="),
        _checked_numbers(table, "rising", rising),
        _checked_numbers(table, "falling", falling),
        _checked_numbers(table, "integer", integer),
        _checked_categories(table, categories),
        max_changed,
    )


def feature_number(names: Sequence[str], feature: int | str) -> int:
    """The number of a feature, given by number or name."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, Integral) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"Unknown feature {feature!r}. Features are 0 to {len(names) - 1}, named {list(names)[:10]}."
    )


def _feature_numbers(names: Sequence[str], limit: str, features: Any) -> frozenset[int]:
    """The numbers of the features that a limit is about, given by number or name, or a ValueError."""
    listed: Any = [features] if isinstance(features, str | Integral) else features
    if not isinstance(listed, Iterable):
        raise ValueError(f"{limit} must be a sequence of features, got {features!r}.")
    return frozenset(feature_number(names, feature) for feature in listed)


def _checked_numbers(table: Columns, limit: str, features: Features) -> frozenset[int]:
    """The columns of a limit that is for numbers."""
    numbers = _feature_numbers(table.names, limit, features)
    for column in numbers:
        if not table.is_number[column]:
            raise ValueError(
                f"{limit} is for numbers, and feature {table.names[column]!r} is categorical. Limit it "
                "by categories= or frozen=."
            )
    return numbers


def _by_number(table: Columns, limit: str, given: Any) -> Iterator[tuple[int | str, int, Any]]:
    """The features of a mapping as they are given, their numbers and values."""
    if not isinstance(given, Mapping | None):
        raise ValueError(f"{limit} must be a mapping of columns, such as {{0: …}}, got {given!r}.")
    for feature, value in (given or {}).items():
        yield feature, feature_number(table.names, feature), value


def _checked_costs(table: Columns, costs: Mapping[int | str, Any] | None) -> Floats:
    """The cost (M,) of each column."""
    factors = np.ones(len(table))
    for feature, column, cost in _by_number(table, "costs", costs):
        if not (isinstance(cost, Real) and 0 < float(cost) < np.inf):
            raise ValueError(f"costs[{feature!r}] must be a positive number, got {cost!r}.")
        factors[column] = cost
    return factors


def _checked_bounds(
    table: Columns, cells: Floats, bounds: GivenBounds, remedy: str
) -> dict[int, tuple[float, float]]:
    """The bounds of columns of numbers, which all samples that have the number must keep."""
    checked = {}
    for feature, column, limits in _by_number(table, "bounds", bounds):
        if not table.is_number[column]:
            raise ValueError(f"feature {feature!r} is categorical. Bounds are for numbers: {remedy}.")
        is_pair = isinstance(limits, Sequence | np.ndarray) and len(limits) == 2
        if not is_pair or not all(limit is None or isinstance(limit, Real) for limit in limits):
            raise ValueError(
                f"bounds of feature {feature!r} must be (low, high), two numbers or None, got "
                f"{limits!r}."
            )
        least = -np.inf if limits[0] is None else float(limits[0])
        most = np.inf if limits[1] is None else float(limits[1])
        if not least <= most:
            raise ValueError(f"bounds of feature {feature!r} must ascend, got {least:g} and {most:g}.")
        outside = (cells[:, column] < least) | (cells[:, column] > most)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(
                f"bounds of feature {feature!r} exclude sample {row}: {cells[row, column]:g} is not "
                f"between {least:g} and {most:g}. Widen them to include all samples."
            )
        checked[column] = least, most
    return checked


def _checked_categories(
    table: Columns, categories: Mapping[int | str, Sequence[Any]] | None
) -> dict[int, tuple[int, ...]]:
    """The numbers of the allowed categories of each column."""
    allowed = {}
    for feature, column, given in _by_number(table, "categories", categories):
        values = [given] if isinstance(given, str) else given
        part = table.parts[column]
        if not isinstance(part, CategoryColumn):
            raise ValueError(f"feature {feature!r} is a number. Limit it by bounds=.")
        cells = category_cells(part.categories, map(category_name, values))
        for value, cell in zip(values, cells, strict=True):
            if not cell >= 0:
                raise ValueError(
                    f"categories of feature {feature!r} include {value!r}, which is not one of "
                    f"{list(part.categories)[:10]}."
                )
        allowed[column] = tuple(int(cell) for cell in cells)
    return allowed
