"""A short version of `benchmarks/soak.py`: memory stays flat, and threads get the same bits."""

import sys
from pathlib import Path

import pytest
from problems import DESIGNS, designed, mixed_table

pytest.importorskip("pandas")
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from soak import N_THREADS, in_threads, soaked

X, Y = mixed_table()
# Single predictions of 200 bytes that were kept would take more; the allocator keeps some memory.
MOST_MEGABYTES = 4.0


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("design", ["region", "readout with trees"])
def test_memory_does_not_grow(design):
    predicted, explained = soaked(designed(design, X, Y), X, 1000, 60)
    assert predicted < MOST_MEGABYTES
    assert explained < MOST_MEGABYTES


@pytest.mark.parametrize("design", DESIGNS)
def test_threads_get_the_same_bits(design):
    assert in_threads(designed(design, X, Y), X, N_THREADS // 4) == 0
