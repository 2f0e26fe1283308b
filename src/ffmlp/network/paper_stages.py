"""The paper to the letter: the regions of the region design, read by the bare network.

The class of a sample is the one of largest output. Where no neuron of l_2 responds, all outputs are zero
and the class is the first one. The score of a class is its output. As long as no response changes its
sign, the pre-activation of every region is linear in the responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes, both_sides
from ffmlp.network.region_stages import RegionStages
from ffmlp.network.stages import LARGEST, OnnxGraph, Places, SafeDistance

if TYPE_CHECKING:
    from ffmlp.network.network import Network

# A lead that is a smaller share of the output is a rounding error.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class PaperStages(RegionStages):
    """The layers of the region design, without a rule for samples to which no region responds."""

    design = "paper"

    @property
    def relu_layers(self) -> tuple[tuple[Floats, Floats], ...]:
        """The layers as they are."""
        return tuple(zip(self.weights, self.biases, strict=True))

    def elsewhere(self, network: Network) -> str:
        """The bare network's answer where it is silent."""
        return f"a sample to which none of them responds is of the first class, {network.labels[0]}"

    def probabilities(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The outputs, divided by their sum; the same for all classes where all are zero."""
        outputs = self.outputs(planes, X)
        total = outputs.sum(axis=1, keepdims=True)
        equal = np.full_like(outputs, 1.0 / outputs.shape[1])
        return np.divide(outputs, total, out=equal, where=total > 0)

    def places(self, planes: Hyperplanes, X: AnyFloats) -> Places:
        """The region of each sample; in none of them the network is silent."""
        return replace(super().places(planes, X), answers_unseen=False)

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The class of the largest output, the first one in a tie."""
        return self.outputs(planes, X).argmax(axis=1)

    def _region_responses(self, h: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of rows and the responses of l_2, in bounded memory."""
        for rows in row_blocks(len(h), len(self.regions)):
            yield rows, np.maximum(self._pre_activations(h[rows]), 0.0)

    def _pre_activations(self, h: Floats) -> Floats:
        """The pre-activations (n, R) of l_2."""
        l_1 = np.fmin(np.maximum(both_sides(h), 0.0), LARGEST)
        with np.errstate(over="ignore"):  # a huge penalty silences a region all the same
            return l_1 @ self.weights[0].T

    def scores(self, h: Floats) -> Floats:
        """The outputs; -inf for a class without regions, unless it is the first one."""
        to_classes = self.weights[1].T
        scores = np.empty((len(h), to_classes.shape[1]))
        for rows, l_2 in self._region_responses(h):
            scores[rows] = l_2 @ to_classes
        possible = np.union1d(self.neuron_classes, 0)  # the first class answers for a silent network
        scores[:, np.setdiff1d(np.arange(scores.shape[1]), possible)] = -np.inf
        return scores

    def slopes(self, h: Floats) -> Floats:
        """The sum of the slopes of each class's regions that respond."""
        above, below = np.hsplit(self.weights[0], 2)
        slopes = np.zeros((len(h), len(self.weights[1]), h.shape[1]))
        for rows, l_2 in self._region_responses(h):
            for label in np.unique(self.neuron_classes):
                mine = self.neuron_classes == label
                responds = (l_2[:, mine] > 0).astype(np.float64)
                slopes[rows, label] = np.where(
                    h[rows] > 0, responds @ above[mine], -(responds @ below[mine])
                )
        return slopes

    def mean_slopes(self, start: Floats, stop: Floats, winner: Indices, rival: Indices) -> Floats:
        """In closed form: between two changes of a sign, every pre-activation is linear."""
        above, below = np.hsplit(self.weights[0], 2)
        found = np.empty_like(start)
        for rows in row_blocks(len(start), 4 * len(self.regions)):
            here, way = start[rows], stop[rows] - start[rows]
            share = np.divide(-here, way, out=np.zeros_like(here), where=way != 0)
            ends = np.sort(np.clip(share, 0.0, 1.0), axis=1)
            ends = np.hstack([np.zeros((len(here), 1)), ends, np.ones((len(here), 1))])
            votes = self.weights[1][winner[rows]] - self.weights[1][rival[rows]]
            total = np.zeros_like(here)
            for first, last in zip(ends.T[:-1, :, None], ends.T[1:, :, None], strict=True):
                left, right = (self._pre_activations(here + t * way) for t in (first, last))
                size = np.abs(left) + np.abs(right)
                responds = np.divide(
                    np.maximum(left, 0.0) + np.maximum(right, 0.0), size,
                    out=np.zeros_like(size), where=size > 0,
                )  # fmt: skip
                weight = (last - first) * votes * responds
                positive = here + 0.5 * (first + last) * way > 0
                total += np.where(positive, weight @ above, -(weight @ below))
            found[rows] = total
        return found

    @property
    def linear_pieces(self) -> None:
        """None: the outputs are not convex functions of the responses."""
        return

    @property
    def safe_distance(self) -> SafeDistance:
        """Within it, no response changes its sign and the winner leads."""
        return self._safe_distance

    def _safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """The larger of two bounds, up to the first change of a sign, at ``|h_l| / reach_l``.

        Until then, region r is silent at least up to ``silent_r``, or responds up to ``-silent_r``: the
        quotient of ``Σ_conflict |h| − Σ_agree |h| / P`` and the same sum of reaches, with a plus. The
        winner leads while it responds and the other classes are silent; the first class leads without a
        response, too. It also leads while every region stays as it is and no linear lead is lost.
        """
        mine = self.neuron_classes == winner[:, None]
        scores, each = self.scores(h), np.arange(len(h))
        lead = scores[each, winner][:, None] - scores
        lead[each, winner] = np.inf
        tied = (lead <= _TIE * scores[each, winner][:, None]).any(axis=1)
        linear = np.where(tied, 0.0, _quotient(lead, steepness).min(axis=1))
        crossed = _quotient(np.abs(h), reach).min(axis=1)
        safe = np.empty(len(h))
        for rows, silent in self._silent_distances(h, reach):
            others = np.where(mine[rows], np.inf, silent).min(axis=1)
            responds = np.where(mine[rows], -silent, 0.0).max(axis=1)
            responds[winner[rows] == 0] = np.inf
            alone = np.maximum(np.minimum(others, responds), 0.0)
            unchanged = np.minimum(np.abs(silent).min(axis=1), linear[rows])
            safe[rows] = np.minimum(np.maximum(alone, unchanged), crossed[rows])
        return safe

    def _silent_distances(self, h: Floats, reach: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of rows and how far each region is from responding; negative if it does."""
        agrees = np.hstack([self.regions.codes, ~self.regions.codes]).T.astype(np.float64)
        for rows in row_blocks(len(h), len(self.regions)):
            above = h[rows] > 0
            sizes, speeds = (
                np.hstack([np.where(above, part, 0.0), np.where(above, 0.0, part)])
                for part in (np.abs(h[rows]), reach[rows])
            )
            gap = sizes @ (1.0 - agrees) - sizes @ agrees / self.penalty
            yield rows, _quotient(gap, speeds @ (1.0 - agrees) + speeds @ agrees / self.penalty)

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add the layers as they are."""
        w_2, w_3 = self.weights
        sides = graph.apply("Concat", h, graph.apply("Neg", h), axis=1)
        l_1 = graph.apply("Min", graph.apply("Relu", sides), np.array(LARGEST))
        l_2 = graph.apply("Relu", graph.apply("MatMul", l_1, w_2.T))
        outputs = graph.apply("MatMul", l_2, w_3.T)
        total = graph.apply("ReduceSum", outputs, np.array([1]), keepdims=1)
        responds = graph.apply("Greater", total, np.array(0.0))
        divisor = graph.apply("Where", responds, total, np.array(1.0))
        shares = graph.apply("Div", outputs, divisor)
        shares = graph.apply("Where", responds, shares, np.full((1, len(w_3)), 1.0 / len(w_3)))
        return graph.apply("ArgMax", outputs, axis=1, keepdims=0), shares


def _quotient(way: Floats, speed: Floats) -> Floats:
    """``way / speed``; infinite where the speed is zero."""
    return np.divide(way, speed, out=np.where(way < 0, -np.inf, np.inf), where=speed > 0)
