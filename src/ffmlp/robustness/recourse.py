"""Changes of rows that people can make: the cheapest ones that give another, or a wanted, class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from time import perf_counter

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import Columns
from ffmlp.network.blobs import Blobs, feature_units
from ffmlp.network.network import Network
from ffmlp.robustness.bent_leads import BentLead, SoftLead, bent_lead
from ffmlp.robustness.cheapest_changes import CHEAPEST, Row, cheapest_change, searched_change
from ffmlp.robustness.limits import MOST_BENDS
from ffmlp.robustness.wishes import REACH, Choice, Wishes, allowed_moves
from ffmlp.words import class_name

# A wanted class leads by at least this, in log-odds or scores.
_MARGIN = 1e-6
# Digits of a number in a sentence.
_DIGITS = 6
# Blobs whose means are among the values that a search tries.
_STARTS = 12


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
    return [_of_row(network, blobs, row, units, wishes, n_answers, seconds) for row in cells]


def _of_row(
    network: Network,
    blobs: Blobs,
    cells: Floats,
    units: Floats,
    wishes: Wishes,
    n_answers: int,
    seconds: float,
) -> Recourse:
    own = int(network.classes(network.inputs(cells[None]))[0])
    if wishes.wanted == own:
        return Recourse((), f"The row is already predicted to be of class {network.labels[own]}.")
    row = Row(network, cells, units, allowed_moves(network.table, cells, units, wishes), wishes)
    found: list[Change] = []
    proved, stop = False, perf_counter() + seconds
    while len(found) < n_answers:
        forbidden = [frozenset(map(network.table.names.index, one.columns)) for one in found]
        share = (stop - perf_counter()) / (n_answers - len(found))
        answer, proved = _answer(row, blobs, own, forbidden, share)
        if answer is None:
            break
        found.append(answer)
    if found:
        fewer = len(found) < n_answers
        reason = f"No other change of different columns was found ({len(found)} of {n_answers})."
        return Recourse(tuple(found), reason if fewer else "")
    return Recourse((), _reason(row, blobs, own, proved, seconds))


def _answer(
    row: Row, blobs: Blobs, own: int, forbidden: list[frozenset[int]], seconds: float
) -> tuple[Change | None, bool]:
    """The cheapest change found, and whether a proof says that there is no cheaper one, or none."""
    network, wanted = row.network, row.wishes.wanted
    stop = perf_counter() + seconds

    def lead(cells: Floats) -> Floats:
        scores = network.stages.scores(network.hyperplanes.signed_responses(network.inputs(cells)))
        target = own if wanted is None else wanted
        others = scores.copy()
        others[:, target] = -np.inf
        ahead = scores[:, target] - others.max(axis=1)
        return -ahead - _MARGIN if wanted is None else ahead - _MARGIN

    best = searched_change(row, lead, forbidden, _starts(network, blobs, row.cells))
    least, lower = np.inf if best is None else row.cost(best), 0.0
    required = _requirements(network, own, wanted)
    is_small = bool(required) and len(network.hyperplanes) <= MOST_BENDS
    if is_small and row.moves:
        lowers = []
        for leads in required:
            shifted = [replace(one, offset=one.offset + _MARGIN) for one in leads]
            cheapest = cheapest_change(row, shifted, forbidden, least, stop - perf_counter())
            lowers.append(cheapest.lower)
            if cheapest.cells is not None and _is_as_wanted(network, cheapest.cells, own, wanted):
                cost = row.cost(cheapest.cells)
                if cost < least:
                    best, least = cheapest.cells, cost
        lower = min(lowers)
    all_values = all(not isinstance(move, Choice) or move.whole for move in row.moves.values())
    # Missing numbers are replaced by what the others say, hence by something else after a change.
    missing = np.isnan(row.cells[network.table.is_number]).any()
    imputed = bool(missing) and network.table.imputation is not None
    proved = is_small and all_values and not imputed and least <= lower * (1 + 2 * CHEAPEST)
    if best is None or not _is_as_wanted(network, best, own, wanted):
        return None, proved
    label = network.labels[int(network.classes(network.inputs(best[None]))[0])]
    changed = _changed(network.table, row.cells, best)
    return Change(changed, label, row.cost(best), bool(proved), best), proved


def _is_as_wanted(network: Network, cells: Floats, own: int, wanted: int | None) -> bool:
    label = int(network.classes(network.inputs(cells[None]))[0])
    return label != own if wanted is None else label == wanted


def _requirements(network: Network, own: int, wanted: int | None) -> list[list[BentLead]]:
    """Leads that must not be positive, all of a list; one of the lists is enough.

    There are none if the leads are not piecewise linear, with one bend for each hyperplane.
    """
    labels = range(len(network.labels))
    if wanted is None:
        pairs = [[(own, rival)] for rival in labels if rival != own]
    else:
        pairs = [[(label, wanted) for label in labels if label != wanted]]
    leads = [[bent_lead(network, *pair) for pair in some] for some in pairs]
    if any(lead is None or isinstance(lead, SoftLead) for some in leads for lead in some):
        return []
    return [[lead for lead in some if lead is not None] for some in leads]


def _starts(network: Network, blobs: Blobs, cells: Floats) -> Floats:
    """The means of some blobs as cells (k, M); categories as they are."""
    means = network.hyperplanes.unmapped(blobs.means)
    some = means[np.linspace(0, len(means) - 1, min(len(means), _STARTS)).astype(np.intp)]
    starts = np.tile(cells, (len(some), 1))
    table = network.table
    numbers = table.is_number
    starts[:, numbers] = some[:, table.firsts[numbers]]
    return starts


def _changed(
    table: Columns, before: Floats, after: Floats
) -> dict[str, tuple[float | str, float | str]]:
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    return {
        part.name: (part.value(before[column]), part.value(after[column]))
        for column, part in enumerate(table.parts)
        if not same[column]
    }


def _reason(row: Row, blobs: Blobs, own: int, proved: bool, seconds: float) -> str:
    """Why no change was found: the limits without which there is one."""
    network, wishes = row.network, row.wishes
    aim = "another class" if wishes.wanted is None else f"class {network.labels[wishes.wanted]}"
    found = "No change gives" if proved else "No change was found that gives"
    names, stop = [], perf_counter() + seconds
    relaxed = list(wishes.relaxed(network.table.names))
    for number, (limit, fewer) in enumerate(relaxed):
        moves = allowed_moves(network.table, row.cells, row.units, fewer)
        share = (stop - perf_counter()) / (len(relaxed) - number)
        answer, _ = _answer(replace(row, moves=moves, wishes=fewer), blobs, own, [], share)
        if answer is not None:
            names.append(limit)
    reach = f"with numbers within {REACH:g} standard deviations of the row"
    if len(names) == 1:
        return f"{found} {aim} within the limits. It is enough to drop this one: {names[0]}."
    if names:
        return f"{found} {aim} within the limits. It is enough to drop one of: {', '.join(names)}."
    if relaxed:
        return f"{found} {aim} within the limits, or without any one of them, {reach}."
    return f"{found} {aim}, {reach}."


def _outward(old: float | str, new: float | str) -> str:
    """A new value in few digits that is not nearer to the old one: nearer is another class."""
    if isinstance(old, str) or isinstance(new, str):
        return _text(new)
    exact = Decimal(new)
    step = Decimal(10) ** (exact.adjusted() - _DIGITS + 1) if new else Decimal(1)
    towards = ROUND_CEILING if new > old else ROUND_FLOOR
    return f"{float(exact.quantize(step, rounding=towards)):.{_DIGITS}g}"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
