"""What the classes are decided by: a score for each class that follows from the hyperplanes' responses.

The predicted class is the one of the largest score, in every design. Scores of two classes are
compared, never read alone: their difference is the *lead* of one class over the other.

Region design: the score of class c is the largest ``h·code`` of its regions. The conflict of a sample
with region r is ``Σ relu(h) − h·code_r``, so the least violated region has the largest ``h·code_r``,
occupied or not: the prediction is an argmax of functions that are linear in the features. Blob and
readout design: a lead is the log-odds of the two classes.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from ffmlp.model.stages import ACTIVATIONS, BlobStages, Floats, ReadoutStages, RegionStages, Stages

# Entries of a (sample, region) table, or of one of slopes, that are held in memory at once (64 MB).
_ENTRIES_AT_ONCE = 1 << 23


@singledispatch
def class_scores(stages: Stages, h: Floats) -> Floats:
    """The score (n, C) of each class at responses h (n, L); -inf for a class that nothing votes for."""
    raise TypeError(f"no scores are known for {type(stages).__name__}.")


@class_scores.register
def _(stages: RegionStages, h: Floats) -> Floats:
    scores = np.full((len(h), stages.n_classes), -np.inf)
    for rows in blocks(len(h), len(stages.codes)):
        agreement = h[rows] @ stages.codes.T.astype(np.float64)
        for label in np.unique(stages.neuron_classes):
            scores[rows, label] = agreement[:, stages.neuron_classes == label].max(axis=1)
    return scores


@class_scores.register
def _(stages: BlobStages, h: Floats) -> Floats:
    duels = blob_scores(stages, h)
    scores = np.full((len(h), stages.n_classes), -np.inf)
    for label in np.unique(stages.neuron_classes):
        scores[:, label] = logsumexp(duels[:, stages.neuron_classes == label], axis=1)
    return scores


@class_scores.register
def _(stages: ReadoutStages, h: Floats) -> Floats:
    l_1 = np.maximum(np.hstack([h, -h]), 0.0)
    return stages.temperature * (l_1 @ stages.readout.T + stages.bias)


def blob_scores(stages: BlobStages, h: Floats) -> Floats:
    """What the l_2 neurons of the blob design take in (n, D_2)."""
    l_1 = ACTIVATIONS[stages.activations[0]](np.hstack([h, -h]))
    return l_1 @ stages.weights[0].T


@singledispatch
def score_slopes(stages: Stages, h: Floats) -> Floats:
    """How fast the score of each class grows with each response: (n, C, L), constant within a region."""
    raise TypeError(f"no slopes are known for {type(stages).__name__}.")


@score_slopes.register
def _(stages: RegionStages, h: Floats) -> Floats:
    slopes = np.zeros((len(h), stages.n_classes, h.shape[1]))
    for label in np.unique(stages.neuron_classes):
        slopes[:, label] = stages.codes[best_regions(stages, h, stages.neuron_classes == label)]
    return slopes


@score_slopes.register
def _(stages: BlobStages, h: Floats) -> Floats:
    first, second = np.hsplit(stages.weights[0], 2)
    each = first * expit(h)[:, None] - second * expit(-h)[:, None]
    duels = blob_scores(stages, h)
    slopes = np.zeros((len(h), stages.n_classes, h.shape[1]))
    for label in np.unique(stages.neuron_classes):
        mine = stages.neuron_classes == label
        share = softmax(duels[:, mine], axis=1)
        slopes[:, label] = np.einsum("nb,nbl->nl", share, each[:, mine])
    return slopes


@score_slopes.register
def _(stages: ReadoutStages, h: Floats) -> Floats:
    first, second = np.hsplit(stages.temperature * stages.readout, 2)
    return np.where(h[:, None] > 0, first, -second)


def best_regions(stages: RegionStages, h: Floats, among: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The least violated (n,) of some regions."""
    candidates = np.flatnonzero(among)
    codes = stages.codes[candidates].T.astype(np.float64)
    best = np.empty(len(h), np.intp)
    for rows in blocks(len(h), len(candidates)):
        best[rows] = candidates[np.argmax(h[rows] @ codes, axis=1)]
    return best


def blocks(n_rows: int, entries_of_each: int) -> list[slice]:
    """Slices of the rows that keep a table within memory."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, entries_of_each))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


@singledispatch
def contributions(
    stages: Stages, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """What each hyperplane's pair of neurons adds to the winner's lead over the rival.

    Returns
    -------
    contributions : ndarray of shape (n, L)
    rest : ndarray of shape (n,)
        What no hyperplane adds. The lead is the sum of the contributions and this.
    """
    raise TypeError(f"no contributions are known for {type(stages).__name__}.")


@contributions.register
def _(
    stages: RegionStages, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    codes = []
    for classes in (winner, rival):
        region = np.empty(len(h), np.intp)
        for label in np.unique(classes):
            rows = classes == label
            region[rows] = best_regions(stages, h[rows], stages.neuron_classes == label)
        codes.append(stages.codes[region].astype(np.float64))
    return (codes[0] - codes[1]) * h, np.zeros(len(h))


@contributions.register
def _(
    stages: BlobStages, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """The duels of the strongest blob of each class; the other blobs of both classes are the rest."""
    l_1 = ACTIVATIONS[stages.activations[0]](np.hstack([h, -h]))
    duels = blob_scores(stages, h)
    lead = np.zeros(len(h))
    summands = np.zeros((len(h), h.shape[1]))
    for classes, sign in ((winner, 1.0), (rival, -1.0)):
        mine = np.where(stages.neuron_classes == classes[:, None], duels, -np.inf)
        first, second = np.hsplit(l_1 * stages.weights[0][mine.argmax(axis=1)], 2)
        summands += sign * (first + second)
        lead += sign * logsumexp(mine, axis=1)
    return summands, lead - summands.sum(axis=1)


@contributions.register
def _(
    stages: ReadoutStages, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    weight = stages.temperature * (stages.readout[winner] - stages.readout[rival])
    first, second = np.hsplit(np.maximum(np.hstack([h, -h]), 0.0) * weight, 2)
    return first + second, stages.temperature * (stages.bias[winner] - stages.bias[rival])
