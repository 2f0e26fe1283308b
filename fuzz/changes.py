"""Changes of bytes that know nothing of what they mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

_ODD = (
    b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0" * 8, b'"', b'""',
    b"'", b",", b"\n", b"\r", b"\r\n", b"\t", b";", b" ", b"NaN", b"1e999", b"-1", b"9" * 20,
    b"\xef\xbb\xbf", b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"\x1b[2J",
    b"=1+1", b"[[[[", b"{}",
)  # fmt: skip


def one_of(rng: Generator, choices: Sequence):
    """One of them."""
    return choices[int(rng.integers(len(choices)))]


def changed_bytes(rng: Generator, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The content after one to four small changes; parts of others may come in."""
    for _ in range(int(rng.integers(1, 5))):
        content = _changed_once(rng, content, others)
    return content


def _changed_once(rng: Generator, content: bytes, others: Sequence[bytes]) -> bytes:
    first, end = np.sort(rng.integers(len(content) + 1, size=2)).tolist()
    end = min(end, first + int(2 ** rng.uniform(0, 10)))
    before, part, after = content[:first], content[first:end], content[end:]
    match int(rng.integers(7)):
        case 0:  # some bits
            flipped = np.frombuffer(part, np.uint8) ^ (rng.random(len(part)) < 0.1) * np.uint8(
                1 << rng.integers(8)
            )
            return before + flipped.astype(np.uint8).tobytes() + after
        case 1:
            return before + after
        case 2:
            return before + part + part * int(rng.integers(1, 4)) + after
        case 3:
            return before + one_of(rng, _ODD) + after
        case 4:
            return before + rng.bytes(len(part)) + after
        case 5 if others:
            other = one_of(rng, others)
            start = int(rng.integers(len(other) + 1))
            return before + other[start : start + len(part)] + after
        case _:
            return before if rng.random() < 0.2 else before + one_of(rng, _ODD) + part + after
