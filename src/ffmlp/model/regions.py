"""Stages 2 and 3: sign codes become a table of occupied regions and their classes.

A *code* is the row of signs of the L hyperplanes at a sample, one bit each; samples with equal codes
share a region. Codes are kept packed, 64 hyperplanes to a word, and looked up through `CodeIndex`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.hyperplanes import Hyperplanes, in_whole_tiles

Words = NDArray[np.uint64]

# Slots of a code index per region: few enough to stay in the cache, enough to keep chains short.
_SLOTS_PER_REGION = 16
# Rows whose region is looked up at once.
_ROWS_AT_ONCE = 1 << 16
# Products of one shape round alike, so the last rows are padded.
_ROWS_PER_PRODUCT = 256
# Entries of the (sample, region) table of one dense search (32 MB).
_ENTRIES_AT_ONCE = 1 << 22
# Up to this many regions, all of them are searched for the one that a sample violates least.
_REGIONS_SEARCHED_DENSELY = 1 << 14
# With more, a sample in no occupied region first tries all subsets of this many hyperplanes near it.
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

    codes: NDArray[np.bool_]
    counts: NDArray

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """Class frequencies of each region, shape (R, C)."""
        return self.counts / self.counts.sum(axis=1, keepdims=True)

    @cached_property
    def classes(self) -> NDArray[np.intp]:
        """Majority class of each region, an index into ``classes_``; the first one in a tie."""
        return np.argmax(self.frequencies, axis=1)

    @cached_property
    def index(self) -> CodeIndex:
        """Finds regions by their codes."""
        return CodeIndex.of(pack(self.codes), self.codes.shape[1])

    def __getstate__(self) -> dict[str, NDArray]:
        return {"codes": self.codes, "counts": self.counts}  # what is cached is made again

    @property
    def error_rate(self) -> float:
        """Share of the training samples that are not of their region's majority class."""
        total = self.counts.sum()
        return float((total - self.counts.max(axis=1).sum()) / total)

    def select(self, kept: NDArray[np.intp]) -> Regions:
        """The regions that are left when only the ``kept`` hyperplanes partition the space."""
        codes = self.codes[:, kept]
        first, inverse = distinct_codes(pack(codes))
        counts = np.zeros((len(first), self.counts.shape[1]), self.counts.dtype)
        np.add.at(counts, inverse, self.counts)
        return Regions(codes[first], counts)


def pack(codes: NDArray[np.bool_]) -> Words:
    """Codes (n, L) as words (n, ⌈L/64⌉): hyperplane l is bit l % 64 of word l // 64."""
    n_words = -(-codes.shape[1] // 64)
    octets = np.zeros((len(codes), 8 * n_words), np.uint8)
    packed = np.packbits(codes, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8")


def unpack(words: Words, n_hyperplanes: int) -> NDArray[np.bool_]:
    """The inverse of `pack`."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_hyperplanes, bitorder="little").view(np.bool_)


def sign_codes(hyperplanes: Hyperplanes, X: NDArray[np.floating]) -> Words:
    """The packed codes of samples X."""
    words = np.empty((len(X), -(-len(hyperplanes) // 64)), "<u8")
    for rows, h in hyperplanes.blocks(X):
        words[rows] = pack(h > 0)
    return words


def distinct_codes(words: Words) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row of the first of each distinct code, in the order of the codes, and each row's code number."""
    # Sixteen bits at a time, because those NumPy sorts by radix.
    order = np.lexsort(np.ascontiguousarray(words).view("<u2").T)
    ordered = words[order]
    new = np.ones(len(words), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(words), np.intp)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse


def tabulate(
    words: Words,
    n_hyperplanes: int,
    y: NDArray[np.intp],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None = None,
) -> Regions:
    """Reduce samples, given by their packed codes, to the regions they occupy in O(n·L) time."""
    first, inverse = distinct_codes(words)
    cells = inverse * n_classes + y
    counts = np.bincount(cells, sample_weight, minlength=len(first) * n_classes)
    return Regions(unpack(words[first], n_hyperplanes), counts.reshape(len(first), n_classes))


@dataclass(frozen=True, eq=False)
class CodeIndex:
    """A hash table of distinct codes. Whole codes are compared on every look-up."""

    words: Words  # (R, n_words)
    keys: NDArray[np.int64]  # (L,)
    heads: NDArray[np.int32]  # (n_slots,) first code of the slot's chain, or -1
    following: NDArray[np.intp]  # (R,) next code in the chain, or -1

    @classmethod
    def of(cls, words: Words, n_hyperplanes: int) -> CodeIndex:
        """Index distinct codes."""
        n_slots = table_size(_SLOTS_PER_REGION * len(words))
        keys = np.random.default_rng(0).integers(n_slots, size=n_hyperplanes)
        heads = np.full(n_slots, -1, np.int32)
        return cls(words, keys, heads, chain(slots_of(words, keys), heads))

    def find(self, words: Words) -> NDArray[np.intp]:
        """The number of each code, -1 where it is not in the index."""
        found = np.full(len(words), -1, np.intp)
        asking = np.arange(len(words))
        candidate: NDArray[np.signedinteger] = self.heads[slots_of(words, self.keys)]
        while len(asking):
            there = candidate >= 0
            asking, candidate = asking[there], candidate[there]
            same = _rows_equal(self.words[candidate], words[asking])
            found[asking[same]] = candidate[same]
            asking, candidate = asking[~same], self.following[candidate[~same]]
        return found


def _rows_equal(words: Words, others: Words) -> NDArray[np.bool_]:
    equal = words[:, 0] == others[:, 0]
    for word in range(1, words.shape[1]):
        equal &= words[:, word] == others[:, word]
    return equal


def table_size(n_slots: int) -> int:
    """The next power of two."""
    return 1 << (max(n_slots, 1) - 1).bit_length()


def slots_of(words: Words, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The exclusive or of the keys of each code's set bits, eight bits at a time."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    slots = np.zeros(len(words), np.int64)
    for start in range(0, len(keys), 8):
        table = np.zeros(1, np.int64)
        for key in keys[start : start + 8]:
            table = np.concatenate([table, table ^ key])
        slots ^= table[octets[:, start // 8]]
    return slots


def chain(slots: NDArray[np.int64], heads: NDArray[np.int32]) -> NDArray[np.intp]:
    """Chain the numbers of each slot: write the first into ``heads``, return who follows each, or -1."""
    following = np.full(len(slots), -1, np.intp)
    number = np.arange(len(slots), dtype=np.int32)
    heads[slots] = number
    # Of all that want a slot one gets it; the others go one by one before the chain that is there.
    waiting = number[heads[slots] != number]
    while len(waiting):
        slot = slots[waiting]
        behind = heads[slot]
        heads[slot] = waiting
        first = heads[slot] == waiting
        following[waiting[first]] = behind[first]
        waiting = waiting[~first]
    return following


def find_regions(
    hyperplanes: Hyperplanes, regions: Regions, X: NDArray[np.floating]
) -> NDArray[np.intp]:
    """The region of each sample; in a region that no training sample occupied, the nearest one.

    Nearest is the region whose code the sample violates least: the smallest sum of |h| over the
    hyperplanes on whose wrong side the sample lies. Memory is bounded whatever the number of rows.
    """
    found = np.empty(len(X), np.intp)
    step = max(1, _ENTRIES_AT_ONCE // len(hyperplanes))
    for start in range(0, len(X), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        block = X[rows]
        region = regions.index.find(sign_codes(hyperplanes, block))
        unseen = np.flatnonzero(region < 0)
        for first in range(0, len(unseen), step):
            some = unseen[first : first + step]
            h = np.vstack([h.copy() for _, h in hyperplanes.blocks(block[some])])
            region[some] = least_violated(h, regions)
        found[rows] = region
    return found


def least_violated(h: NDArray[np.float64], regions: Regions) -> NDArray[np.intp]:
    """The region that each row of signed responses h (n, L) violates least.

    With many regions only those are looked up that lie across a few of the nearest hyperplanes; the
    dense search is left to rows for which that cannot be proved sufficient.
    """
    if len(regions) <= _REGIONS_SEARCHED_DENSELY or h.shape[1] <= _FLIPPED_HYPERPLANES:
        return _least_violated_of_all(h, regions)
    region = _least_violated_nearby(h, regions.index)
    elsewhere = np.flatnonzero(region < 0)
    region[elsewhere] = _least_violated_of_all(h[elsewhere], regions)
    return region


def _least_violated_of_all(h: NDArray[np.float64], regions: Regions) -> NDArray[np.intp]:
    """Dense search, O(n·R·L) time and bounded memory.

    The violation of a region is Σ relu(h) − h·code, so the least violated one has the largest h·code.
    """
    region = np.zeros(len(h), np.intp)
    padded = np.zeros((_ROWS_PER_PRODUCT, h.shape[1]))
    step = max(1, _ENTRIES_AT_ONCE // max(_ROWS_PER_PRODUCT, h.shape[1]))
    for row in range(0, len(h), _ROWS_PER_PRODUCT):
        block = h[row : row + _ROWS_PER_PRODUCT]
        padded[: len(block)] = block
        best = np.full(len(block), -np.inf)
        for start in range(0, len(regions), step):
            codes = regions.codes[start : start + step].astype(np.float64)
            agreement = (padded @ in_whole_tiles(codes.T))[: len(block), : len(codes)]
            largest = np.argmax(agreement, axis=1)
            value = np.take_along_axis(agreement, largest[:, None], axis=1)[:, 0]
            better = value > best
            best[better] = value[better]
            region[row + np.flatnonzero(better)] = start + largest[better]
    return region


def _least_violated_nearby(h: NDArray[np.float64], index: CodeIndex) -> NDArray[np.intp]:
    """Search across subsets of the nearest hyperplanes; -1 where the answer may lie elsewhere.

    A region outside the search lies across at least one hyperplane beyond the nearest ones, so an
    answer that violates no more than that one does is the least violated of all.
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
