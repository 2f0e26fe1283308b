"""Where tasks run: on the Dask cluster that ``--scheduler`` names, or in threads of this process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ffmlp.extras import require
from ffmlp.tables.opening import STANDARD_INPUT

# Seconds in which a scheduler, and then a worker, must answer.
_PATIENCE = 10
# A model is larger than what Dask warns of, and is sent once.
_LARGE_TASKS = {"distributed.admin.large-graph-warning-threshold": "1GB"}


def check_scheduler(options: argparse.Namespace, data: Sequence[Path]) -> None:
    """Refuse a cluster that could not read the data, before anything is done."""
    if options.scheduler is None:
        return
    require("--scheduler", "dask", "distributed")
    if STANDARD_INPUT in data:
        raise ValueError(
            "the workers of a cluster cannot read standard input. Give the name of a file that they can "
            "read, or leave out --scheduler."
        )


@contextmanager
def scheduler(address: str | None) -> Iterator[None]:
    """Run tasks on the cluster of this scheduler, or in threads of this process.

    Reading Parquet files and sums of rows release the lock of Python, so that threads are enough.
    """
    import dask

    with dask.config.set(scheduler="threads") if address is None else _cluster(address):
        yield


@contextmanager
def _cluster(address: str) -> Iterator[None]:
    """Run tasks on the cluster of this scheduler."""
    import dask
    from distributed import Client
    from distributed.comm import CommClosedError

    from ffmlp.dask.partitions import ClusterError

    try:
        # As the default client, one that cannot be made would leave its settings behind.
        client = Client(address, timeout=f"{_PATIENCE}s", set_as_default=False)
    except (OSError, CommClosedError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address} (--scheduler). Start one with `dask scheduler`, or "
            "leave the option out."
        ) from error
    with client, client.as_current(), dask.config.set(_LARGE_TASKS):
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"the Dask scheduler at {address} has no workers (--scheduler). Start some with `dask "
                f"worker {address}`."
            ) from error
        try:
            yield
        except ClusterError as error:
            raise ValueError(str(error)) from error
