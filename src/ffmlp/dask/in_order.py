"""What the workers of a cluster make of the parts of a table, in order.

Few parts are under way at a time, so that results do not pile up where they wait to be taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from ffmlp.dask.blocks import ClusterError, lost

P = TypeVar("P")
T = TypeVar("T")

# Parts that are under way for each thread of a worker: one is computed, the other waits to be taken.
_PARTS_OF_A_THREAD = 2
# Seconds in which a worker that was lost must come back, if it was the last one.
_PATIENCE = 60


def on_workers(function: Callable[[P], T], parts: Iterable[P]) -> Generator[T, None, None]:
    """The result for each part, in order, by the workers of the active cluster.

    A worker that is lost costs the parts that it had, which are computed again elsewhere.
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
