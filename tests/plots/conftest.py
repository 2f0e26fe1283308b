"""Axes to draw into, and no open figures after a test."""

from importlib.util import find_spec

import pytest

if find_spec("matplotlib") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


@pytest.fixture(autouse=True)
def closed():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
