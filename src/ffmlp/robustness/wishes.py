"""What a person allows and wants of a change of a row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn, Columns, category_cells, category_name
from ffmlp.robustness.limits import checked_bounds, feature_number, feature_numbers

# Numbers change by at most this many standard deviations.
REACH = 10.0
# An integer column with more values within its limits is searched at this many of them.
MOST_VALUES = 400


@dataclass(frozen=True, eq=False)
class Wishes:
    """Limits of changes, by the number of the column.

    ``costs`` (M,) are those of one standard deviation of a number and of another category.
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
    """A cell may be one of some values (k,) at costs (k,); the first is the present one.

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
    whole = len(values) <= MOST_VALUES
    if not whole:
        near = values[np.argsort(np.abs(values - cell), kind="stable")[: MOST_VALUES // 2]]
        spread = values[np.linspace(0, len(values) - 1, MOST_VALUES // 2).astype(np.intp)]
        values = np.union1d(near, spread)
    values = np.append(cell, values)
    return Choice(values, cost * np.abs(values - cell) / unit, whole)


def checked_wishes(
    table: Columns,
    cells: Floats,
    labels: NDArray,
    *,
    wanted: Any,
    frozen: Sequence[int | str],
    bounds: Mapping[int | str, tuple[float | None, float | None]] | None,
    rising: Sequence[int | str],
    falling: Sequence[int | str],
    integer: Sequence[int | str],
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
        _checked_costs(table, _mapping("costs", costs)),
        None if wanted is None else labels.tolist().index(wanted),
        _checked_columns(table, "frozen", frozen),
        _checked_limits(table, cells, _mapping("bounds", bounds)),
        _checked_columns(table, "rising", rising),
        _checked_columns(table, "falling", falling),
        _checked_columns(table, "integer", integer),
        _checked_categories(table, _mapping("categories", categories)),
        max_changed,
    )


def _mapping(name: str, given: Any) -> Mapping[int | str, Any]:
    if not isinstance(given, Mapping | None):
        raise ValueError(f"{name} must be a mapping of columns, such as {{0: …}}, got {given!r}.")
    return given or {}


def _checked_columns(table: Columns, name: str, given: Sequence[int | str]) -> frozenset[int]:
    """The numbers of columns that a limit is about; all but ``frozen`` are for numbers."""
    found = feature_numbers(table.names, name, given)
    for column in found:
        if name != "frozen" and not table.is_number[column]:
            raise ValueError(
                f"{name} is for numbers, and feature {table.names[column]!r} is categorical. Limit it "
                "by categories= or frozen=."
            )
    return found


def _checked_costs(table: Columns, costs: Mapping[int | str, Any]) -> Floats:
    """The cost (M,) of each column."""
    factors = np.ones(len(table))
    for feature, cost in costs.items():
        if not (isinstance(cost, Real) and 0 < float(cost) < np.inf):
            raise ValueError(f"costs[{feature!r}] must be a positive number, got {cost!r}.")
        factors[feature_number(table.names, feature)] = cost
    return factors


def _checked_limits(
    table: Columns, cells: Floats, bounds: Mapping[int | str, Any]
) -> dict[int, tuple[float, float]]:
    """The bounds of each column that has some, which the rows must keep."""
    limits = {}
    for feature, limit in bounds.items():
        column = feature_number(table.names, feature)
        if not table.is_number[column]:
            raise ValueError(
                f"feature {feature!r} is categorical. Bounds are for numbers: limit it by categories=."
            )
        limits[column] = checked_bounds(feature, limit, cells[:, column])
    return limits


def _checked_categories(
    table: Columns, categories: Mapping[int | str, Sequence[Any]]
) -> dict[int, tuple[int, ...]]:
    """The numbers of the allowed categories of each column."""
    allowed = {}
    for feature, given in categories.items():
        column = feature_number(table.names, feature)
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
