"""Regions: the sign codes of samples, and a table of the occupied ones with their classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, in_whole_tiles, row_blocks
from ffmlp.inputs.rows import mixed
from ffmlp.network.hyperplanes import Hyperplanes, rows_held
from ffmlp.network.stages import LARGEST

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


@dataclass(frozen=True, eq=False)
class CodeIndex:
    """Distinct codes (R, n_words), sorted by their hashes; whole codes are compared on every look-up."""

    words: Words
    hashes: Words  # (R,)
    order: Indices  # (R,) the number of each code

    @classmethod
    def of(cls, words: Words) -> CodeIndex:
        """Index distinct codes."""
        hashes = _hashes(words)
        order = np.argsort(hashes)
        return cls(words[order], hashes[order], order)

    def find(self, words: Words) -> Indices:
        """The number of each code, -1 where it is not in the index."""
        place = np.minimum(np.searchsorted(self.hashes, _hashes(words)), len(self.order) - 1)
        return np.where((self.words[place] == words).all(axis=1), self.order[place], -1)


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

    codes: Flags
    counts: NDArray

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
        return CodeIndex.of(pack(self.codes))

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
