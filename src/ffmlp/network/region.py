"""The region design and the paper to the letter: layer l_2 has one neuron per occupied region.

First the regions: the sign codes of samples, and a table of the occupied ones with their classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Counts, Flags, Floats, Indices, Shape, in_whole_tiles, row_blocks
from ffmlp.inputs.rows import mixed
from ffmlp.network.hyperplanes import Hyperplanes, both_sides, rows_held
from ffmlp.network.stages import (
    LARGEST,
    LinearPieces,
    OnnxGraph,
    Places,
    Stages,
    require_finite,
    require_shapes,
    votes,
)
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.network.network import Network

Words = NDArray[np.uint64]


def pack(codes: Flags) -> Words:
    """Codes (n, L) as words (n, ⌈L/64⌉): hyperplane l is bit l % 64 of word l // 64."""
    n_words = -(-codes.shape[1] // 64)
    octets = np.zeros((len(codes), 8 * n_words), np.uint8)
    packed = np.packbits(codes, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8")


def unpack(words: Words, n_hyperplanes: int) -> Flags:
    """The inverse of `pack`."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_hyperplanes, bitorder="little").view(np.bool_)


def distinct_codes(words: Words) -> tuple[Indices, Indices]:
    """The first row of each distinct code, in the order of the codes, and each row's code number."""
    # Sixteen bits at a time, because NumPy sorts 16-bit integers by radix.
    order = np.lexsort(np.ascontiguousarray(words).view("<u2").T)
    ordered = words[order]
    new = np.ones(len(words), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(words), np.intp)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse


class CodeIndex:
    """Distinct codes (R, n_words), sorted by their hashes; whole codes are compared on every look-up."""

    def __init__(self, words: Words) -> None:
        hashes = _hashes(words)
        self._order = np.argsort(hashes)
        self._words, self._hashes = words[self._order], hashes[self._order]

    def find(self, words: Words) -> Indices:
        """The number of each code, -1 where it is not in the index."""
        place = np.minimum(np.searchsorted(self._hashes, _hashes(words)), len(self._order) - 1)
        return np.where((self._words[place] == words).all(axis=1), self._order[place], -1)


def _hashes(words: Words) -> Words:
    """A hash (n,) of each code, distinct for codes of one word."""
    hashes = np.zeros(len(words), np.uint64)
    for word in words.T:
        hashes = mixed(hashes ^ word)
    return hashes


# Rows whose region is looked up at once.
_ROWS_AT_ONCE = 1 << 16
# Products of the same shape round alike, so the last block of rows is padded.
_ROWS_PER_PRODUCT = 256
# Entries of the (sample, region) table of one dense search (32 MB).
_ENTRIES_AT_ONCE = 1 << 22
# Up to this many regions, the least violated one is found by a dense search.
_REGIONS_SEARCHED_DENSELY = 1 << 14
# With more, the regions across all subsets of this many nearest hyperplanes are tried first.
_FLIPPED_HYPERPLANES = 8


@dataclass(frozen=True, eq=False)
class Regions:
    """The R regions that training samples occupy, in the order of their codes.

    Attributes
    ----------
    codes : ndarray of bool, shape (R, L)
        ``codes[r, l]`` is true where region r lies on the positive side of hyperplane l.
    counts : ndarray of shape (R, C)
        Training samples of each class (sums of weights if there are sample weights).
    """

    codes: Annotated[Flags, Shape("r", "L")]
    counts: Annotated[Counts, Shape("r", "C")]

    def __repr__(self) -> str:
        n_regions, n_hyperplanes = self.codes.shape
        return f"Regions({n_regions} occupied regions of {n_hyperplanes} hyperplanes)"

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def frequencies(self) -> Floats:
        """Class frequencies of each region, shape (R, C)."""
        return self.counts / self.counts.sum(axis=1, keepdims=True)

    @cached_property
    def classes(self) -> Indices:
        """Majority class of each region, an index into ``classes_``; ties go to the first class."""
        return np.argmax(self.frequencies, axis=1)

    @cached_property
    def index(self) -> CodeIndex:
        """The index that finds regions by their codes."""
        return CodeIndex(pack(self.codes))

    def __getstate__(self) -> dict[str, NDArray]:
        return {"codes": self.codes, "counts": self.counts}  # cached properties are computed again

    @property
    def error_rate(self) -> float:
        """Share of the training samples that are not of their region's majority class."""
        total = self.counts.sum()
        return float((total - self.counts.max(axis=1).sum()) / total)

    def select(self, kept: Indices) -> Regions:
        """The regions that are left when only the ``kept`` hyperplanes partition the space."""
        return _merged(self.codes[:, kept], self.counts)

    def __add__(self, other: Regions) -> Regions:
        """The regions that both occupy together, of the same hyperplanes."""
        codes = np.concatenate([self.codes, other.codes])
        return _merged(codes, np.concatenate([self.counts, other.counts]))


def _merged(codes: Flags, counts: NDArray) -> Regions:
    """Regions of equal codes become one."""
    first, inverse = distinct_codes(pack(codes))
    total = np.zeros((len(first), counts.shape[1]), counts.dtype)
    np.add.at(total, inverse, counts)
    return Regions(codes[first], total)


def sign_codes(hyperplanes: Hyperplanes, X: AnyFloats) -> Words:
    """The packed codes of samples X."""
    words = np.empty((len(X), -(-len(hyperplanes) // 64)), "<u8")
    for rows, h in hyperplanes.blocks(X):
        words[rows] = pack(h > 0)
    return words


def tabulate(
    words: Words, n_hyperplanes: int, y: Indices, n_classes: int, sample_weight: Floats | None = None
) -> Regions:
    """Reduce samples, given by their packed codes, to the regions they occupy in O(n·L) time."""
    first, inverse = distinct_codes(words)
    cells = inverse * n_classes + y
    counts = np.bincount(cells, sample_weight, minlength=len(first) * n_classes)
    return Regions(unpack(words[first], n_hyperplanes), counts.reshape(len(first), n_classes))


def find_regions(hyperplanes: Hyperplanes, regions: Regions, X: AnyFloats) -> Indices:
    """The region of each sample; outside of all occupied regions, the one that it violates least.

    The violation of a region is the sum of |h| over the hyperplanes on whose wrong side the sample lies.
    Working memory does not grow with the number of rows.
    """
    found = np.empty(len(X), np.intp)
    for rows in row_blocks(len(X), 1, _ROWS_AT_ONCE):
        block = X[rows]
        region = regions.index.find(sign_codes(hyperplanes, block))
        unseen = np.flatnonzero(region < 0)
        for some in row_blocks(len(unseen), len(hyperplanes), _ENTRIES_AT_ONCE):
            h = hyperplanes.signed_responses(block[unseen[some]])
            region[unseen[some]] = least_violated(h, regions)
        found[rows] = region
    return found


def least_violated(h: Floats, regions: Regions) -> Indices:
    """The region that each row of signed responses h (n, L) violates least.

    Responses that overflow count as very large. With many regions, only those across a few of the
    nearest hyperplanes are looked up. Rows for which this is not proved to be sufficient use the dense
    search.
    """
    if not -LARGEST <= h.min(initial=0.0) <= h.max(initial=0.0) <= LARGEST:
        h = np.clip(np.nan_to_num(h), -LARGEST, LARGEST)
    if len(regions) <= _REGIONS_SEARCHED_DENSELY or h.shape[1] <= _FLIPPED_HYPERPLANES:
        return _least_violated_of_all(h, regions)
    region = _least_violated_nearby(h, regions.index)
    elsewhere = np.flatnonzero(region < 0)
    region[elsewhere] = _least_violated_of_all(h[elsewhere], regions)
    return region


def _least_violated_of_all(h: Floats, regions: Regions) -> Indices:
    """Dense search, O(n·R·L) time and bounded memory.

    The violation of a region is Σ relu(h) − h·code, so the least violated one has the largest h·code.
    """
    region = np.zeros(len(h), np.intp)
    n_rows = min(_ROWS_PER_PRODUCT, rows_held(h.shape[1]))
    padded = np.zeros((n_rows, h.shape[1]))
    for rows in row_blocks(len(h), 1, n_rows):
        block = h[rows]
        padded[: len(block)] = block
        best = np.full(len(block), -np.inf)
        for some in row_blocks(len(regions), max(n_rows, h.shape[1]), _ENTRIES_AT_ONCE):
            codes = regions.codes[some].astype(np.float64)
            agreement = (padded @ in_whole_tiles(codes.T))[: len(block), : len(codes)]
            largest = np.argmax(agreement, axis=1)
            value = np.take_along_axis(agreement, largest[:, None], axis=1)[:, 0]
            better = value > best
            best[better] = value[better]
            region[rows][better] = some.start + largest[better]
    return region


def _least_violated_nearby(h: Floats, index: CodeIndex) -> Indices:
    """Search across subsets of the nearest hyperplanes; -1 where the answer may lie elsewhere.

    A region outside of the search lies across at least one hyperplane beyond the nearest ones. A region
    whose violation is at most the ``|h|`` of that hyperplane is therefore the least violated of all.
    """
    n_flipped = _FLIPPED_HYPERPLANES
    distance = np.abs(h)
    near = np.argpartition(distance, n_flipped, axis=1)[:, : n_flipped + 1]
    near = np.take_along_axis(near, np.argsort(np.take_along_axis(distance, near, 1), axis=1), axis=1)
    violation = np.take_along_axis(distance, near, axis=1)
    words = pack(h > 0)
    region = np.full(len(h), -1, np.intp)
    best = np.full(len(h), np.inf)
    for subset in range(1, 1 << n_flipped):
        chosen = [place for place in range(n_flipped) if subset >> place & 1]
        cost = violation[:, chosen].sum(axis=1)
        trying = np.flatnonzero(cost < best)
        flipped = words[trying]
        for place in chosen:
            hyperplane = near[trying, place]
            flag = np.uint64(1) << (hyperplane % 64).astype(np.uint64)
            flipped[np.arange(len(trying)), hyperplane // 64] ^= flag
        there = index.find(flipped)
        hit = there >= 0
        region[trying[hit]] = there[hit]
        best[trying[hit]] = cost[trying[hit]]
    region[best > violation[:, n_flipped]] = -1
    return region


# Bits of a code that one float32 holds exactly.
_BITS_PER_KEY = 24


@dataclass(frozen=True, eq=False)
class RegionStages(Stages):
    """One l_2 neuron per occupied region, which votes for the region's majority class.

    The weights follow from the regions and are computed on demand. The weight from a half-space to a
    region outside of it is -P, where P is the penalty.
    """

    regions: Regions
    penalty: float

    design = "region"
    neurons = "regions"
    each_neuron = "each region that the hyperplanes cut out"
    activations = ("relu", "relu", "identity")

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
        to_classes = votes(self.neuron_classes, self.regions.counts.shape[1])
        return np.where(own, 1.0, -float(self.penalty)), to_classes

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """All zero."""
        return np.zeros(len(self.regions)), np.zeros(self.regions.counts.shape[1])

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
        scores = np.full((len(h), self.regions.counts.shape[1]), -np.inf)
        codes = self.regions.codes.T.astype(np.float64)
        for rows in row_blocks(len(h), len(self.regions)):
            agreement = h[rows] @ codes
            for label in np.unique(self.neuron_classes):
                scores[rows, label] = agreement[:, self.neuron_classes == label].max(axis=1)
        return scores

    def slopes(self, h: Floats) -> Floats:
        """The code of the least violated region of each class."""
        slopes = np.zeros((len(h), self.regions.counts.shape[1], h.shape[1]))
        for label in np.unique(self.neuron_classes):
            codes = self.regions.codes[self.neuron_classes == label].astype(np.float64)
            for rows in row_blocks(len(h), len(codes)):
                slopes[rows, label] = codes[np.argmax(h[rows] @ codes.T, axis=1)]
        return slopes

    @property
    def linear_pieces(self) -> LinearPieces | None:
        """One piece per region: its code."""
        return LinearPieces(self.regions.codes.astype(np.float64), self.neuron_classes)

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
        region = self._onnx_occupied_region(graph, h)
        unseen = graph.apply("NonZero", graph.apply("Less", region, np.array(0)))
        unseen = graph.apply("Reshape", unseen, np.array([-1]))
        codes = self.regions.codes.astype(np.float64)
        agreement = graph.apply("Gemm", graph.apply("Gather", h, unseen), codes, transB=1)
        least_violated = graph.apply("ArgMax", agreement, axis=1, keepdims=0)
        region = graph.apply("ScatterElements", region, unseen, least_violated, axis=0)
        chosen = graph.apply("Gather", self.regions.classes.astype(np.int64), region)
        return chosen, graph.apply("Gather", self.regions.frequencies, region)

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

    classes = Stages.classes

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

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
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
        agrees = np.hstack([self.regions.codes, ~self.regions.codes]).T.astype(np.float64)
        for rows in row_blocks(len(h), len(self.regions)):
            above = h[rows] > 0
            sizes, speeds = (
                np.hstack([np.where(above, part, 0.0), np.where(above, 0.0, part)])
                for part in (np.abs(h[rows]), reach[rows])
            )
            gap = sizes @ (1.0 - agrees) - sizes @ agrees / self.penalty
            silent = _quotient(gap, speeds @ (1.0 - agrees) + speeds @ agrees / self.penalty)
            others = np.where(mine[rows], np.inf, silent).min(axis=1)
            responds = np.where(mine[rows], -silent, 0.0).max(axis=1)
            responds[winner[rows] == 0] = np.inf
            alone = np.maximum(np.minimum(others, responds), 0.0)
            unchanged = np.minimum(np.abs(silent).min(axis=1), linear[rows])
            safe[rows] = np.minimum(np.maximum(alone, unchanged), crossed[rows])
        return safe

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
