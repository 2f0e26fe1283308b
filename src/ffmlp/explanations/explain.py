"""Explanations of predictions: the hyperplanes that decide and the features behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, without_rounding
from ffmlp.explanations.explanation import Counterfactual, Driver, Explanation, Margin, Place, RegionPart
from ffmlp.explanations.margins import crossings, nearest_blobs, nearest_of_class, response_spreads
from ffmlp.explanations.shapley import region_shapley
from ffmlp.extras import imported
from ffmlp.markup import html_table
from ffmlp.model.blobs import Blobs, feature_units
from ffmlp.model.columns import NumberColumn
from ffmlp.model.network import Network
from ffmlp.model.stages import Places
from ffmlp.robustness.distance import Robustness
from ffmlp.words import counted

# A sample is far from all training samples if it is outside of this share of its nearest blob.
_FAR = 0.999
# Samples that are shown in a notebook.
_MAX_ROWS = 10
# Regions that are named for each sample.
_MAX_REGIONS = 10
# The rival of a sample if no other class can be predicted.
_NO_RIVAL = -1


@dataclass(frozen=True, eq=False)
class Explanations:
    """Explanations of predictions: arrays for all samples, an `Explanation` for each.

    ``explanations[i]`` explains sample i; ``print(explanations)`` prints a page for each;
    ``to_frame()`` has a row for each. Classes are indices into ``network.labels``.

    Attributes
    ----------
    network : Network
    blobs : Blobs
    cells : ndarray of shape (n, M)
        The table: numbers, numbers of categories, NaN for missing cells.
    samples : ndarray of shape (n, N)
        The inputs of the network for these cells.
    predicted, rivals : ndarray of shape (n,)
        The predicted class and the next best one, -1 if there is none.
    probabilities : ndarray of shape (n, C)
    leads, rest : ndarray of shape (n,)
        ``leads == contributions.sum(axis=1) + rest``.
    regions : ndarray of shape (n,)
        The part of ``rest`` that is due to regions beside a readout; 0 if there are none.
    responses, deviations, contributions : ndarray of shape (n, L)
        Signed response of each hyperplane, the same in standard deviations, and its contribution to
        the lead.
    places : Places
        The region or the nearest blob of each sample (``places.numbers``), and whether the sample is
        ``places.unseen``: in a region without training samples, or farther from its nearest blob than
        99.9 % of that Gaussian.
    robustness : Robustness or None
        The counterfactuals.
    """

    network: Network
    blobs: Blobs
    cells: Floats
    samples: Floats
    predicted: Indices
    rivals: Indices
    probabilities: Floats
    leads: Floats
    rest: Floats
    regions: Floats
    responses: Floats
    deviations: Floats
    contributions: Floats
    places: Places
    robustness: Robustness | None = None

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"Explanations({counted(len(self), 'sample')}, {self.network!r})"

    def __str__(self) -> str:
        return ("\n" + 80 * "─" + "\n").join(map(str, self))

    def _repr_html_(self) -> str:
        header = ("", "class", "probability", "next_class", "probability", "lead")
        rows = [
            (f"{number}", f"{one.label}", f"{one.probability:.3f}", f"{one.rival}",
             f"{one.rival_probability:.3f}", f"{one.lead:+.2f}")
            for number, one in zip(range(_MAX_ROWS), self, strict=False)
        ]  # fmt: skip
        more = len(self) - len(rows)
        return html_table(header, rows) + (f"<p>… and {more} more</p>" if more else "")

    def __getitem__(self, number: int) -> Explanation:
        number = range(len(self))[index(number)]
        labels, probability = self.network.labels.tolist(), self.probabilities[number]
        winner, rival = self.predicted[number], self.rivals[number]
        parts = self._parts(number)
        ahead = -without_rounding(np.abs(self.contributions[number]))
        order = np.lexsort([np.abs(self.deviations[number]), ahead])
        return Explanation(
            label=labels[winner],
            probability=float(probability[winner]),
            rival=None if rival == _NO_RIVAL else labels[rival],
            rival_probability=0.0 if rival == _NO_RIVAL else float(probability[rival]),
            lead=float(self.leads[number]),
            rest=float(self.rest[number]),
            place=self._place(number),
            margins=tuple(self._margin(number, hyperplane, parts) for hyperplane in order),
            features=() if rival == _NO_RIVAL else self._features(number),
            counterfactual=self._counterfactual(number),
            searched=self.robustness is not None,
            regions=self._regions(number),
        )

    @cached_property
    def _crossings(self) -> Floats:
        return crossings(self.blobs, self.network.hyperplanes)

    @cached_property
    def _units(self) -> Floats:
        return feature_units(self.blobs, self.network.hyperplanes)

    def _place(self, number: int) -> Place:
        places, labels = self.places, self.network.labels.tolist()
        place = int(places.numbers[number])
        known = np.zeros(len(labels)) if places.counts is None else places.counts[place]
        counts = tuple((labels[c], float(known[c])) for c in np.flatnonzero(known))
        label, unseen = labels[places.classes[place]], bool(places.unseen[number])
        silent = unseen and not places.answers_unseen
        return Place(places.kind, place, label, unseen, float(places.shares[place]), counts, silent)

    def _parts(self, number: int) -> Floats:
        """The contribution (L, N) of each feature to each response of a sample."""
        planes = self.network.hyperplanes
        return planes.weights * (planes.mapped(self.samples[number : number + 1]) - self._crossings)

    def _drivers(self, number: int, parts: Floats) -> tuple[Driver, ...]:
        """Contributions (N,) of the inputs, added up for each column."""
        table, cells = self.network.table, self.cells[number]
        sizes = table.summed(parts)
        order = np.argsort(-np.abs(sizes), kind="stable")
        return tuple(
            Driver(table.parts[j].name, table.parts[j].value(cells[j]), float(sizes[j]))
            for j in order
            if sizes[j]
        )

    def _features(self, number: int) -> tuple[Driver, ...]:
        """The lead as a sum over features: its slopes times the features' contributions to responses."""
        slopes = self.network.stages.slopes(self.responses[number : number + 1])[0]
        slope = slopes[self.predicted[number]] - slopes[self.rivals[number]]
        return self._drivers(number, slope @ self._parts(number))

    def _regions(self, number: int) -> RegionPart | None:
        network, rival = self.network, self.rivals[[number]]
        planes, trees, winner = network.hyperplanes, network.stages.trees, self.predicted[[number]]
        if trees is None:
            return None
        h = self.responses[[number]]
        (regions,), (leads,) = trees.leads(h, winner, rival)
        order = np.argsort(-without_rounding(np.abs(leads)), kind="stable")[:_MAX_REGIONS]
        first = network.weighted_sizes[2]
        blob = nearest_of_class(self.blobs, planes.mapped(self.samples[[number]])[0], int(rival[0]))
        reference = self.blobs.means[[blob]] @ planes.weights.T + planes.biases
        shapley = region_shapley(trees, h, reference)[0]
        by_input = np.zeros(len(network.feature_names))
        features = np.abs(planes.weights[trees.axes]).argmax(axis=1)
        np.add.at(by_input, features, shapley[:, winner[0]] - shapley[:, rival[0]])
        return RegionPart(
            lead=float(self.regions[number]),
            agreeing=int((leads >= 0).sum()),
            trees=len(leads),
            strongest=tuple((network.meaning(2, first + regions[t]), float(leads[t])) for t in order),
            reference=f"the centre of blob {blob} of class {network.labels[self.blobs.classes[blob]]}",
            reference_lead=float(trees.leads(reference, winner, rival)[1].sum()),
            features=self._drivers(number, by_input),
        )

    def _margin(self, number: int, hyperplane: int, parts: Floats) -> Margin:
        planes = self.network.hyperplanes
        response = self.responses[number, hyperplane]
        sign = 1.0 if response > 0 else -1.0
        return Margin(
            hyperplane=int(hyperplane),
            side=self.network.half_space(int(hyperplane) + (0 if response > 0 else len(planes))),
            response=float(abs(response)),
            deviations=float(abs(self.deviations[number, hyperplane])),
            is_log_odds=planes.is_log_odds(hyperplane),
            contribution=float(self.contributions[number, hyperplane]),
            drivers=self._drivers(number, sign * parts[hyperplane]),
        )

    def _counterfactual(self, number: int) -> Counterfactual | None:
        found = self.robustness
        if found is None or not np.isfinite(found.distance[number]):
            return None
        before, after = self.samples[number], found.points[number]
        moved = np.abs(after - before) / self._units
        names = self.network.feature_names
        changes = tuple(
            (names[j], float(before[j]), float(after[j]))
            for j in np.argsort(-moved, kind="stable")
            if moved[j] > 0
        )
        label = self.network.labels.tolist()[found.classes[number]]
        values = float(found.distance[number]), float(found.lower[number]), bool(found.exact[number])
        return Counterfactual(label, changes, *values)

    def to_frame(self) -> Any:
        """A data frame with a row for each sample (needs pandas)."""
        pandas = imported("pandas", "Explanations.to_frame")
        rows, labels = np.arange(len(self)), self.network.labels.astype(object)
        strongest = np.argmax(np.abs(self.contributions), axis=1)
        known = self.rivals != _NO_RIVAL
        columns: dict[str, Any] = {
            "class": labels[self.predicted],
            "probability": self.probabilities[rows, self.predicted],
            "next_class": _or_none(known, labels[self.rivals]),
            "next_probability": np.where(known, self.probabilities[rows, self.rivals], 0.0),
            "lead": self.leads,
            self.places.kind: self.places.numbers,
            "unseen": self.places.unseen,
            **({} if self.network.stages.trees is None else {"regions": self.regions}),
            "strongest_hyperplane": strongest,
            "strongest_deviations": self.deviations[rows, strongest],
            "strongest_contribution": self.contributions[rows, strongest],
        }
        if self.robustness is not None:
            reached = np.isfinite(self.robustness.distance)
            columns["other_class"] = _or_none(reached, labels[self.robustness.classes])
            columns["distance"] = self.robustness.distance
            columns["distance_lower"] = self.robustness.lower
            change, table = self.robustness.points - self.samples, self.network.table
            columns |= {
                f"change_{part.name}": change[:, first]
                for part, first in zip(table.parts, table.firsts, strict=True)
                if isinstance(part, NumberColumn)  # categories do not change
            }
        return pandas.DataFrame(columns)


def _or_none(known: Flags, values: NDArray) -> NDArray:
    values[~known] = None
    return values


def explained(network: Network, blobs: Blobs, cells: AnyFloats) -> Explanations:
    """Explanations of validated cells, without counterfactuals; O(n·D_1·D_2) time."""
    X = network.inputs(cells)
    samples: Floats = np.asarray(X, np.float64)
    planes, stages = network.hyperplanes, network.stages
    h = planes.signed_responses(samples)
    predicted = network.classes(X)
    others = stages.scores(h)
    others[np.arange(len(X)), predicted] = -np.inf
    rivals = np.where(np.isfinite(others).any(axis=1), others.argmax(axis=1), _NO_RIVAL)
    summands, rest, regions = np.zeros_like(h), np.zeros(len(h)), np.zeros(len(h))
    beaten = rivals != _NO_RIVAL
    compared = h[beaten], predicted[beaten], rivals[beaten]
    summands[beaten], rest[beaten] = stages.contributions(*compared)
    if stages.trees is not None:
        regions[beaten] = stages.trees.leads(*compared)[1].sum(axis=1)
    return Explanations(
        network, blobs, np.asarray(cells, np.float64), samples, predicted, rivals,
        probabilities=network.probabilities(X),
        leads=np.where(beaten, summands.sum(axis=1) + rest, np.inf), rest=rest, regions=regions,
        responses=h, deviations=h / response_spreads(blobs, planes), contributions=summands,
        places=stages.places(planes, X) or _nearest_blobs(network, blobs, samples),
    )  # fmt: skip


def _nearest_blobs(network: Network, blobs: Blobs, samples: Floats) -> Places:
    """The nearest blob of each sample."""
    numbers, squared = nearest_blobs(blobs, network.hyperplanes.mapped(samples))
    unseen = squared > chdtri(samples.shape[1], 1.0 - _FAR)
    return Places("blob", numbers, unseen, blobs.classes, blobs.weights)
