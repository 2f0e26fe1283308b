"""The mean slope of a lead on the straight way between two points.

The difference of the lead between the two is the mean slope times the way. So it divides exactly among
the responses, and among the features behind them.
"""

from __future__ import annotations

import numpy as np

from ffmlp.arrays import Floats, Indices, row_blocks
from ffmlp.network.stages import Stages

# Gauss-Legendre quadrature of each part of the way, from 0 to 1.
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(8))
_NODES = _NODES + 0.5
# The error of a part of the way, relative to the change of the lead, and to the scores: rounding.
_TOLERANCE, _ROUNDING = 1e-10, 1e-13
# The shortest part of the way that is divided, and the most parts of one way that are.
_SHORTEST, _MOST_PARTS = 2.0**-40, 200


def mean_slopes(stages: Stages, start: Floats, stop: Floats, winner: Indices, rival: Indices) -> Floats:
    """The mean slope (n, L) of the winner's lead over the rival, from responses (n, L) to others.

    A part of the way is divided until its mean slope explains the change of the lead: where the tangents
    at its ends meet, which is the bend of a lead with one bend, and in the middle by turns.
    """
    found = np.empty_like(start)
    n_entries = len(_NODES) * stages.weights[1].shape[0] * start.shape[1]
    for rows in row_blocks(len(start), n_entries):
        found[rows] = _Way(stages, start[rows], stop[rows], winner[rows], rival[rows]).mean_slopes()
    return found


class _Way:
    """The straight ways of some samples; ``t`` runs from 0 to 1."""

    def __init__(
        self, stages: Stages, start: Floats, stop: Floats, winner: Indices, rival: Indices
    ) -> None:
        self.stages, self.start, self.way = stages, start, stop - start
        self.winner, self.rival = winner, rival

    def _at(self, rows: Indices, t: Floats) -> Floats:
        return self.start[rows] + t[:, None] * self.way[rows]

    def _scores(self, rows: Indices, t: Floats) -> tuple[Floats, Floats]:
        scores, each = self.stages.scores(self._at(rows, t)), np.arange(len(rows))
        return scores[each, self.winner[rows]], scores[each, self.rival[rows]]

    def _slopes(self, rows: Indices, t: Floats) -> Floats:
        slopes, each = self.stages.slopes(self._at(rows, t)), np.arange(len(rows))
        return slopes[each, self.winner[rows]] - slopes[each, self.rival[rows]]

    def mean_slopes(self) -> Floats:
        """The mean slopes (n, L)."""
        total = np.zeros_like(self.start)
        rows, left = np.arange(len(total)), np.zeros(len(total))
        right = left + 1.0
        allowed, division = None, 0
        while len(rows):
            width = right - left
            nodes = [self._slopes(rows, left + width * node) for node in _NODES]
            slopes = np.tensordot(_WEIGHTS, np.stack(nodes), axes=1)
            ends = *self._scores(rows, left), *self._scores(rows, right)
            if allowed is None:
                allowed = _TOLERANCE * np.abs(slopes * self.way).sum(axis=1)
                allowed += _ROUNDING * np.abs(ends).max(axis=0)
            rise = ends[2] - ends[3] - (ends[0] - ends[1])
            error = np.abs(width * np.sum(slopes * self.way[rows], axis=1) - rise)
            bad = (error > allowed[rows]) & (width > _SHORTEST)
            bad &= np.bincount(rows, minlength=len(total))[rows] <= _MOST_PARTS
            np.add.at(total, rows[~bad], (width[:, None] * slopes)[~bad])
            first, last = (np.sum(part * self.way[rows], axis=1)[bad] for part in (nodes[0], nodes[-1]))
            rows, left, right, width, rise = (part[bad] for part in (rows, left, right, width, rise))
            middle = left + 0.5 * width
            if division % 2 == 0:
                with np.errstate(over="ignore"):  # a bend outside the part is not used
                    bend = np.divide(
                        rise - last * width, first - last, out=0.5 * width, where=first != last
                    )
                middle = np.where((bend > 0) & (bend < width), left + bend, middle)
            rows = np.concatenate([rows, rows])
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            division += 1
        return total
