"""A search for cheap changes of a row that any network decides as wanted. Nothing is proved here.

Columns are changed one after the other, always to the value that raises the wanted class most for its
cost; several rows of such changes are followed at once. Then changes that are not needed are undone, and
numbers go back as far as the class allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from ffmlp.arrays import Flags, Floats
from ffmlp.robustness.recourse_programme import Row
from ffmlp.robustness.wishes import Choice

# Rows of changes that are followed at once, and values of a number that are tried.
_WIDTH, _VALUES = 8, 24
_MOST_CHANGED = 12
_BISECTIONS = 40

# The lead (k,) of the wanted class at cells (k, M), positive where the decision is as wanted.
Lead = Callable[[Floats], Floats]


def searched_change(
    row: Row, lead: Lead, forbidden: Collection[frozenset[int]], starts: Floats
) -> Floats | None:
    """The cheapest cells (M,) found with a positive lead; None if there are none.

    The values of starts (k, M) are among those that are tried.
    """
    values = {column: _values(row, column, starts) for column in row.moves}
    most = min(row.wishes.max_changed or _MOST_CHANGED, len(row.moves))
    beam, best, least = row.cells[None], None, np.inf
    for _ in range(most):
        nearby = _neighbours(row, beam, values, forbidden)
        if not len(nearby):
            break
        leads = lead(nearby)
        for cells in nearby[leads > 0][:_WIDTH]:
            reduced = _reduced(row, lead, cells)
            if row.cost(reduced) < least:
                best, least = reduced, row.cost(reduced)
        costs = np.array([row.cost(cells) for cells in nearby])
        start = float(lead(row.cells[None])[0])
        gain = (np.minimum(leads, 0.0) - start) / np.maximum(costs, 1e-9)
        # Half of them by what a unit of cost gains, half by the lead.
        order = np.concatenate([np.argsort(-gain)[: _WIDTH // 2], np.argsort(-leads)[: _WIDTH // 2]])
        beam = nearby[np.unique(order)]
    return best


def _values(row: Row, column: int, starts: Floats) -> Floats:
    """The values that are tried in a column."""
    move = row.moves[column]
    if isinstance(move, Choice):
        some = np.linspace(0, len(move.cells) - 1, min(len(move.cells), 4 * _VALUES))
        return move.cells[np.unique(some.astype(np.intp))]
    here, unit = row.cells[column], row.units[column]
    steps = unit * np.geomspace(0.05, 10.0, _VALUES // 2)
    values = np.concatenate([here - steps, here + steps, starts[:, column], [move.low, move.high]])
    return np.unique(values[(values >= move.low) & (values <= move.high)])


def _neighbours(
    row: Row, beam: Floats, values: dict[int, Floats], forbidden: Collection[frozenset[int]]
) -> Floats:
    """All rows that differ from one of the beam in one column and keep the limits; cheapest first."""
    found = []
    for cells in beam:
        for column, tried in values.items():
            some = np.tile(cells, (len(tried), 1))
            some[:, column] = tried
            found.append(some)
    rows = np.vstack(found)
    changed = (rows != row.cells) & ~(np.isnan(rows) & np.isnan(row.cells))
    keep = changed.any(axis=1)
    if row.wishes.max_changed is not None:
        keep &= changed.sum(axis=1) <= row.wishes.max_changed
    for columns in forbidden:
        keep &= ~changed[:, sorted(columns)].all(axis=1)
    rows = rows[keep]
    costs = np.array([row.cost(cells) for cells in rows])
    return rows[np.argsort(costs, kind="stable")]


def _reduced(row: Row, lead: Lead, cells: Floats) -> Floats:
    """The cells with every change undone that is not needed, numbers by bisection."""
    cells = cells.copy()
    by_cost = sorted(row.moves, key=lambda column: -_cost_of(row, cells, column))
    for column in by_cost:
        if _is_same(cells[column], row.cells[column]):
            continue
        without = cells.copy()
        without[column] = row.cells[column]
        if lead(without[None])[0] > 0:
            cells = without
        elif not isinstance(row.moves[column], Choice):
            cells[column] = _bisected(lead, cells, column, row.cells[column])
    return cells


def _cost_of(row: Row, cells: Floats, column: int) -> float:
    alone = row.cells.copy()
    alone[column] = cells[column]
    return row.cost(alone)


def _is_same(one: float, other: float) -> Flags:
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _bisected(lead: Lead, cells: Floats, column: int, back: float) -> float:
    """The value of a number nearest to where it was, on the way there, with a positive lead."""
    near, far = back, float(cells[column])
    for _ in range(_BISECTIONS):
        trial = cells.copy()
        trial[column] = 0.5 * (near + far)
        if lead(trial[None])[0] > 0:
            far = trial[column]
        else:
            near = trial[column]
    return far
