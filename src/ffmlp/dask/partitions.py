"""Sums over the partitions of a Dask collection.

A task reads one partition and returns a sum. Tasks know nothing of each other: a worker that is lost
costs the tasks that it had, which run again elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from time import perf_counter
from typing import Any, TypeVar
from uuid import uuid4

import dask
from dask.delayed import Delayed, delayed
from dask.diagnostics import Callback
from threadpoolctl import threadpool_limits

from ffmlp.dask.blocks import Block
from ffmlp.inputs.rows import Rows
from ffmlp.validation import TooFewClassesError

T = TypeVar("T")

# Sums that one task adds up.
_SUMS_AT_ONCE = 8
_PREFIX = "ffmlp-partition"
# Errors of `distributed` about itself, by name: it need not be installed.
_LOST = {
    "KilledWorker": "Workers were lost several times at task {}. If they ran out of memory, use smaller "
    "partitions, or workers with more memory.",
    "FutureCancelledError": "All tasks were cancelled: the Dask scheduler was lost or restarted. See "
    "that it runs, then run this again.",
}


class PartitionError(ValueError):
    """A partition that cannot be used; the message begins with its number."""


class ClusterError(RuntimeError):
    """A cluster that has lost its workers or its scheduler."""


@dataclass
class Passes:
    """The passes over all partitions so far; ``on_part`` is told of each partition that is done.

    Its arguments are the number of the pass, of the partitions that are done, and of all partitions.
    """

    on_part: Callable[[int, int, int], None] | None = None
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """The partitions of a table, and how each becomes rows."""

    blocks: list[Delayed]
    rows_of: Callable[[Block], Rows]
    passes: Passes

    def sum(self, statistic: Callable[[Rows], T]) -> T:
        """The sum of a statistic over all partitions. Each is computed once."""
        return block_sum(self.blocks, partial(_of_rows, statistic, self.rows_of), self.passes)


def _of_rows(statistic: Callable[[Rows], T], rows_of: Callable[[Block], Rows], block: Block) -> T | None:
    rows = rows_of(block)
    return statistic(rows) if len(rows) else None


def block_sum(blocks: list[Delayed], statistic: Callable[[Block], T | None], passes: Passes) -> T:
    """The sum of a statistic over blocks that are not empty, by the scheduler that is active."""
    name, shared = uuid4().hex, delayed(statistic, pure=False, traverse=False)
    parts = [
        delayed(_part)(shared, block, number, dask_key_name=f"{_PREFIX}-{number}-{name}")
        for number, block in enumerate(blocks)
    ]
    try:
        total = summed(parts, passes)
    except (PartitionError, ClusterError):
        raise
    except Exception:
        _require_readable(blocks)
        raise
    if total is None:
        raise TooFewClassesError("X has no rows in any of its partitions, or all have weight 0.")
    return total


def summed(parts: list[Delayed], passes: Passes) -> Any:
    """The sum of all parts, in their order, in one pass; those that are None are left out."""
    start, sums = perf_counter(), parts
    while len(sums) > _SUMS_AT_ONCE:
        groups = [sums[first : first + _SUMS_AT_ONCE] for first in range(0, len(sums), _SUMS_AT_ONCE)]
        sums = [delayed(_added)(group) for group in groups]
    with lost():
        found = _computed(sums, parts, passes)
    # The last ones are added here: rows that are drawn would take too much memory of one worker.
    total = _added(found)
    passes.seconds.append(perf_counter() - start)
    return total


@contextmanager
def lost() -> Iterator[None]:
    """Errors about lost workers or a lost scheduler, as a `ClusterError` that says what to do."""
    try:
        yield
    except Exception as error:
        if (message := _LOST.get(type(error).__name__)) is None:
            raise
        raise ClusterError(message.format(getattr(error, "task", error))) from error


def _part(statistic: Callable[[Block], T | None], block: Block, number: int) -> T | None:
    """The statistic of a block, None if it is empty."""
    if not len(block.X) and not len(block.y):
        return None
    try:
        # A task is one thread: others run beside it.
        with threadpool_limits(1):
            return statistic(block)
    except (ValueError, TypeError) as error:
        raise PartitionError(f"Partition {number} cannot be used: {error}") from error


def _added(sums: list[Any]) -> Any:
    found = [one for one in sums if one is not None]
    return reduce(add, found) if found else None


def _computed(sums: list[Delayed], parts: list[Delayed], passes: Passes) -> list[Any]:
    """The sums, by the active scheduler; progress is reported if it is wanted."""
    on_part, number, n_parts = passes.on_part, len(passes) + 1, len(parts)
    if on_part is None:
        return list(dask.compute(*sums))
    done = 0

    def count(*_: Any) -> None:
        nonlocal done
        done += 1
        on_part(number, done, n_parts)

    client = _client()
    if client is None:
        keys = {part.key for part in parts}
        with Callback(posttask=lambda key, *_: count() if key in keys else None):
            return list(dask.compute(*sums))
    from distributed import as_completed

    results, futures = client.compute(sums), client.compute(parts)
    for future in as_completed(futures):
        future.release()  # what is added up need not be held
        count()
    return client.gather(results)


def _client() -> Any:
    """The active client of a cluster, if there is one."""
    scheduler = dask.base.get_scheduler()
    return getattr(scheduler, "__self__", None)


def _require_readable(blocks: list[Delayed]) -> None:
    """Raise a `PartitionError` about the first block that cannot be read.

    A failing task does not say which partition it belongs to: they are read one by one.
    """
    for number, block in enumerate(blocks):
        try:
            delayed(_n_rows)(block).compute()
        except Exception as own:
            raise PartitionError(
                f"Partition {number} cannot be read: {type(own).__name__}: {str(own).rstrip('.')}. "
                "Repair it, or leave it out."
            ) from own


def _n_rows(block: Block) -> int:
    return len(block.X)
