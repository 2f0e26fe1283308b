"""Fits on a cluster of processes: workers that are lost, memory that runs out, progress."""

import os
import random
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from problems import overlapping

import ffmlp
from ffmlp.inputs import rows as drawn_rows

pytest.importorskip("distributed")
pytest.importorskip("pandas")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from ffmlp.dask import FFMLPClassifier
from ffmlp.dask.partitions import Passes, blocks

# A longer run than in CI: FFMLP_KILLS=20 pytest tests/ffmlp_dask/test_cluster.py
N_KILLS = int(os.environ.get("FFMLP_KILLS", "1"))
N_PARTS, SECONDS = 12, 0.05


@contextmanager
def running_client():
    """A client of two workers; none of their messages is printed."""
    options = {"threads_per_worker": 1, "memory_limit": "600MB", "dashboard_address": None}
    with (
        dask.config.set({"distributed.logging.distributed": "critical"}),
        LocalCluster(n_workers=2, silence_logs="CRITICAL", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def slow_part(rows):
    time.sleep(SECONDS)
    return rows


def slow_arrays(X, y):
    """Arrays whose partitions take a while, so that there is time to lose a worker."""
    make, rows = dask.delayed(slow_part, pure=True), np.array_split(np.column_stack([X, y]), N_PARTS)
    parts = [da.from_delayed(make(part), part.shape, float) for part in rows]
    table = da.concatenate(parts)
    return table[:, :-1], table[:, -1].astype(int)


def kill_a_worker(client, delay, rng):
    time.sleep(delay)
    processes = [worker.process.pid for worker in client.cluster.workers.values()]
    os.kill(rng.choice(processes), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals")
def test_a_worker_that_is_killed_changes_nothing(monkeypatch):
    # Few rows are held, so that there is a third pass; workers only return sums.
    monkeypatch.setattr(drawn_rows, "MOST_DISTINCT", 200)
    X, y = overlapping(600)
    parameters = {"design": "readout", "max_leaves": 0, "random_state": 0}
    local = ffmlp.FFMLPClassifier(**parameters).fit(X, y)
    rng = random.Random(0)
    for _ in range(N_KILLS):
        delay = rng.uniform(0.0, 3 * SECONDS * N_PARTS / 2)
        with running_client() as client:
            killer = threading.Thread(target=kill_a_worker, args=(client, delay, rng))
            killer.start()
            clf = FFMLPClassifier(**parameters).fit(*slow_arrays(X, y))
            killer.join()
            assert not client.futures  # nothing is left on the cluster
        np.testing.assert_allclose(clf.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-9)


def test_progress_on_a_cluster():
    seen = []
    passes = Passes(on_part=lambda *numbers: seen.append(numbers))
    X, y = overlapping(200)
    with running_client() as client:
        clf = FFMLPClassifier(design="blob", n_components=1)
        clf.fit_blocks(blocks(*slow_arrays(X, y)), X[:1], passes)
        assert not client.futures
    assert seen == [(number, done, N_PARTS) for number in (1, 2) for done in range(1, N_PARTS + 1)]


def greedy_part(rows):
    return np.ones((2 * 10**7, 20))[: len(rows)]  # 3 GB


def test_a_worker_without_enough_memory_is_reported():
    X, y = overlapping(200)
    parts = [
        da.from_delayed(dask.delayed(greedy_part if number == 1 else slow_part)(part), part.shape, float)
        for number, part in enumerate(np.array_split(X, 3))
    ]
    labels = da.from_array(y).rechunk((tuple(len(part) for part in np.array_split(X, 3)),))
    message = r"out of memory|Partition 1 cannot be read: MemoryError"
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with once, running_client(), pytest.raises((RuntimeError, ValueError), match=message):
        FFMLPClassifier(design="blob").fit(da.concatenate(parts), labels)


def test_a_scheduler_that_is_lost_is_no_matter_of_a_partition():
    X, y = overlapping(600)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), running_client() as client:
        closing = threading.Timer(3 * SECONDS, client.cluster.close)
        closing.start()
        with pytest.raises(RuntimeError, match="the Dask scheduler was lost or restarted"):
            FFMLPClassifier(design="blob").fit(*slow_arrays(X, y))
        closing.join()
