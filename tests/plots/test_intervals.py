import numpy as np
import pytest
from matplotlib.figure import Figure

from ffmlp.plots import AccuracyIntervalsDisplay

RNG = np.random.default_rng(0)
ROWS = [
    ("Iris", {"ours": RNG.uniform(94, 98, 20), "theirs": RNG.uniform(40, 70, 60)}, {"theirs": 30.0}),
    ("9-blobs (0.3)", {"ours": RNG.uniform(99.5, 100, 20)}, {"ours": 99.9, "theirs": 99.0}),
]


@pytest.fixture
def display():
    return AccuracyIntervalsDisplay(ROWS, reference="the paper").plot(Figure(layout="constrained"))


def drawn(ax, marker):
    """Place by height of the marks of a kind."""
    return {line.get_ydata()[0]: line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker}


def test_each_method_has_its_median_its_interval_and_its_reference(display):
    assert display.methods == ["ours", "theirs"]
    for ax, (_, accuracies, references) in zip(display.axes_, ROWS, strict=True):
        for place, (name, marker) in enumerate(zip(display.methods, "os", strict=True)):
            dots, marks = drawn(ax, marker), drawn(ax, "|")
            assert dots.get(place) == (np.median(accuracies[name]) if name in accuracies else None)
            assert marks.get(place) == references.get(name)
            if name in accuracies:
                lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
                ends = np.percentile(accuracies[name], [10, 90])
                assert any(np.array_equal(line, ends) for line in lines)


def test_every_row_has_limits_of_its_own_that_contain_all_it_shows(display):
    limits = [ax.get_xlim() for ax in display.axes_]
    assert limits[0][0] < 30
    assert limits[1][0] > 98
    assert limits[1][1] < 100.1
    for ax, (low, high) in zip(display.axes_, limits, strict=True):
        shown = np.concatenate([line.get_xdata() for line in ax.lines])
        assert low < shown.min() <= shown.max() < high
        assert len([tick for tick in ax.get_xticks() if low <= tick <= high]) >= 3


def test_titles_and_legend(display):
    assert [ax.get_ylabel() for ax in display.axes_] == ["Iris", "9-blobs\n(0.3)"]
    (legend,) = (ax.get_legend() for ax in display.figure_.axes if ax.get_legend())
    assert [text.get_text() for text in legend.get_texts()][:3] == ["ours", "theirs", "the paper"]
    display.figure_.draw_without_rendering()
    for ax in display.axes_:
        assert not legend.get_window_extent().overlaps(ax.get_window_extent())
        assert ax.yaxis.label.get_window_extent().x0 >= 0


def test_one_split_and_equal_accuracies_can_be_drawn():
    AccuracyIntervalsDisplay([("a", {"m": [100.0]}, {"m": 100.0})]).plot(Figure())


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="rows must not be empty"):
        AccuracyIntervalsDisplay([])
