"""The paper's region design: layer l_2 has one neuron per region that training samples occupy.

The score of a class is the largest ``h·code`` of its regions. A sample violates region r by
``Σ relu(h) − h·code_r``, so the region that it violates least has the largest ``h·code_r``. Also for
samples outside of all these regions, the prediction is an argmax of linear functions of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.mean_slopes import mean_slopes
from ffmlp.network.regions import Regions, find_regions, sign_codes
from ffmlp.network.stages import (
    LinearPieces,
    OnnxGraph,
    Places,
    SafeDistance,
    layered_outputs,
    require_finite,
    require_shapes,
    votes,
)
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.network.network import Network

# Bits of a code that one float32 holds exactly.
_BITS_PER_KEY = 24


@dataclass(frozen=True, eq=False)
class RegionStages:
    """One l_2 neuron per occupied region, which votes for the region's majority class.

    The weights follow from the regions and are computed on demand.

    Attributes
    ----------
    regions : Regions
        The D_2 regions: codes, and training samples of each class.
    penalty : float
        P: the weight from a half-space to a region outside of it is -P.
    """

    regions: Regions
    penalty: float

    design = "region"
    neurons = "regions"
    each_neuron = "each region that the hyperplanes cut out"
    activations = ("relu", "relu", "identity")
    trees = None

    @property
    def relu_layers(self) -> tuple[tuple[Floats, Floats], ...] | None:
        """None: where no region responds, the nearest one answers."""
        return None

    @property
    def link_names(self) -> tuple[str, str]:
        """The names of the only two weights."""
        return "weight 1", f"weight −P (P = {self.penalty:g})"

    @property
    def neuron_classes(self) -> Indices:
        """The class that each region votes for."""
        return self.regions.classes

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """1 from a region's half-spaces and -P from the others; 1 to its class and 0 to the others."""
        own = np.hstack([self.regions.codes, ~self.regions.codes])
        return np.where(own, 1.0, -float(self.penalty)), votes(self.neuron_classes, self._n_classes)

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """All zero."""
        return np.zeros(len(self.regions)), np.zeros(self._n_classes)

    @property
    def n_regions(self) -> int:
        """All neurons of l_2."""
        return len(self.regions)

    @property
    def _n_classes(self) -> int:
        return self.regions.counts.shape[1]

    def meaning(self, neuron: int, network: Network) -> str:
        """The class and the half-spaces of a region."""
        code = self.regions.codes[neuron]
        sides = np.where(code, 0, len(code)) + np.arange(len(code))
        where = " and ".join(network.half_space(side) for side in sides)
        return f"region of class {network.labels[self.neuron_classes[neuron]]}: {where}"

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """The rule of each region, in descending order of training samples."""
        regions = self.regions
        total = regions.counts.sum(axis=1)

        def line(region: int) -> str:
            code = regions.codes[region]
            rule = ", ".join(f"h{l} {'>' if above else '<'} 0" for l, above in enumerate(code))
            label, own = network.labels[regions.classes[region]], regions.counts[region].max()
            return f"{rule}  →  {label} ({own:g} of {total[region]:g} training samples)"

        order = np.argsort(-total, kind="stable")
        return [
            f"{counted(len(regions), 'region')}; {self.elsewhere(network)}",
            *itemised(len(regions), max_items, line, order),
        ]

    def elsewhere(self, network: Network) -> str:
        """What happens to a sample outside of all regions, as part of a sentence about them."""
        return "a sample in none of them belongs to the one it violates least"

    def outputs(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The summed responses of each class's regions; all zero where no neuron of l_2 responds."""
        return layered_outputs(self, planes, X)

    def probabilities(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The class frequencies of each sample's region."""
        return self.regions.frequencies[find_regions(planes, self.regions, X)]

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The majority class of each sample's region, in memory independent of C."""
        return self.regions.classes[find_regions(planes, self.regions, X)]

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The probabilities; the log-odds of pure regions would be infinite."""
        return self.probabilities(planes, X)

    def places(self, planes: Hyperplanes, X: AnyFloats) -> Places:
        """The region of each sample."""
        regions = self.regions
        unseen = regions.index.find(sign_codes(planes, X)) < 0
        numbers = find_regions(planes, regions, X)
        shares = regions.counts.sum(axis=1) / regions.counts.sum()
        return Places("region", numbers, unseen, regions.classes, shares, regions.counts)

    def scores(self, h: Floats) -> Floats:
        """The largest ``h·code`` of each class's regions."""
        scores = np.full((len(h), self._n_classes), -np.inf)
        codes = self.regions.codes.T.astype(np.float64)
        for rows in row_blocks(len(h), len(self.regions)):
            agreement = h[rows] @ codes
            for label in np.unique(self.neuron_classes):
                scores[rows, label] = agreement[:, self.neuron_classes == label].max(axis=1)
        return scores

    def slopes(self, h: Floats) -> Floats:
        """The code of the least violated region of each class."""
        slopes = np.zeros((len(h), self._n_classes, h.shape[1]))
        for label in np.unique(self.neuron_classes):
            slopes[:, label] = self.regions.codes[self._least_violated(h, label)]
        return slopes

    def _least_violated(self, h: Floats, label: int) -> Indices:
        """The least violated region (n,) of a class."""
        candidates = np.flatnonzero(self.neuron_classes == label)
        codes = self.regions.codes[candidates].T.astype(np.float64)
        best = np.empty(len(h), np.intp)
        for rows in row_blocks(len(h), len(candidates)):
            best[rows] = candidates[np.argmax(h[rows] @ codes, axis=1)]
        return best

    def mean_slopes(self, start: Floats, stop: Floats, winner: Indices, rival: Indices) -> Floats:
        """By quadrature between the bends."""
        return mean_slopes(self, start, stop, winner, rival)

    @property
    def linear_pieces(self) -> LinearPieces | None:
        """One piece per region: its code."""
        return LinearPieces(self.regions.codes.astype(np.float64), self.neuron_classes)

    @property
    def safe_distance(self) -> SafeDistance | None:
        """None: the linear pieces give exact distances."""
        return None

    def bends(self, winner: int, rival: int) -> None:
        """None: hyperplanes bend a lead more than once."""
        return

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Codes and counts must be of the same regions, and each needs samples."""
        codes, counts = self.regions.codes, self.regions.counts
        require_shapes(codes=(codes, (len(counts), len(planes))))
        require_shapes(counts=(counts, (len(codes), n_classes)))
        require_finite(counts=counts, penalty=self.penalty)
        if not len(counts) or counts.min() < 0 or not (counts.sum(axis=1) > 0).all():
            raise ValueError("each region needs samples, and there must be one")
        if self.penalty < 1:
            raise ValueError("the penalty must be at least 1")

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Look up the region of each sample, its class and its class frequencies."""
        region = self._onnx_region(graph, h)
        chosen = graph.apply("Gather", self.regions.classes.astype(np.int64), region)
        return chosen, graph.apply("Gather", self.regions.frequencies, region)

    def _onnx_region(self, graph: OnnxGraph, h: str) -> str:
        """The region of each sample; if its code is unseen, the region that it violates least."""
        region = self._onnx_occupied_region(graph, h)
        unseen = graph.apply("NonZero", graph.apply("Less", region, np.array(0)))
        unseen = graph.apply("Reshape", unseen, np.array([-1]))
        codes = self.regions.codes.astype(np.float64)
        agreement = graph.apply("Gemm", graph.apply("Gather", h, unseen), codes, transB=1)
        least_violated = graph.apply("ArgMax", agreement, axis=1, keepdims=0)
        return graph.apply("ScatterElements", region, unseen, least_violated, axis=0)

    def _onnx_occupied_region(self, graph: OnnxGraph, h: str) -> str:
        """The region with a sample's code; -1 if there is none.

        Each group of bits becomes an integer. Together with the number of the code so far, it is a key
        that looks up the number of the longer code.
        """
        codes = self.regions.codes
        parts = range(0, codes.shape[1], _BITS_PER_KEY)
        powers = np.zeros((codes.shape[1], len(parts)), np.float32)
        for number, start in enumerate(parts):
            stop = min(start + _BITS_PER_KEY, codes.shape[1])
            powers[start:stop, number] = 2.0 ** np.arange(stop - start)
        bits = graph.cast(graph.apply("Greater", h, np.array(0.0)), np.float32)
        keys = graph.cast(graph.apply("MatMul", bits, powers), np.int64)
        own_keys = (codes @ powers.astype(np.int64)).astype(np.int64)

        found, own = "", np.zeros(len(codes), np.int64)
        for number in range(len(parts)):
            key = graph.apply("Gather", keys, np.array(number), axis=1)
            if found:
                shifted = graph.apply("Mul", found, np.array(1 << _BITS_PER_KEY))
                key = graph.apply("Add", shifted, key)
            longer = own * (1 << _BITS_PER_KEY) + own_keys[:, number]
            distinct, own = np.unique(longer, return_inverse=True)
            known = (longer if number == len(parts) - 1 else distinct).tolist()
            table = {"keys_int64s": known, "values_int64s": list(range(len(known)))}
            found = graph.apply("LabelEncoder", key, **table, default_int64=-1)
        return found
