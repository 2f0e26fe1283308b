"""The parts of the plane where no neuron of l_2 responds, and the limits of a view."""

import numpy as np
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from problems import four_moons, region_design, xor
from sklearn.linear_model import LogisticRegression

from ffmlp import FFMLPClassifier
from ffmlp.plots import (
    DecisionRegionsDisplay,
    DecisionSliceDisplay,
    HyperplanesDisplay,
    ResponsesDisplay,
    SamplesDisplay,
    TwoNeuronDisplay,
)
from ffmlp.plots.samples import SILENT

X, Y = four_moons(400)


def hatched(ax):
    return [part for part in ax.collections if isinstance(part, ContourSet)]


def names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("seed", range(3))
def test_silent_parts_are_where_the_output_of_the_network_is_zero(ax, seed):
    clf = region_design(3, error_threshold=0.05, random_state=seed).fit(X, Y)
    display = DecisionRegionsDisplay.from_estimator(clf, X, Y, grid_resolution=40, ax=ax)
    grid = display.samples.view.grid(40)
    silent = (clf.network_.forward(grid) == 0).all(axis=1).reshape(40, 40)
    assert 0 < silent.sum() < silent.size
    np.testing.assert_array_equal(display.silent, silent)
    # Each class has one colour where a neuron responds, and a paler one elsewhere.
    shades = np.asarray(ax.images[0].get_array())
    for label in clf.classes_:
        own = display.predictions == label
        (loud,) = np.unique(shades[own & ~silent], axis=0)
        for pale in np.unique(shades[own & silent], axis=0):
            assert pale.sum() > loud.sum()
    assert len(np.unique(shades[silent], axis=0)) <= len(clf.classes_)
    (hatches,) = hatched(ax)
    assert hatches.get_hatch()
    # The hatched shape has the centres of these cells inside, and no others; the outermost centres
    # are on its edge.
    inside = np.sum([path.contains_points(grid) for path in hatches.get_paths()], axis=0) % 2 == 1
    inner = slice(1, -1), slice(1, -1)
    np.testing.assert_array_equal(inside.reshape(40, 40)[inner], silent[inner])
    assert names(ax)[-1] == SILENT


def test_silent_parts_of_a_slice(ax):
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, rng.normal(size=(len(X), 1))])
    clf = region_design(3, error_threshold=0.05, random_state=0).fit(wide, Y)
    middle = wide.mean(axis=0)
    display = DecisionSliceDisplay.from_estimator(
        clf, wide, Y, features=[0, 1], grid_resolution=30, ax=ax
    )
    points = np.column_stack([display.samples.view.grid(30), np.full(900, middle[2])])
    silent = (clf.network_.forward(points) == 0).all(axis=1).reshape(30, 30)
    assert 0 < silent.sum() < silent.size
    np.testing.assert_array_equal(display.silent, silent)
    assert len(hatched(ax)) == 1


def test_nothing_is_hatched_where_all_regions_respond(ax):
    X, y, blobs = xor()
    display = DecisionRegionsDisplay.from_estimator(region_design().fit(X, y, blobs=blobs), X, y, ax=ax)
    assert not display.silent.any()
    assert not hatched(ax)
    assert names(ax) == ["0", "1"]


@pytest.mark.parametrize("other", [FFMLPClassifier(design="readout"), LogisticRegression()])
def test_other_designs_and_classifiers_have_no_silent_parts(ax, other):
    display = DecisionRegionsDisplay.from_estimator(other.fit(X, Y), X, Y, grid_resolution=20, ax=ax)
    assert display.silent is None or not display.silent.any()
    assert not hatched(ax)


def test_limits_of_panels():
    limits, clf = [[-4, -5], [6, 7]], region_design(3, random_state=0).fit(X, Y)
    single = [
        SamplesDisplay.from_data(X, Y, limits=limits),
        HyperplanesDisplay.from_estimator(clf, X, Y, limits=limits),
        DecisionRegionsDisplay.from_estimator(clf, X, Y, grid_resolution=9, limits=limits),
    ]
    two = TwoNeuronDisplay.from_data(X[Y < 2], Y[Y < 2], limits=limits, figure=Figure())
    maps = ResponsesDisplay.from_estimator(clf, X, grid_resolution=5, limits=limits, figure=Figure())
    for ax in (*(display.ax_ for display in single), two.axes_[0], *two.axes_[2:], *maps.axes_):
        assert (ax.get_xlim(), ax.get_ylim()) == ((-4, 6), (-5, 7))
        assert all(list(image.get_extent()) == [-4, 6, -5, 7] for image in ax.images)
