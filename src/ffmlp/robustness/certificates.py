"""How far a sample can move for certain without a change of class: lower bounds of the distance.

They need the responses h of the sample, how fast each response can change (``reach``, the dual norm of
the hyperplane's normal), and for the readout how fast each class's lead falls right at the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ffmlp.explanations.evidence import blocks, class_scores
from ffmlp.model.stages import ACTIVATIONS, BlobStages, Floats, ReadoutStages

_BISECTIONS = 60


def readout_bound(
    stages: ReadoutStages, h: Floats, winner: NDArray[np.intp], reach: Floats, steepness: Floats
) -> Floats:
    """No point of another class is nearer than this (n,).

    Within a region the lead f of the winner over class c is linear, and beyond hyperplane l it bends by
    ``k_l·max(0, −s_l h_l)``, where k_l is the sum of the two neurons' weights. Within distance r no
    response moves by more than ``r·reach_l``, so the lead is at least
    ``f − r·steepness − Σ max(0, −k_l)·max(0, r·reach_l − |h_l|)``, whose root is the bound.

    ``reach`` is of shape (n, L) and ``steepness`` (n, C), of the winner's lead over each class.
    """
    first, second = np.hsplit(stages.temperature * stages.readout, 2)
    bends = first + second  # (C, L)
    bound = np.full(len(h), np.inf)
    scores = class_scores(stages, h)
    for rows in blocks(len(h), 4 * h.shape[1]):
        distance = np.abs(h[rows])
        crossed = np.divide(
            distance, reach[rows], out=np.full_like(distance, np.inf), where=reach[rows] > 0
        )
        order = np.argsort(crossed, axis=1)
        crossed, distance, speed = (
            np.take_along_axis(table, order, axis=1) for table in (crossed, distance, reach[rows])
        )
        for label in range(len(stages.bias)):
            lead = scores[rows][np.arange(len(distance)), winner[rows]] - scores[rows, label]
            down = np.maximum(0.0, bends[label] - bends[winner[rows]])
            down = np.take_along_axis(down, order, axis=1)
            root = _root(lead, steepness[rows, label], down * speed, down * distance, crossed)
            bound[rows] = np.where(winner[rows] == label, bound[rows], np.minimum(bound[rows], root))
    return bound


def _root(lead: Floats, slope: Floats, added: Floats, held: Floats, crossed: Floats) -> Floats:
    """Where ``lead − r·slope − Σ_{crossed_l < r} (r·added_l − held_l)`` is zero, row by row.

    ``crossed`` ascends; the function is concave and falls, so the first piece that reaches zero has it.
    """
    zero = np.zeros((len(lead), 1))
    slopes = slope[:, None] + np.hstack([zero, np.cumsum(added, axis=1)])
    heights = np.maximum(lead, 0.0)[:, None] + np.hstack([zero, np.cumsum(held, axis=1)])
    roots = np.divide(heights, slopes, out=np.full_like(slopes, np.inf), where=slopes > 0)
    ends = np.hstack([crossed, np.full((len(lead), 1), np.inf)])
    piece = np.argmax(roots <= ends, axis=1)
    return roots[np.arange(len(lead)), piece]


def blob_bound(stages: BlobStages, h: Floats, winner: NDArray[np.intp], reach: Floats) -> Floats:
    """No point of another class is nearer than this (n,).

    Within distance r, the winner's blobs have at least the score that they have with every hyperplane
    moved by ``r·reach_l`` against them, and other blobs at most that with every one moved for them.
    """
    softplus, weights = ACTIVATIONS[stages.activations[0]], stages.weights[0].T
    sides, speed = np.hstack([h, -h]), np.hstack([reach, reach])
    mine = stages.neuron_classes == winner[:, None]

    def safe(radius: Floats) -> NDArray[np.bool_]:
        worst = softplus(sides + radius[:, None] * speed) @ weights
        best = softplus(sides - radius[:, None] * speed) @ weights
        own = logsumexp(np.where(mine, worst, -np.inf), axis=1)
        others = [
            logsumexp(best[:, stages.neuron_classes == label], axis=1)
            - np.where(winner == label, np.inf, 0.0)
            for label in np.unique(stages.neuron_classes)
        ]
        return own > np.max(others, axis=0)

    high = 1e-6 / np.maximum(speed.max(axis=1), 1e-100)
    for _ in range(_BISECTIONS):
        growing = safe(high)
        if not growing.any():
            break
        high = np.where(growing, 2 * high, high)
    low = np.where(safe(high), high, 0.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        inside = safe(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low
