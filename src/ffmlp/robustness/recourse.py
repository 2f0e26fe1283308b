"""Recourse: the cheapest changes of a row that give another, or a wanted, class.

A mixed-integer programme finds the cheapest change of a small readout, with a proof. A search finds a
change of any network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property
from time import perf_counter

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.network.blobs import Blobs, feature_units
from ffmlp.network.network import Network
from ffmlp.robustness.bent_leads import (
    ERROR,
    MOST_BENDS,
    SIZE,
    BentLead,
    Programme,
    SoftLead,
    Track,
    add_costs,
    bent_lead,
    knots_and_scores,
    require_no_lead,
    track,
)
from ffmlp.robustness.limits import REACH, Choice, Move, Wishes, allowed_moves
from ffmlp.words import class_name

# A wanted class leads by at least this, in log-odds or scores.
_MARGIN = 1e-6
# Digits of a number in a sentence.
_DIGITS = 6
# Blobs whose means are among the values that a search tries.
_STARTS = 12
# An answer is the cheapest if it costs at most this much more than the lower bound, relative to it.
_CHEAPEST = 1e-5
_MOST_ROUNDS = 60
# Rows of changes that a search follows at once, and values of a number that it tries.
_WIDTH, _VALUES = 8, 24
_MOST_CHANGED = 12
_BISECTIONS = 40

# Columns of which at least one must stay as it is, for each earlier answer.
Forbidden = Collection[frozenset[int]]


@dataclass(frozen=True, eq=False)
class Change:
    """One change of a row.

    Attributes
    ----------
    columns : dict of str to (value, value)
        What each changed column held and what it has to hold.
    label : object
        The class that is then predicted.
    cost : float
        Standard deviations of the numbers and one for each category, times the costs of the columns.
    cheapest : bool
        Whether no change that keeps the limits costs less (proved).
    cells : ndarray of shape (M,)
        The changed row: numbers, and the numbers of categories.
    """

    columns: dict[str, tuple[float | str, float | str]]
    label: object
    cost: float
    cheapest: bool
    cells: Floats

    def __str__(self) -> str:
        steps = (
            f"{name} from {_text(old)} to {_outward(old, new)}"
            for name, (old, new) in self.columns.items()
        )
        proof = "no cheaper change exists (proved)" if self.cheapest else "the cheapest change found"
        return f"{class_name(self.label)}: {', '.join(steps)}. Cost {self.cost:.4g}; {proof}."


@dataclass(frozen=True, eq=False)
class Recourse:
    """The changes of one row; ``reason`` says why there are none or fewer than asked for."""

    changes: tuple[Change, ...]
    reason: str = ""

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, number: int) -> Change:
        return self.changes[number]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.changes), *([self.reason] if self.reason else [])])


def recourse(
    network: Network, blobs: Blobs, cells: Floats, wishes: Wishes, n_answers: int, seconds: float
) -> list[Recourse]:
    """The changes of each row of cells (n, M)."""
    units = feature_units(blobs, network.hyperplanes)[network.table.firsts]
    starts = network.hyperplanes.unmapped(blobs.means)
    starts = starts[np.linspace(0, len(starts) - 1, min(len(starts), _STARTS)).astype(np.intp)]
    return [
        _recourse_of(_Row(network, row, int(winner), units, starts, wishes), n_answers, seconds)
        for row, winner in zip(cells, network.classes(network.inputs(cells)), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Row:
    """The cells (M,) of a row, and all that limits their change.

    ``units`` (M,) are the standard deviations of its numbers, ``starts`` (k, N) inputs of the network
    whose numbers a search tries.
    """

    network: Network
    cells: Floats
    winner: int
    units: Floats
    starts: Floats
    wishes: Wishes

    @cached_property
    def moves(self) -> dict[int, Move]:
        """How the cells may move, by column."""
        return allowed_moves(self.network.table, self.cells, self.units, self.wishes)

    def mapped(self, cells: Floats) -> Floats:
        """The input (k, N) of the hyperplanes for cells (k, M); missing numbers stay as they are."""
        inputs = np.array(self.network.table.encoded(cells), np.float64)
        filled = np.asarray(self.network.inputs(self.cells[None]), np.float64)
        inputs = np.where(np.isnan(inputs), filled, inputs)
        return np.asarray(self.network.hyperplanes.mapped(inputs), np.float64)

    def label(self, cells: Floats) -> int:
        """The class of changed cells (M,)."""
        return int(self.network.classes(self.network.inputs(cells[None]))[0])

    def is_as_wanted(self, cells: Floats) -> bool:
        """Whether the class of changed cells (M,) is the wanted one, or another one if none is."""
        label, wanted = self.label(cells), self.wishes.wanted
        return label != self.winner if wanted is None else label == wanted

    def lead(self, cells: Floats) -> Floats:
        """The lead (k,) of the wanted class at cells (k, M), positive where the class is as wanted."""
        network, wanted = self.network, self.wishes.wanted
        scores = network.stages.scores(network.hyperplanes.signed_responses(network.inputs(cells)))
        target = self.winner if wanted is None else wanted
        others = scores.copy()
        others[:, target] = -np.inf
        ahead = scores[:, target] - others.max(axis=1)
        return -ahead - _MARGIN if wanted is None else ahead - _MARGIN

    def changed(self, cells: Floats) -> Flags:
        """Whether cells (..., M) differ from the row."""
        return (cells != self.cells) & ~(np.isnan(cells) & np.isnan(self.cells))

    def cost(self, cells: Floats) -> float:
        """The cost of changed cells (M,)."""
        return sum(self.costs(cells).values())

    def costs(self, cells: Floats) -> dict[int, float]:
        """The cost of each cell that is changed, by column."""
        costs = {}
        for column, move in self.moves.items():
            if cells[column] == self.cells[column] or np.isnan(cells[column]):
                continue
            if isinstance(move, Choice):
                chosen = np.flatnonzero(move.cells[1:] == cells[column])[0] + 1
                costs[column] = float(move.costs[chosen])
            else:
                change = abs(cells[column] - self.cells[column]) / self.units[column]
                costs[column] = float(self.wishes.costs[column] * change)
        return costs


def _recourse_of(row: _Row, n_answers: int, seconds: float) -> Recourse:
    network, wanted = row.network, row.wishes.wanted
    if wanted == row.winner:
        label = network.labels[row.winner]
        return Recourse((), f"The row is already predicted to be of class {label}.")
    answers: list[Change] = []
    proved, stop = False, perf_counter() + seconds
    while len(answers) < n_answers:
        forbidden = [frozenset(map(network.table.names.index, each.columns)) for each in answers]
        share = (stop - perf_counter()) / (n_answers - len(answers))
        answer, proved = _answer(row, forbidden, share)
        if answer is None:
            break
        answers.append(answer)
    if answers:
        fewer = len(answers) < n_answers
        reason = f"No other change of different columns was found ({len(answers)} of {n_answers})."
        return Recourse(tuple(answers), reason if fewer else "")
    return Recourse((), _reason(row, proved, seconds))


def _answer(row: _Row, forbidden: Forbidden, seconds: float) -> tuple[Change | None, bool]:
    """The cheapest change found, and whether a proof says that there is no cheaper one, or none."""
    network, stop = row.network, perf_counter() + seconds
    best = _searched_change(row, forbidden)
    least, lower = np.inf if best is None else row.cost(best), 0.0
    required = _requirements(row)
    is_small = bool(required) and len(network.hyperplanes) <= MOST_BENDS
    if is_small and row.moves:
        lowers = []
        for leads in required:
            cells, bound = _cheapest_change(row, leads, forbidden, least, stop - perf_counter())
            lowers.append(bound)
            if cells is not None and row.is_as_wanted(cells) and row.cost(cells) < least:
                best, least = cells, row.cost(cells)
        lower = min(lowers)
    all_values = all(not isinstance(move, Choice) or move.whole for move in row.moves.values())
    # Missing numbers are replaced by what the others say, hence by something else after a change.
    missing = np.isnan(row.cells[network.table.is_number]).any()
    imputed = bool(missing) and network.table.imputation is not None
    proved = is_small and all_values and not imputed and least <= lower * (1 + 2 * _CHEAPEST)
    if best is None or not row.is_as_wanted(best):
        return None, proved
    changed = {
        part.name: (part.value(row.cells[column]), part.value(best[column]))
        for column, part in enumerate(network.table.parts)
        if row.changed(best)[column]
    }
    label = network.labels[row.label(best)]
    return Change(changed, label, row.cost(best), bool(proved), best), proved


def _requirements(row: _Row) -> list[list[BentLead]]:
    """Leads that must not be positive, all of a list; one of the lists is enough.

    There are none if the leads are not piecewise linear, with one bend for each hyperplane.
    """
    labels, wanted = range(len(row.network.labels)), row.wishes.wanted
    if wanted is None:
        pairs = [[(row.winner, rival)] for rival in labels if rival != row.winner]
    else:
        pairs = [[(label, wanted) for label in labels if label != wanted]]
    required = []
    for some in pairs:
        leads = [bent_lead(row.network, *pair) for pair in some]
        exact = [lead for lead in leads if lead is not None and not isinstance(lead, SoftLead)]
        if len(exact) < len(leads):
            return []
        required.append([replace(lead, offset=lead.offset + _MARGIN) for lead in exact])
    return required


def _reason(row: _Row, proved: bool, seconds: float) -> str:
    """Why no change was found: the limits without which there is one."""
    network, wishes = row.network, row.wishes
    aim = "another class" if wishes.wanted is None else f"class {network.labels[wishes.wanted]}"
    start = f"No change gives {aim}" if proved else f"No change was found that gives {aim}"
    names, stop = [], perf_counter() + seconds
    relaxed = list(wishes.relaxed(network.table.names))
    for number, (limit, fewer) in enumerate(relaxed):
        share = (stop - perf_counter()) / (len(relaxed) - number)
        answer, _ = _answer(replace(row, wishes=fewer), [], share)
        if answer is not None:
            names.append(limit)
    reach = f"with numbers within {REACH:g} standard deviations of the row"
    if len(names) == 1:
        return f"{start} within the limits. It is enough to drop this one: {names[0]}."
    if names:
        return f"{start} within the limits. It is enough to drop one of: {', '.join(names)}."
    if relaxed:
        return f"{start} within the limits, or without any one of them, {reach}."
    return f"{start}, {reach}."


def _outward(old: float | str, new: float | str) -> str:
    """A new value in few digits that is not nearer to the old one: nearer is another class."""
    if isinstance(old, str) or isinstance(new, str):
        return _text(new)
    exact = Decimal(new)
    step = Decimal(10) ** (exact.adjusted() - _DIGITS + 1) if new else Decimal(1)
    towards = ROUND_CEILING if new > old else ROUND_FLOOR
    return f"{float(exact.quantize(step, rounding=towards)):.{_DIGITS}g}"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.{_DIGITS}g}"


def _cheapest_change(
    row: _Row, leads: list[BentLead], forbidden: Forbidden, most: float, seconds: float
) -> tuple[Floats | None, float]:
    """The cells (M,) of the cheapest change, of at most a cost, at which no lead is positive.

    At least one column of each forbidden set stays as it is. The cells are None if no such change was
    found. The second result is a lower bound of the cost, infinite if there is no such change.
    """
    stop = perf_counter() + seconds
    cuts: dict[int, set[float]] = {column: set() for column in row.moves}
    best, cost, lower = None, most, 0.0
    for _ in range(_MOST_ROUNDS):
        seconds = stop - perf_counter()
        if seconds <= 0:
            break
        bound, cells, refined = _Round(row, cuts, cost).solved(leads, forbidden, seconds)
        lower = max(lower, min(bound, cost) if best is not None else bound)
        if cells is None:
            break
        if row.cost(cells) < cost * (1 + _CHEAPEST):
            best, cost = cells, min(cost, row.cost(cells))
        if not refined or cost <= lower * (1 + _CHEAPEST):
            break
    return best, lower


class _Round:
    """The programme of one round: tracks up to a cost, cut into pieces; choices by binary variables.

    All variables are steps from the row's mapped features, in units that make them of the same size.
    """

    def __init__(self, row: _Row, cuts: dict[int, set[float]], most: float) -> None:
        self.row, self.cuts, self.most = row, cuts, most
        self.costs, self.firsts = row.wishes.costs, row.network.table.firsts
        self.start = row.mapped(row.cells[None])[0]
        self.tracks: dict[int, Track] = {}
        self.choices: dict[int, tuple[Choice, slice, Floats]] = {}
        self.low, self.high = np.zeros(len(self.start)), np.zeros(len(self.start))
        for column, move in row.moves.items():
            first = int(self.firsts[column])
            if isinstance(move, Choice):
                inputs = slice(first, first + row.network.table.parts[column].n_inputs)
                cells = np.tile(row.cells, (len(move.cells), 1))
                cells[:, column] = move.cells
                changes = row.mapped(cells)[:, inputs] - self.start[inputs]
                self.choices[column] = move, inputs, changes
                self.low[inputs], self.high[inputs] = changes.min(axis=0), changes.max(axis=0)
            else:
                radius = np.array([min(most / self.costs[column], 1e6)])
                path = self.tracks[column] = track(
                    float(row.cells[column]), row.units[column], move.low, move.high, radius,
                    *knots_and_scores(row.network.hyperplanes, first),
                )  # fmt: skip
                self.low[first], self.high[first] = path.values[[0, -1]] - self.start[first]
        self.steps = np.maximum(np.maximum(self.high, -self.low), 1e-300) / SIZE
        longest = (np.abs(path.changes).max() for path in self.tracks.values())
        self.unit = max([1e-9, *longest]) / SIZE

    def solved(
        self, leads: list[BentLead], forbidden: Forbidden, seconds: float
    ) -> tuple[float, Floats | None, bool]:
        """A lower bound of the cost; the cells found, if any, and whether tracks were cut again."""
        programme = Programme()
        low, high = self.low / self.steps, self.high / self.steps
        moved = programme.add(low, high)
        sizes, chosen = self._sizes(programme, moved), self._chosen(programme, moved)
        self._limit_columns(programme, sizes, chosen, forbidden)
        for lead in leads:
            scaled = lead.by_steps(self.start, self.steps)
            require_no_lead(programme, moved, scaled, *self._ranges(lead, scaled, low, high))
        bound, values = programme.solved(seconds)
        if values is None:
            return bound, None, False
        return bound * (1 - ERROR), *self._read(values, moved, sizes, chosen)

    def _sizes(self, programme: Programme, moved: Indices) -> dict[int, int]:
        """The variable of the size of each number's change."""
        sizes = {}
        for column, path in self.tracks.items():
            if len(path.values) < 2:
                continue
            first, cost = self.firsts[column], self.unit * self.costs[column]
            heights = np.abs(path.changes) / self.unit
            (sizes[column],) = programme.add(0.0, heights.max(), cost)
            values = (path.values - self.start[first]) / self.steps[first]
            pieces = [(values[piece], heights[piece]) for piece in path.pieces(self.cuts[column])]
            add_costs(programme, moved[first], sizes[column], pieces)
        return sizes

    def _chosen(self, programme: Programme, moved: Indices) -> dict[int, Indices]:
        """The binary variables of each choice's values."""
        chosen = {}
        for column, (move, inputs, changes) in self.choices.items():
            zeros = np.zeros(len(move.cells))
            picked = chosen[column] = programme.add(zeros, 1.0, move.costs, whole=True)
            for sign in (1.0, -1.0):
                programme.at_most(sign, (picked, sign))
                for j, change in zip(range(inputs.start, inputs.stop), changes.T, strict=True):
                    programme.at_most(0.0, (picked, sign * change / self.steps[j]), (moved[j], -sign))
        return chosen

    def _limit_columns(
        self,
        programme: Programme,
        sizes: dict[int, int],
        chosen: dict[int, Indices],
        forbidden: Forbidden,
    ) -> None:
        """Require that few columns change, and not all columns of a forbidden set."""
        most = self.row.wishes.max_changed
        if most is None and not forbidden:
            return
        changed = {}
        for column, size in sizes.items():
            (changed[column],) = programme.add(0.0, 1.0, whole=True)
            programme.at_most(0.0, (size, 1.0), (changed[column], -SIZE))
        for column, picked in chosen.items():
            (changed[column],) = programme.add(0.0, 1.0, whole=True)
            programme.at_most(0.0, (picked[1:], 1.0), (changed[column], -1.0))
        if changed and most is not None:
            programme.at_most(most, (np.array(list(changed.values())), 1.0))
        for columns in forbidden if changed else ():
            programme.at_most(len(columns) - 1, (np.array([changed[c] for c in columns]), 1.0))

    def _ranges(
        self, lead: BentLead, scaled: BentLead, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """The least and the largest response (L,) that a change of the cost can cause."""
        least, most = scaled.ranges(low, high)
        rate = np.zeros(len(lead.bends))
        for column, path in self.tracks.items():
            weights = np.abs(lead.weights[:, self.firsts[column]])
            rate = np.maximum(rate, weights * path.speed / self.costs[column])
        sums = 0.0
        for _, inputs, changes in self.choices.values():
            sums = sums + np.abs(lead.weights[:, inputs] @ changes.T).max(axis=1, initial=0.0)
        # Numbers change within the cost; choices may all change.
        reach = rate * self.most + sums if np.isfinite(self.most) else np.inf
        return np.maximum(least, scaled.biases - reach), np.minimum(most, scaled.biases + reach)

    def _read(
        self, values: Floats, moved: Indices, sizes: dict[int, int], chosen: dict[int, Indices]
    ) -> tuple[Floats, bool]:
        """The cells of a solution; tracks whose cost is too low there are cut around it."""
        row, cells, refined = self.row, self.row.cells.copy(), False
        longest = self.unit * SIZE
        for column, size in sizes.items():
            path, first = self.tracks[column], self.firsts[column]
            segment, change = path.place(self.start[first] + self.steps[first] * values[moved[first]])
            if abs(change) <= 1e-9 * max(1.0, longest):
                continue
            move = row.moves[column]
            assert not isinstance(move, Choice)
            cells[column] = np.clip(row.cells[column] + change * row.units[column], move.low, move.high)
            if abs(change) - self.unit * values[size] > 1e-8 * longest:
                refined |= path.cut_around(segment, self.cuts[column])
        for column, picked in chosen.items():
            cells[column] = self.choices[column][0].cells[int(np.argmax(values[picked]))]
        return cells, refined


def _searched_change(row: _Row, forbidden: Forbidden) -> Floats | None:
    """The cheapest cells (M,) found whose class is as wanted; None if there are none."""
    values = {column: _values(row, column) for column in row.moves}
    most = min(row.wishes.max_changed or _MOST_CHANGED, len(row.moves))
    beam, best, least = row.cells[None], None, np.inf
    for _ in range(most):
        nearby = _neighbours(row, beam, values, forbidden)
        if not len(nearby):
            break
        leads = row.lead(nearby)
        for cells in nearby[leads > 0][:_WIDTH]:
            reduced = _reduced(row, cells)
            if row.cost(reduced) < least:
                best, least = reduced, row.cost(reduced)
        costs = np.array([row.cost(cells) for cells in nearby])
        start = float(row.lead(row.cells[None])[0])
        gain = (np.minimum(leads, 0.0) - start) / np.maximum(costs, 1e-9)
        # Half of them by what a unit of cost gains, half by the lead.
        order = np.concatenate([np.argsort(-gain)[: _WIDTH // 2], np.argsort(-leads)[: _WIDTH // 2]])
        beam = nearby[np.unique(order)]
    return best


def _values(row: _Row, column: int) -> Floats:
    """The values that are tried in a column."""
    move = row.moves[column]
    if isinstance(move, Choice):
        some = np.linspace(0, len(move.cells) - 1, min(len(move.cells), 4 * _VALUES))
        return move.cells[np.unique(some.astype(np.intp))]
    here, starts = row.cells[column], row.starts[:, row.network.table.firsts[column]]
    steps = row.units[column] * np.geomspace(0.05, 10.0, _VALUES // 2)
    values = np.concatenate([here - steps, here + steps, starts, [move.low, move.high]])
    return np.unique(values[(values >= move.low) & (values <= move.high)])


def _neighbours(row: _Row, beam: Floats, values: dict[int, Floats], forbidden: Forbidden) -> Floats:
    """All rows that differ from a row of the beam in one column and keep the limits; cheapest first."""
    tried = np.concatenate(list(values.values()))
    columns = np.repeat(list(values), list(map(len, values.values())))
    rows = np.repeat(beam, len(tried), axis=0)
    rows[np.arange(len(rows)), np.tile(columns, len(beam))] = np.tile(tried, len(beam))
    changed = row.changed(rows)
    keep = changed.any(axis=1)
    if row.wishes.max_changed is not None:
        keep &= changed.sum(axis=1) <= row.wishes.max_changed
    for some in forbidden:
        keep &= ~changed[:, sorted(some)].all(axis=1)
    rows = rows[keep]
    costs = np.array([row.cost(cells) for cells in rows])
    return rows[np.argsort(costs, kind="stable")]


def _reduced(row: _Row, cells: Floats) -> Floats:
    """The cells with every change undone that is not needed, dearest first, numbers by bisection."""
    cells, costs = cells.copy(), row.costs(cells)
    for column in sorted(row.moves, key=lambda column: -costs.get(column, 0.0)):
        if not row.changed(cells)[column]:
            continue
        without = cells.copy()
        without[column] = row.cells[column]
        if row.lead(without[None])[0] > 0:
            cells = without
        elif not isinstance(row.moves[column], Choice):
            cells[column] = _bisected(row.lead, cells, column, row.cells[column])
    return cells


def _bisected(lead: Callable[[Floats], Floats], cells: Floats, column: int, back: float) -> float:
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
