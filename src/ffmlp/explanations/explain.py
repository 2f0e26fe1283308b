"""Why a sample got its class: the hyperplanes that decided, and the features that drove them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from ffmlp.design.blobs import Blobs, Floats
from ffmlp.explanations.evidence import class_scores, contributions, score_slopes
from ffmlp.explanations.explanation import Counterfactual, Driver, Explanation, Margin, Place
from ffmlp.explanations.margins import crossings, nearest_blobs, response_spreads, units
from ffmlp.model.network import Network
from ffmlp.model.prediction import class_probabilities, most_probable_classes
from ffmlp.model.regions import Regions, find_regions, sign_codes
from ffmlp.robustness.distance import Robustness

# A sample is far from all training samples if this share of its nearest blob is nearer to the middle.
_FAR = 0.999
# Stands for the rival where no other class can be predicted.
_NOBODY = -1


@dataclass(frozen=True, eq=False)
class Explanations:
    """Why samples got their classes: arrays for all of them, an `Explanation` for each.

    ``explanations[i]`` explains sample i; ``print(explanations)`` prints a page for each;
    ``to_frame()`` has a row for each. Classes are indices into ``network.labels``.

    Attributes
    ----------
    network : Network
    blobs : Blobs
    regions : Regions or None
    samples : ndarray of shape (n, N)
    predicted, rivals : ndarray of shape (n,)
        The predicted class and the next one, -1 where there is none.
    probabilities : ndarray of shape (n, C)
    leads, rest : ndarray of shape (n,)
        ``leads == contributions.sum(axis=1) + rest``.
    responses, deviations, contributions : ndarray of shape (n, L)
        Signed response of each hyperplane, the same in standard deviations, and what it adds to the
        lead.
    places : ndarray of shape (n,)
        The region, or the nearest blob.
    unseen : ndarray of bool, shape (n,)
        Whether no training sample was in the sample's region; without regions, whether the sample is
        farther from its nearest blob than 99.9 % of such a Gaussian.
    robustness : Robustness or None
        The counterfactuals.
    """

    network: Network
    blobs: Blobs
    regions: Regions | None
    samples: Floats
    predicted: NDArray[np.intp]
    rivals: NDArray[np.intp]
    probabilities: Floats
    leads: Floats
    rest: Floats
    responses: Floats
    deviations: Floats
    contributions: Floats
    places: NDArray[np.intp]
    unseen: NDArray[np.bool_]
    robustness: Robustness | None = None

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[number] for number in range(len(self)))

    def __str__(self) -> str:
        return ("\n" + 80 * "─" + "\n").join(map(str, self))

    def __getitem__(self, number: int) -> Explanation:
        labels, probability = self.network.labels.tolist(), self.probabilities[number]
        winner, rival = self.predicted[number], self.rivals[number]
        parts = self._parts(number)
        ahead = -np.round(np.abs(self.contributions[number]), 12)
        order = np.lexsort([np.abs(self.deviations[number]), ahead])
        return Explanation(
            label=labels[winner],
            probability=float(probability[winner]),
            rival=None if rival == _NOBODY else labels[rival],
            rival_probability=0.0 if rival == _NOBODY else float(probability[rival]),
            lead=float(self.leads[number]),
            rest=float(self.rest[number]),
            place=self._place(number),
            margins=tuple(self._margin(number, hyperplane, parts) for hyperplane in order),
            features=() if rival == _NOBODY else self._features(number),
            counterfactual=None if self.robustness is None else self._counterfactual(number),
            searched=self.robustness is not None,
        )

    @cached_property
    def _crossings(self) -> Floats:
        return crossings(self.blobs, self.network.hyperplanes)

    @cached_property
    def _units(self) -> Floats:
        return units(self.blobs, self.network.hyperplanes)

    def _place(self, number: int) -> Place:
        place, unseen = int(self.places[number]), bool(self.unseen[number])
        labels = self.network.labels.tolist()
        if self.regions is None:
            share = float(self.blobs.weights[place])
            return Place("blob", place, labels[self.blobs.classes[place]], unseen, share=share)
        counts = tuple(
            (label, float(count))
            for label, count in zip(labels, self.regions.counts[place], strict=True)
            if count > 0
        )
        return Place("region", place, labels[self.regions.classes[place]], unseen, counts)

    def _parts(self, number: int) -> Floats:
        """What each feature adds to each response of a sample (L, N)."""
        planes, x = self.network.hyperplanes, self.samples[number]
        z = x if planes.gaussianisation is None else planes.gaussianisation.apply(x[None])[0]
        return planes.weights * (z - self._crossings)

    def _drivers(self, number: int, parts: Floats) -> tuple[Driver, ...]:
        names, values, sizes = self.network.feature_names, self.samples[number].tolist(), parts.tolist()
        order = np.argsort(-np.abs(parts), kind="stable").tolist()
        return tuple(Driver(names[j], values[j], sizes[j]) for j in order if sizes[j])

    def _features(self, number: int) -> tuple[Driver, ...]:
        """The lead as a sum over features: slopes of the lead times what features add to responses."""
        slopes = score_slopes(self.network.stages, self.responses[number : number + 1])[0]
        slope = slopes[self.predicted[number]] - slopes[self.rivals[number]]
        return self._drivers(number, slope @ self._parts(number))

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
        assert self.robustness is not None
        found = self.robustness
        if not np.isfinite(found.distance[number]):
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
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        rows, labels = np.arange(len(self)), self.network.labels.astype(object)
        strongest = np.argmax(np.abs(self.contributions), axis=1)
        known = self.rivals != _NOBODY
        columns: dict[str, Any] = {
            "class": labels[self.predicted],
            "probability": self.probabilities[rows, self.predicted],
            "next class": _or_none(known, labels[self.rivals]),
            "next probability": np.where(known, self.probabilities[rows, self.rivals], 0.0),
            "lead": self.leads,
            "blob" if self.regions is None else "region": self.places,
            "unseen": self.unseen,
            "strongest hyperplane": strongest,
            "its deviations": self.deviations[rows, strongest],
            "its contribution": self.contributions[rows, strongest],
        }
        if self.robustness is not None:
            reached = np.isfinite(self.robustness.distance)
            columns["other class"] = _or_none(reached, labels[self.robustness.classes])
            columns["distance"] = self.robustness.distance
            columns["distance is at least"] = self.robustness.lower
            change = self.robustness.points - self.samples
            names = self.network.feature_names
            columns |= {f"change of {name}": change[:, j] for j, name in enumerate(names)}
        return pd.DataFrame(columns)


def _or_none(known: NDArray[np.bool_], values: NDArray) -> NDArray:
    values[~known] = None
    return values


def explained(
    network: Network, blobs: Blobs, regions: Regions | None, X: NDArray[np.floating]
) -> Explanations:
    """Explanations of samples X, without counterfactuals; O(n·D_1·D_2) time."""
    samples: Floats = np.asarray(X, np.float64)
    h = network.hyperplanes.log_odds(samples)
    predicted = most_probable_classes(network, regions, X)
    rows = np.arange(len(X))
    scores = class_scores(network.stages, h)
    others = scores.copy()
    others[rows, predicted] = -np.inf
    rivals = np.where(np.isfinite(others).any(axis=1), others.argmax(axis=1), _NOBODY)
    summands, rest = np.zeros_like(h), np.zeros(len(h))
    beaten = rivals != _NOBODY
    summands[beaten], rest[beaten] = contributions(
        network.stages, h[beaten], predicted[beaten], rivals[beaten]
    )
    leads = np.where(beaten, summands.sum(axis=1) + rest, np.inf)
    if regions is None:
        scores_of = network.hyperplanes.gaussianisation
        places, squared = nearest_blobs(
            blobs, samples if scores_of is None else scores_of.apply(samples)
        )
        unseen = squared > chdtri(samples.shape[1], 1.0 - _FAR)
    else:
        places = find_regions(network.hyperplanes, regions, X)
        unseen = regions.index.find(sign_codes(network.hyperplanes, X)) < 0
    return Explanations(
        network, blobs, regions, samples, predicted, rivals,
        probabilities=class_probabilities(network, regions, X),
        leads=leads, rest=rest, responses=h,
        deviations=h / response_spreads(blobs, network.hyperplanes),
        contributions=summands, places=places, unseen=unseen,
    )  # fmt: skip
