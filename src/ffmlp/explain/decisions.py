"""Explanations of predictions: what a sample has that its reference has not, and what that adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, without_rounding
from ffmlp.explain.attribution import (
    Attribution,
    Points,
    attributed,
    blob_distances,
    mean_attribution,
    rival_blobs,
)
from ffmlp.explain.explanation import (
    Counterfactual,
    Crossing,
    Explanation,
    LeafPart,
    Place,
    Reason,
    written,
)
from ffmlp.extras import imported
from ffmlp.inputs.columns import NumberColumn
from ffmlp.network.blobs import Blobs, feature_units
from ffmlp.network.network import Network
from ffmlp.network.stages import Places
from ffmlp.robustness.distance import Effort, Robustness, robustness
from ffmlp.robustness.limits import Features, GivenBounds, checked_limits
from ffmlp.words import counted, html_table

# A sample is unfamiliar if it is farther from all blobs than this share of the training samples.
_FAMILIAR = 0.99
# Samples that are shown in a notebook.
_MAX_ROWS = 10
# Leaves that are named for each sample.
_MAX_LEAVES = 10
# The rival of a sample if no other class can be predicted, and its blob if it was given by the user.
_NO_RIVAL = _NO_BLOB = -1


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
    leads : ndarray of shape (n,)
        The lead of the predicted class over the rival; infinite if there is none.
    references : ndarray of shape (n, N)
        What each sample is compared with, as inputs of the network: the centre of a blob of the
        rival's class, or the samples given, their mean if there are several.
    reference_blobs : ndarray of shape (n,)
        The blobs, -1 where samples were given.
    reference_cells : ndarray of shape (M,) or None
        The cells of a single sample that was given.
    n_references : int
        The number of samples that each one is compared with.
    reference_leads : ndarray of shape (n,)
        The same lead at the reference.
    attributions : ndarray of shape (n, M)
        What each column adds: ``leads == reference_leads + attributions.sum(axis=1)``.
    effects : ndarray of shape (n, L)
        What each hyperplane adds: ``leads == reference_leads + effects.sum(axis=1) + leaves``.
    leaves : ndarray of shape (n,)
        What the trees that correct a readout add; 0 if there are none.
    responses, reference_responses : ndarray of shape (n, L)
        Signed response of each hyperplane to samples and references.
    places : Places
        The region or the nearest blob of each sample (``places.numbers``), and whether the sample is
        ``places.unseen``: in a region without training samples, or farther from all blobs than 99 % of
        the training samples.
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
    references: Floats
    reference_blobs: Indices
    reference_cells: Floats | None
    n_references: int
    reference_leads: Floats
    attributions: Floats
    effects: Floats
    leaves: Floats
    responses: Floats
    reference_responses: Floats
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
            (f"{number}", f"{page.label}", f"{page.probability:.3f}", f"{page.rival}",
             f"{page.rival_probability:.3f}", f"{page.lead:+.2f}")
            for number, page in zip(range(_MAX_ROWS), self, strict=False)
        ]  # fmt: skip
        more = len(self) - len(rows)
        return html_table(header, rows) + (f"<p>… and {more} more</p>" if more else "")

    def __getitem__(self, number: int) -> Explanation:
        number = range(len(self))[index(number)]
        labels, probability = self.network.labels.tolist(), self.probabilities[number]
        winner, rival = self.predicted[number], self.rivals[number]
        beaten = rival != _NO_RIVAL
        crossings = self._crossings(number) if beaten else ()
        crossed = [crossing.hyperplane for crossing in crossings]
        return Explanation(
            label=labels[winner],
            probability=float(probability[winner]),
            rival=labels[rival] if beaten else None,
            rival_probability=float(probability[rival]) if beaten else 0.0,
            lead=float(self.leads[number]),
            reference=self._reference(number) if beaten else "",
            reference_lead=float(self.reference_leads[number]),
            reasons=self._reasons(number) if beaten else (),
            crossings=crossings,
            uncrossed=float(np.delete(self.effects[number], crossed).sum()),
            leaves=self._leaves(number) if beaten else None,
            place=self._place(number),
            searched=self.robustness is not None,
            counterfactual=self._counterfactual(number),
        )

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

    def _reference(self, number: int) -> str:
        blob = int(self.reference_blobs[number])
        if blob == _NO_BLOB:
            single = self.n_references == 1
            return "the sample given" if single else f"{self.n_references} samples, on average"
        label = self.network.labels[self.blobs.classes[blob]]
        return f"the centre of blob {blob} of class {label}"

    def _reasons(self, number: int) -> tuple[Reason, ...]:
        table, cells = self.network.table, self.cells[number]
        sizes = self.attributions[number]
        order = np.argsort(-without_rounding(np.abs(sizes)), kind="stable")
        return tuple(
            Reason(
                column=table.parts[j].name,
                value=table.parts[j].value(cells[j]),
                reference=self._there(number, j),
                attribution=float(sizes[j]),
            )
            for j in order
        )

    def _there(self, number: int, column: int) -> str:
        """What a column of the reference holds: a cell, or a point of the inputs."""
        table = self.network.table
        part = table.parts[column]
        if self.reference_cells is not None:
            return written(part.value(self.reference_cells[column]))
        first = table.firsts[column]
        return part.near(self.references[number][first : first + part.n_inputs]).removeprefix("= ")

    def _crossings(self, number: int) -> tuple[Crossing, ...]:
        """The hyperplanes between reference and sample, largest effect first."""
        effects, opposite = self.effects[number], len(self.network.hyperplanes)
        # Thresholds are often values of samples: rounding must not decide on which side a sample is.
        here, there = map(without_rounding, (self.responses[number], self.reference_responses[number]))
        crossed = np.flatnonzero((here > 0) != (there > 0))
        order = np.argsort(-without_rounding(np.abs(effects[crossed])), kind="stable")
        return tuple(
            Crossing(
                hyperplane=l,
                side=self.network.half_space(l if here[l] > 0 else l + opposite),
                way=abs(float(there[l] / (there[l] - here[l]))),
                effect=float(effects[l]),
            )
            for l in crossed[order].tolist()
        )

    def _leaves(self, number: int) -> LeafPart | None:
        """The leaves that differ between sample and reference, and what they add."""
        network, trees = self.network, self.network.stages.trees
        if trees is None:
            return None
        both = np.stack([self.responses[number], self.reference_responses[number]])
        winner, rival = (np.repeat(part[number], 2) for part in (self.predicted, self.rivals))
        (leaves, others), (here, there) = trees.leads(both, winner, rival)
        added = here - there
        order = np.argsort(-without_rounding(np.abs(added)), kind="stable")[:_MAX_LEAVES]
        first = network.weighted_sizes[2]
        return LeafPart(
            effect=float(self.leaves[number]),
            changed=int((leaves != others).sum()),
            trees=len(added),
            strongest=tuple((network.meaning(2, first + leaves[t]), float(added[t])) for t in order),
        )

    def _counterfactual(self, number: int) -> Counterfactual | None:
        nearest = self.robustness
        if nearest is None or not np.isfinite(nearest.distance[number]):
            return None
        before, after = self.samples[number], nearest.points[number]
        moved = np.abs(after - before) / self._units
        names = self.network.feature_names
        order = [j for j in np.argsort(-without_rounding(moved), kind="stable") if moved[j] > 0]
        changes = tuple((names[j], float(before[j]), float(after[j])) for j in order)
        return Counterfactual(
            label=self.network.labels.tolist()[nearest.classes[number]],
            changes=changes,
            sizes=tuple(moved[order].tolist()),
            distance=float(nearest.distance[number]),
            lower=float(nearest.lower[number]),
            exact=bool(nearest.exact[number]),
            norm=nearest.norm,
        )

    def to_frame(self) -> Any:
        """A data frame with a row for each sample (needs pandas)."""
        pandas = imported("pandas", "Explanations.to_frame")
        rows, labels = np.arange(len(self)), self.network.labels.astype(object)
        known, table, nothing = self.rivals != _NO_RIVAL, self.network.table, np.array(None)
        columns: dict[str, Any] = {
            "class": labels[self.predicted],
            "probability": self.probabilities[rows, self.predicted],
            "next_class": np.where(known, labels[self.rivals], nothing),
            "next_probability": np.where(known, self.probabilities[rows, self.rivals], 0.0),
            "lead": self.leads,
            "reference_lead": self.reference_leads,
            **{f"by_{name}": part for name, part in zip(table.names, self.attributions.T, strict=True)},
            self.places.kind: self.places.numbers,
            "unseen": self.places.unseen,
        }
        if self.robustness is not None:
            reached = np.isfinite(self.robustness.distance)
            columns["other_class"] = np.where(reached, labels[self.robustness.classes], nothing)
            columns["distance"] = self.robustness.distance
            columns["distance_lower"] = self.robustness.lower
            change = self.robustness.points - self.samples
            columns |= {
                f"change_{part.name}": change[:, first]
                for part, first in zip(table.parts, table.firsts, strict=True)
                if isinstance(part, NumberColumn)  # categories do not change
            }
        return pandas.DataFrame(columns)


def explained(
    network: Network, blobs: Blobs, cells: AnyFloats, reference: AnyFloats | None = None
) -> Explanations:
    """Explanations of validated cells against the cells of a reference, without counterfactuals."""
    X = network.inputs(cells)
    samples: Floats = np.asarray(X, np.float64)
    planes, stages = network.hyperplanes, network.stages
    h, predicted = planes.signed_responses(samples), network.classes(X)
    points = Points(planes.mapped(samples), h, stages.scores(h))
    others = points.scores.copy()
    others[np.arange(len(X)), predicted] = -np.inf
    beaten: Flags = np.isfinite(others.max(axis=1))
    rivals = np.where(beaten, others.argmax(axis=1), _NO_RIVAL)
    pair = predicted[beaten], rivals[beaten]
    nearest = np.full(len(h), _NO_BLOB)
    if reference is None:
        nearest[beaten] = rival_blobs(network, blobs, points[beaten], *pair)
        references = Points.of(network, blobs.means)[nearest]
        attribution = attributed(network, points[beaten], references[beaten], *pair)
    else:
        given = Points.of(network, planes.mapped(np.asarray(network.inputs(reference), np.float64)))
        mean = Points(*(part.mean(axis=0, keepdims=True) for part in vars(given).values()))
        references = mean[np.zeros(len(h), np.intp)]
        attribution = mean_attribution(network, points[beaten], given, *pair)
    parts = Attribution(*(_at(beaten, part) for part in vars(attribution).values()))
    # Sums over the hyperplanes do not depend on the number of rows; a tie is one to the last bit.
    leads = parts.reference_leads + parts.hyperplanes.sum(axis=1) + parts.leaves
    tied = points.leads(predicted, rivals) == 0.0
    return Explanations(
        network, blobs, np.asarray(cells, np.float64), samples, predicted, rivals,
        probabilities=network.probabilities(X),
        leads=np.where(beaten, np.where(tied, 0.0, leads), np.inf),
        references=planes.unmapped(references.Z),
        reference_blobs=nearest,
        reference_cells=None if reference is None or len(reference) > 1 else np.asarray(reference[0]),
        n_references=1 if reference is None else len(reference),
        reference_leads=parts.reference_leads,
        attributions=network.table.summed(parts.inputs),
        effects=parts.hyperplanes,
        leaves=parts.leaves,
        responses=h,
        reference_responses=references.h,
        places=stages.places(planes, X) or _nearest_blobs(network, blobs, samples),
    )  # fmt: skip


def with_changes(
    explanations: Explanations, norm: float | str, frozen: Features, bounds: GivenBounds
) -> Explanations:
    """The same with the smallest change of each sample to another class, in standard deviations."""
    network, blobs = explanations.network, explanations.blobs
    cells, samples = explanations.cells, explanations.samples
    scale = feature_units(blobs, network.hyperplanes)[network.table.firsts]
    limits = checked_limits(network.table, cells, samples, norm, scale, frozen, bounds)
    nearest = robustness(network, blobs, cells, samples, limits, Effort())
    return replace(explanations, robustness=nearest)


def _at(rows: Flags, values: Floats) -> Floats:
    """Values of some rows in a table of all, 0 elsewhere."""
    table = np.zeros((len(rows), *values.shape[1:]))
    table[rows] = values
    return table


def _nearest_blobs(network: Network, blobs: Blobs, samples: Floats) -> Places:
    """The nearest blob of each sample, and whether it is unfamiliar."""
    if network.familiar is not None:
        familiarity = network.familiarity(samples, _FAMILIAR)
        nearest, unseen = familiarity.nearest, ~familiarity.familiar
    else:  # networks of the playground do not know where their training samples were
        Z, numbers = network.hyperplanes.mapped(samples), np.arange(len(blobs))
        nearest = blob_distances(blobs, Z, numbers).argmin(axis=1)
        unseen = np.zeros(len(samples), bool)
    return Places("blob", nearest, unseen, blobs.classes, blobs.weights)
