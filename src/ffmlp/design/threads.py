"""Blocks of rows in threads. The results do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_info

T = TypeVar("T")

# Each thread holds a block in memory.
_MOST_THREADS = 8


def in_threads(action: Callable[[slice], T], blocks: list[slice]) -> Iterator[T]:
    """The results of an action for each block, in order, by as many threads as OpenMP may use.

    ``OMP_NUM_THREADS`` and threadpoolctl limit them. NumPy releases the lock in matrix products. These
    should have one thread each: threads of a product wait for each other, those of blocks do not.
    """
    if len(blocks) < 2:
        yield from map(action, blocks)
        return
    allowed = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    with ThreadPoolExecutor(min(max(allowed, default=1), len(blocks), _MOST_THREADS)) as pool:
        yield from pool.map(action, blocks)
