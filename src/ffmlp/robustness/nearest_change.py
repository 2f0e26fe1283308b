"""The nearest point of another class for piecewise linear leads, with a proof.

A mixed-integer programme asks for the smallest change at which the lead over a rival is at most zero. A
bend that raises the lead is convex and needs no binary variable; one that lowers it needs one. A point
that is known limits the change, hence the responses, hence the bends that can matter. Where the map of a
feature bends, the programme uses a convex function below the size of the change. Its least cost is a
lower bound. The linear piece of the network that it reaches gives a point, hence an upper bound. Limits
and convex functions become tighter there until both bounds meet.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from ffmlp.robustness.bent_leads import BentLead, SoftLead, bent_lead
from ffmlp.robustness.change_programme import Relaxation, Solution
from ffmlp.robustness.nearby_points import (
    EXACT,
    LARGEST_RADIUS,
    Bounds,
    Reached,
    Sample,
    next_radius,
    with_nearer_point,
)
from ffmlp.robustness.nearest_euclidean import nearest_euclidean

_MOST_ROUNDS = 100


def nearest_change(sample: Sample, known: Bounds, seconds: float) -> Bounds:
    """Bounds of the distance to another class, within a time limit; equal where it is exact.

    Programmes are linear; the Euclidean norm has a search of its own. The rival with the smallest lower
    bound is always next, so that no programme has a radius much larger than the distance to the nearest
    class.
    """
    if not sample.reach > 0:  # nothing can change
        return replace(known, lower=known.distance)
    stop = perf_counter() + seconds
    found = (bent_lead(sample.network, sample.own, label) for label in _rivals(sample))
    leads = [lead for lead in found if lead is not None]
    if sample.norm == 2:
        return nearest_euclidean(sample, leads, known, seconds)
    rivals = [_Rival(sample, lead, known.lower) for lead in leads]
    for _ in range(_MOST_ROUNDS * len(rivals)):
        left = [one for one in rivals if not one.stuck and known.distance > one.lower * (1 + EXACT)]
        seconds = stop - perf_counter()
        if not left or seconds <= 0:
            break
        known = min(left, key=lambda one: one.lower).after_a_round(known, seconds)
    lower = min([known.distance, *(one.lower for one in rivals)])
    return replace(known, lower=lower)


def _rivals(sample: Sample) -> list[int]:
    """The other classes, the smallest lead first."""
    planes, stages = sample.network.hyperplanes, sample.network.stages
    (scores,) = stages.scores(planes.signed_responses(sample.x[None]))
    possible = [label for label in np.argsort(-scores, kind="stable") if np.isfinite(scores[label])]
    return [int(label) for label in possible if label != sample.own]


class _Rival:
    """One other class: a proved lower bound of its distance, and what is known of its programme."""

    def __init__(self, sample: Sample, lead: BentLead, lower: float) -> None:
        self.sample, self.lead, self.lower = sample, lead, lower
        self.reach, self.stuck = sample.reach, False
        self.cuts: list[set[float]] = [set() for _ in sample.x]
        self.marks = np.zeros((0, len(lead.bends)))

    def after_a_round(self, known: Bounds, seconds: float) -> Bounds:
        """The nearest point known after one more programme, which also raises the lower bound."""
        sample, known = self.sample, replace(known, lower=self.lower)
        radius = min(next_radius(known), self.reach)
        relaxation = Relaxation(
            self.lead.below(self.marks),
            sample.mapped,
            sample.tracks(self.lower, radius),
            self.cuts,
            self.lower,
            radius,
            sample.norm,
        )
        solution = relaxation.solved(seconds)
        if solution.bound == np.inf:  # nothing within the radius
            all_searched = radius >= min(known.distance, self.reach)
            self.lower = np.inf if all_searched else radius
            self.stuck = all_searched or radius >= LARGEST_RADIUS
            return known
        if solution.reached is None:
            self.stuck = True
            return known
        refined = _refined(relaxation, solution)
        if isinstance(self.lead, SoftLead):
            mark = self.lead.responses(solution.reached)
            refined |= not np.isclose(self.marks, mark, rtol=0.0, atol=1e-5).all(axis=1).any()
            self.marks = np.vstack([self.marks, mark])
        reached = Reached(self.lead, relaxation.tracks, solution.reached, radius)
        better = with_nearer_point(sample, reached, known)
        refined |= better.distance < known.distance
        self.stuck = not (refined or solution.bound > self.lower)
        self.lower = max(self.lower, solution.bound)
        return better


def _refined(relaxation: Relaxation, solution: Solution) -> bool:
    """Cut the tracks whose cost is too low at a solution around the segments reached; whether any."""
    assert solution.reached is not None
    assert solution.sizes is not None
    if relaxation.norm == np.inf:
        return False
    refined = False
    for one, cuts, value, size in zip(
        relaxation.tracks, relaxation.cuts, solution.reached, solution.sizes, strict=True
    ):
        segment, change = one.place(value)
        if len(one.changes) > 1 and abs(change) - size > 1e-9 * relaxation.radius:
            ends = set(one.changes[[segment, segment + 1]].tolist())
            refined |= not ends <= cuts
            cuts |= ends
    return refined
