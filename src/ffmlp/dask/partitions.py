"""Dask collections as blocks of rows, sums over their partitions, and results of workers in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from time import perf_counter
from typing import Any, TypeVar
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from dask.diagnostics import Callback
from threadpoolctl import threadpool_limits

from ffmlp.inputs.rows import Rows, S
from ffmlp.parameters import TooFewClassesError

_FIT_ALL = "Pass collections with the same partitions, for example columns of one data frame."


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: samples (n, M), labels (n,), and weights (n,) or None."""

    X: Any
    y: Any
    weight: Any = None


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return is_dask_collection(X) and hasattr(X, "map_partitions") and X.ndim == 2


def is_array(X: Any) -> bool:
    """Whether X is a two-dimensional Dask array."""
    return isinstance(X, da.Array) and X.ndim == 2


def blocks(X: Any, y: Any, sample_weight: Any = None) -> list[Delayed]:
    """One `Block` for each partition, computed when it is needed.

    Everything that a block consists of is in one graph, so that it is computed once.
    """
    if not (is_frame(X) or is_array(X)):
        raise TypeError(
            f"X must be a Dask data frame or a Dask array of two dimensions, got {_described(X)}. Use "
            "ffmlp.FFMLPClassifier for data in memory."
        )
    others = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    for name, other in others.items():
        if getattr(other, "ndim", 1) != 1:
            raise ValueError(
                f"{name} must have one dimension, got {other.ndim}. Pass a single column of it."
            )
    return _of_frame(X, others) if is_frame(X) else _of_array(X, others)


def _of_frame(X: Any, others: dict[str, Any]) -> list[Delayed]:
    if all(hasattr(other, "map_partitions") for other in others.values()):
        for name, other in others.items():
            if other.npartitions != X.npartitions:
                raise ValueError(
                    f"{name} has {other.npartitions} partitions, but X has {X.npartitions}. {_FIT_ALL}"
                )
        # What comes of a partition is a block, of which Dask need not know more.
        joined = X.map_partitions(
            Block,
            *others.values(),
            meta=X._meta,  # noqa: SLF001
            enforce_metadata=False,
            align_dataframes=False,
        )
        return list(joined.to_delayed())
    return _zipped(X.to_delayed(optimize_graph=False), X.npartitions, others)


def _of_array(X: Any, others: dict[str, Any]) -> list[Delayed]:
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if not np.isnan(X.shape[0]):
        for name, other in others.items():
            if isinstance(other, np.ndarray):
                other = da.from_array(other, chunks=-1)
            if isinstance(other, da.Array) and not np.isnan(other.shape[0]):
                if other.shape[0] != X.shape[0]:
                    raise ValueError(
                        f"{name} must have one entry for each of the {X.shape[0]} samples, got shape "
                        f"{other.shape}."
                    )
                others[name] = other.rechunk((X.chunks[0],))
    return _zipped(X.to_delayed(optimize_graph=False).ravel(), X.numblocks[0], others)


def _zipped(samples: Any, n_blocks: int, others: dict[str, Any]) -> list[Delayed]:
    """Blocks of collections that are cut alike; graphs are not optimised, so that they share tasks."""
    columns = []
    for name, other in others.items():
        if not is_dask_collection(other) or not hasattr(other, "to_delayed"):
            raise TypeError(
                f"{name} must be a Dask array or series, got {_described(other)}. {_FIT_ALL}"
            )
        parts = np.ravel(np.array(other.to_delayed(optimize_graph=False), object)).tolist()
        if len(parts) != n_blocks:
            raise ValueError(f"{name} has {len(parts)} blocks, but X has {n_blocks}. {_FIT_ALL}")
        columns.append(parts)
    block = delayed(Block, pure=True)
    return [block(*parts) for parts in zip(samples, *columns, strict=True)]


def _described(value: Any) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


P = TypeVar("P")
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

# Parts that are under way for each thread of a worker: one is computed, the other waits to be taken.
_PARTS_OF_A_THREAD = 2
# Seconds in which a worker that was lost must come back, if it was the last one.
_PATIENCE = 60


class PartitionError(ValueError):
    """A partition that cannot be used; the message begins with its number."""


class ClusterError(RuntimeError):
    """A cluster that has lost its workers or its scheduler."""


@dataclass
class Passes:
    """The passes over all partitions so far; ``on_part`` is called after each partition.

    Its arguments are the number of the pass, of the partitions that are done, and of all partitions.
    """

    on_part: Callable[[int, int, int], None] | None = None
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seconds)


def row_sum(
    blocks: list[Delayed],
    rows_of: Callable[[Block], Rows],
    passes: Passes,
    statistic: Callable[[Rows], S],
) -> S:
    """The sum of a statistic over the rows of all partitions. Each is computed once."""
    return block_sum(blocks, partial(_of_rows, statistic, rows_of), passes)


def _of_rows(statistic: Callable[[Rows], S], rows_of: Callable[[Block], Rows], block: Block) -> S | None:
    rows = rows_of(block)
    return statistic(rows) if len(rows) else None


def block_sum(blocks: list[Delayed], statistic: Callable[[Block], S | None], passes: Passes) -> S:
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
        last = _computed(sums, parts, passes)
    # The last ones are added here: rows that are drawn would take too much memory of one worker.
    total = _added(last)
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


def _part(statistic: Callable[[Block], S | None], block: Block, number: int) -> S | None:
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
    present = [each for each in sums if each is not None]
    return reduce(add, present) if present else None


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

    client = getattr(dask.base.get_scheduler(), "__self__", None)  # of a cluster
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


def _require_readable(blocks: list[Delayed]) -> None:
    """Raise a `PartitionError` about the first block that cannot be read.

    A failing task does not say which partition it belongs to: they are read one by one.
    """
    for number, block in enumerate(blocks):
        try:
            delayed(_n_rows)(block).compute()
        except Exception as error:
            raise PartitionError(
                f"Partition {number} cannot be read: {type(error).__name__}: {str(error).rstrip('.')}. "
                "Repair it, or leave it out."
            ) from error


def _n_rows(block: Block) -> int:
    return len(block.X)


def on_workers(function: Callable[[P], T], parts: Iterable[P]) -> Generator[T, None, None]:
    """The result for each part, in order, by the workers of the active cluster.

    Few parts are under way at a time, so that results do not pile up where they wait to be taken. The
    parts of a worker that is lost are computed again elsewhere.
    """
    from distributed import Client

    client, pending = Client.current(), deque[Any]()
    # The function may hold a large model, which is sent once; lost workers find it at the scheduler.
    shared = client.submit(_itself, function, pure=False)
    try:
        for part in parts:
            pending.append(client.submit(_of_part, shared, part, pure=False))
            if len(pending) > _PARTS_OF_A_THREAD * max(1, sum(client.nthreads().values())):
                yield _result(client, pending.popleft())
        while pending:
            yield _result(client, pending.popleft())
    finally:
        client.cancel([shared, *pending], force=True)


def _itself(function: Callable[[P], T]) -> Callable[[P], T]:
    return function


def _of_part(function: Callable[[P], T], part: P) -> T:
    # A task is one thread: others run beside it.
    with threadpool_limits(1):
        return function(part)


def _result(client: Any, future: Any) -> Any:
    with lost():
        while True:
            try:
                return future.result(_PATIENCE)
            except TimeoutError:
                if future.done():  # the error of the task itself
                    raise
                if not client.nthreads():
                    raise ClusterError(
                        f"No worker has been left for {_PATIENCE} seconds. Start some, then run this "
                        "again."
                    ) from None
