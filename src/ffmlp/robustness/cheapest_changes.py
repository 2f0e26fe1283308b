"""The cheapest change of a row to a wanted class: a programme with a proof, a search for any network."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.network.network import Network
from ffmlp.robustness.bent_leads import BentLead, Track, track
from ffmlp.robustness.change_programme import (
    ERROR,
    SIZE,
    Programme,
    add_costs,
    cut_pieces,
    require_no_lead,
)
from ffmlp.robustness.wishes import Choice, Move, Wishes

# An answer is the cheapest if it costs at most this much more than the lower bound, relative to it.
CHEAPEST = 1e-5
_MOST_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class CheapestChange:
    """Cells (M,) of the cheapest change found, None if there is none, and a lower bound of the cost."""

    cells: Floats | None
    lower: float


@dataclass(frozen=True, eq=False)
class Row:
    """The cells (M,) of a row, the standard deviations (M,) of its numbers, and how cells may move."""

    network: Network
    cells: Floats
    units: Floats
    moves: dict[int, Move]
    wishes: Wishes

    def mapped(self, cells: Floats) -> Floats:
        """The input (k, N) of the hyperplanes for cells (k, M); missing numbers stay as they are."""
        inputs = np.array(self.network.table.encoded(cells), np.float64)
        filled = np.asarray(self.network.inputs(self.cells[None]), np.float64)
        inputs = np.where(np.isnan(inputs), filled, inputs)
        return np.asarray(self.network.hyperplanes.mapped(inputs), np.float64)

    def cost(self, cells: Floats) -> float:
        """The cost of changed cells (M,)."""
        total = 0.0
        for column, move in self.moves.items():
            if cells[column] == self.cells[column] or np.isnan(cells[column]):
                continue
            if isinstance(move, Choice):
                total += move.costs[np.flatnonzero(move.cells[1:] == cells[column])[0] + 1]
            else:
                change = abs(cells[column] - self.cells[column]) / self.units[column]
                total += self.wishes.costs[column] * change
        return float(total)


def cheapest_change(
    row: Row, leads: list[BentLead], forbidden: Collection[frozenset[int]], most: float, seconds: float
) -> CheapestChange:
    """The cheapest change, of at most a cost, at which no lead is positive.

    At least one column of each forbidden set stays as it is. The lower bound is infinite if there is no
    such change.
    """
    stop = perf_counter() + seconds
    cuts: dict[int, set[float]] = {column: set() for column in row.moves}
    best, cost, lower = None, most, 0.0
    for _ in range(_MOST_ROUNDS):
        seconds = stop - perf_counter()
        if seconds <= 0:
            break
        model = _Model(row, leads, cuts, cost)
        bound, found = model.solved(forbidden, seconds)
        lower = max(lower, min(bound, cost) if best is not None else bound)
        if found is None:
            break
        cells, refined = found
        if row.cost(cells) < cost * (1 + CHEAPEST):
            best, cost = cells, min(cost, row.cost(cells))
        if not refined or cost <= lower * (1 + CHEAPEST):
            break
    return CheapestChange(best, lower)


class _Model:
    """The programme of one round: tracks up to a cost, cut into pieces."""

    def __init__(
        self, row: Row, leads: list[BentLead], cuts: dict[int, set[float]], most: float
    ) -> None:
        self.row, self.cuts, self.most = row, cuts, most
        self.start = row.mapped(row.cells[None])[0]
        self.firsts = row.network.table.firsts
        self.leads = leads
        self.tracks: dict[int, Track] = {}
        self.choices: dict[int, tuple[slice, Floats]] = {}
        for column, move in row.moves.items():
            first = int(self.firsts[column])
            if isinstance(move, Choice):
                place = slice(first, first + row.network.table.parts[column].n_inputs)
                cells = np.tile(row.cells, (len(move.cells), 1))
                cells[:, column] = move.cells
                self.choices[column] = place, row.mapped(cells)[:, place] - self.start[place]
            else:
                radius = min(most / row.wishes.costs[column], 1e6)
                maps = row.network.hyperplanes.gaussianisation
                knots, scores = (
                    (np.zeros(0), np.zeros(0))
                    if maps is None
                    else (maps.knots[first], maps.scores[first])
                )
                self.tracks[column] = track(
                    float(row.cells[column]), row.units[column], move.low, move.high,
                    np.array([radius]), knots, scores,
                )  # fmt: skip

    def solved(
        self, forbidden: Collection[frozenset[int]], seconds: float
    ) -> tuple[float, tuple[Floats, bool] | None]:
        """A lower bound of the cost; the cells found, if any, and whether tracks were cut again."""
        programme, costs = Programme(), self.row.wishes.costs
        heights = [one.heights.max() for one in self.tracks.values()]
        unit = max([*heights, 1e-9]) / SIZE
        low, high = np.zeros(len(self.start)), np.zeros(len(self.start))
        for column, one in self.tracks.items():
            first = self.firsts[column]
            low[first], high[first] = one.values[[0, -1]] - self.start[first]
        for place, values in self.choices.values():
            low[place], high[place] = values.min(axis=0), values.max(axis=0)
        steps = np.maximum(np.maximum(high, -low), 1e-300) / SIZE
        moved = programme.add(low / steps, high / steps)
        sizes, chosen, changed = {}, {}, {}
        counts = self.row.wishes.max_changed is not None or bool(forbidden)
        for column, one in self.tracks.items():
            if len(one.values) < 2:
                continue
            first = self.firsts[column]
            (sizes[column],) = programme.add(0.0, one.heights.max() / unit, unit * costs[column])
            values = (one.values - self.start[first]) / steps[first]
            pieces = [(values[p], one.heights[p] / unit) for p in cut_pieces(one, self.cuts[column])]
            add_costs(programme, moved[first], sizes[column], pieces)
            if counts:
                (changed[column],) = programme.add(0.0, 1.0, whole=True)
                programme.at_most(0.0, (sizes[column], 1.0), (changed[column], -SIZE))
        for column, (place, values) in self.choices.items():
            move = self.row.moves[column]
            assert isinstance(move, Choice)
            chosen[column] = programme.add(np.zeros(len(move.cells)), 1.0, move.costs, whole=True)
            for sign in (1.0, -1.0):
                programme.at_most(sign, (chosen[column], sign))
                for i, j in enumerate(range(place.start, place.stop)):
                    programme.at_most(
                        0.0, (chosen[column], sign * values[:, i] / steps[j]), (moved[j], -sign)
                    )
            if counts:
                (changed[column],) = programme.add(0.0, 1.0, whole=True)
                programme.at_most(0.0, (chosen[column][1:], 1.0), (changed[column], -1.0))
        self._limit_changed(programme, changed, forbidden)
        for lead in self.leads:
            scaled = lead.by_steps(self.start, steps)
            require_no_lead(
                programme, moved, scaled, *self._ranges(lead, scaled, low / steps, high / steps)
            )
        outcome = programme.solved(seconds)
        if outcome.values is None:
            return outcome.bound, None
        return outcome.bound * (1 - ERROR), self._read(outcome.values, moved, sizes, chosen, steps, unit)

    def _limit_changed(
        self, programme: Programme, changed: dict[int, int], forbidden: Collection[frozenset[int]]
    ) -> None:
        if not changed:
            return
        if self.row.wishes.max_changed is not None:
            programme.at_most(self.row.wishes.max_changed, (np.array(list(changed.values())), 1.0))
        for columns in forbidden:
            programme.at_most(len(columns) - 1, (np.array([changed[c] for c in columns]), 1.0))

    def _ranges(
        self, lead: BentLead, scaled: BentLead, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """The least and the largest response (L,) that a change of the cost can cause."""
        least, most = scaled.ranges(low, high)
        rate = np.zeros(len(lead.bends))
        for column, one in self.tracks.items():
            weights = np.abs(lead.weights[:, self.firsts[column]])
            rate = np.maximum(rate, weights * one.speed / self.row.wishes.costs[column])
        sums = 0.0
        for column, (place, values) in self.choices.items():
            move = self.row.moves[column]
            assert isinstance(move, Choice)
            sums = sums + np.abs(lead.weights[:, place] @ values.T).max(axis=1, initial=0.0)
        # Numbers change within the cost; choices may all change.
        reach = rate * self.most + sums if np.isfinite(self.most) else np.inf
        return np.maximum(least, scaled.biases - reach), np.minimum(most, scaled.biases + reach)

    def _read(
        self,
        values: Floats,
        moved: Indices,
        sizes: dict[int, int],
        chosen: dict[int, Indices],
        steps: Floats,
        unit: float,
    ) -> tuple[Floats, bool]:
        """The cells of a solution; tracks whose cost is too low there are cut around it."""
        cells, refined = self.row.cells.copy(), False
        for column, size in sizes.items():
            one, first = self.tracks[column], self.firsts[column]
            segment, change = one.place(self.start[first] + steps[first] * values[moved[first]])
            if abs(change) <= 1e-9 * max(1.0, unit * SIZE):
                continue
            move = self.row.moves[column]
            assert not isinstance(move, Choice)
            cell = self.row.cells[column] + change * self.row.units[column]
            cells[column] = min(max(cell, move.low), move.high)
            if abs(change) - unit * values[size] > 1e-8 * unit * SIZE:
                ends = set(one.changes[[segment, segment + 1]].tolist())
                refined |= not ends <= self.cuts[column]
                self.cuts[column] |= ends
        for column, variables in chosen.items():
            move = self.row.moves[column]
            assert isinstance(move, Choice)
            cells[column] = move.cells[int(np.argmax(values[variables]))]
        return cells, refined


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
