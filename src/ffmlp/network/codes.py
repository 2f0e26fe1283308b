"""Codes: the signs of all hyperplanes at a sample, packed into words and indexed by a hash table.

A code has one bit for each of L hyperplanes, 64 bits to a word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Flags, Indices

Words = NDArray[np.uint64]

# Slots of a code index per code: few enough to stay in the cache, enough to keep chains short.
_SLOTS_PER_CODE = 16


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
    """A hash table of distinct codes. Whole codes are compared on every look-up."""

    words: Words  # (R, n_words)
    keys: NDArray[np.int64]  # (L,)
    heads: NDArray[np.int32]  # (n_slots,) first code of the slot's chain, or -1
    following: Indices  # (R,) next code in the chain, or -1

    @classmethod
    def of(cls, words: Words, n_hyperplanes: int) -> CodeIndex:
        """Index distinct codes."""
        n_slots = table_size(_SLOTS_PER_CODE * len(words))
        keys = np.random.default_rng(0).integers(n_slots, size=n_hyperplanes)
        heads = np.full(n_slots, -1, np.int32)
        return cls(words, keys, heads, chain(slots_of(words, keys), heads))

    def find(self, words: Words) -> Indices:
        """The number of each code, -1 where it is not in the index."""
        found = np.full(len(words), -1, np.intp)
        pending = np.arange(len(words))
        candidate: NDArray[np.signedinteger] = self.heads[slots_of(words, self.keys)]
        while len(pending):
            exists = candidate >= 0
            pending, candidate = pending[exists], candidate[exists]
            same = _rows_equal(self.words[candidate], words[pending])
            found[pending[same]] = candidate[same]
            pending, candidate = pending[~same], self.following[candidate[~same]]
        return found


def _rows_equal(words: Words, others: Words) -> Flags:
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


def chain(slots: NDArray[np.int64], heads: NDArray[np.int32]) -> Indices:
    """Chain the numbers of each slot: write the first to ``heads``, return the next of each, or -1."""
    following = np.full(len(slots), -1, np.intp)
    number = np.arange(len(slots), dtype=np.int32)
    heads[slots] = number
    # One number becomes the head of its slot; the others are prepended to the chain one by one.
    waiting = number[heads[slots] != number]
    while len(waiting):
        slot = slots[waiting]
        behind = heads[slot]
        heads[slot] = waiting
        first = heads[slot] == waiting
        following[waiting[first]] = behind[first]
        waiting = waiting[~first]
    return following
