import pickle
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from reproduction_runs import all_runs

from ffmlp.reproduction import experiments
from ffmlp.reproduction.experiments import Settings
from ffmlp.reproduction.reported import ROWS, ROWS_BY_KEY

pytest.importorskip("matplotlib")
pytest.importorskip("daqp")

from matplotlib.collections import PathCollection

from ffmlp import two_class_lda
from ffmlp.plots.samples import SILENT
from ffmlp.reproduction import figures
from ffmlp.reproduction.figures import FIGURES
from ffmlp.reproduction.findings import NAMES, TITLE, tables


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr(experiments, "N_EPOCHS", 2)


@cache
def figure_of(plan):
    """The figure of all rows of a plan."""
    return plan.drawing([row for row in ROWS if row.key in plan.rows], Settings())


def named(name):
    return next(plan for plan in FIGURES if plan.name == name)


@pytest.mark.parametrize("plan", FIGURES, ids=lambda plan: plan.name)
def test_a_figure_shows_something_in_every_panel_and_no_title_hides_another(plan):
    figure = figure_of(plan)
    figure.suptitle(plan.title, fontsize="x-large", fontweight="bold")
    figure.draw_without_rendering()
    assert figure.axes
    assert all(ax.has_data() or not ax.axison for ax in figure.axes)
    texts = [figure._suptitle, *(ax.title for ax in figure.axes if ax.get_title())]
    boxes = [text.get_window_extent() for text in texts]
    for first, second in combinations(boxes, 2):
        assert not first.overlaps(second)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    panels = [ax.get_window_extent() for ax in figure.axes]
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(panel) for panel in panels)


@pytest.mark.parametrize(
    "plan",
    [plan for plan in FIGURES if plan.name not in ("architecture", "curves", "robustness")],
    ids=lambda plan: plan.name,
)
def test_all_planes_of_a_figure_have_equal_aspect_and_equal_limits(plan):
    figure = figure_of(plan)
    panels = [ax for ax in figure.axes if ax.axison and ax.get_label() != "<colorbar>"]
    shown = [ax for ax in panels if ax.images or ax.collections]
    assert shown
    assert {ax.get_aspect() for ax in shown} == {1.0}
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in shown}) == 1
    for ax in shown:  # no sample is cut off, and the panel is a square
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        assert right - left == pytest.approx(top - bottom)
        for dots in ax.collections:
            if isinstance(dots, PathCollection):
                x, y = dots.get_offsets().T
                assert ((x > left) & (x < right) & (y > bottom) & (y < top)).all()


def colours_of(ax, kind):
    """The different colours of lines, samples or the image of a panel."""
    colours = {
        "image": lambda: np.asarray(ax.images[0].get_array()).reshape(-1, 3),
        "lines": lambda: [line.get_color() for line in ax.lines],
        "samples": lambda: [dots.get_facecolor()[0, :3] for dots in ax.collections],
    }
    return {tuple(colour) for colour in np.round(colours[kind](), 6)}


def test_a_colour_has_one_meaning_in_the_figure_of_xor():
    figure = figure_of(named("xor"))
    samples, hyperplanes, regions, classes, network = figure.axes
    of_class, of_line = colours_of(samples, "samples"), colours_of(hyperplanes, "lines")
    of_region = colours_of(regions, "image")
    assert len(of_class) == len(of_line) == 2
    assert len(of_region) == 4
    assert not of_class & of_line | of_class & of_region | of_line & of_region
    for ax in (hyperplanes, regions, classes):
        assert colours_of(ax, "lines") == of_line
        assert colours_of(ax, "samples") == of_class
    # The network has the same colours: one of each pair of neurons is lighter.
    layers = [part for part in network.collections if isinstance(part, PathCollection)]
    _, l_1, l_2, out = ({tuple(c) for c in np.round(d.get_facecolor()[:, :3], 6)} for d in layers)
    assert of_line < l_1
    assert l_2 == of_region
    assert out == of_class
    assert not l_1 & l_2 | l_1 & out | l_2 & out


@pytest.mark.parametrize("name", ["thresholds", "four-new-moons", "circle-and-ring"])
def test_parts_of_the_plane_where_no_region_responds_are_in_the_legend_once(name):
    (legend,) = figure_of(named(name)).legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries[-1] == SILENT
    assert len(set(entries)) == len(entries)


def test_mirror_points_confuse_one_neuron_but_not_two():
    figure = figure_of(named("mirror-points"))
    plane, one, two = figure.axes
    X = np.vstack([dots.get_offsets() for dots in plane.collections])
    lda = two_class_lda(X, np.repeat([0, 1], 300))
    (pair,) = (line.get_xydata() for line in plane.lines if line.get_linestyle() == "--")
    h = lda.log_odds(pair)[:, 0]
    assert h[0] == pytest.approx(-h[1])
    np.testing.assert_allclose(lda.log_odds(pair.mean(axis=0)[None]), 0, atol=1e-9)
    assert np.linalg.det([pair[0] - pair[1], lda.weights[0]]) == pytest.approx(0, abs=1e-9)
    labels = [label.get_text().rpartition(" ")[2] for label in one.get_yticklabels()]
    assert labels == ["+1", "−1", "−1", "+1"]
    ((*seen,),) = ([bar.get_width() for bar in neuron] for neuron in one.containers)
    np.testing.assert_allclose(seen, [h[0], h[0], -h[0], -h[0]])
    seen = np.array([[bar.get_width() for bar in neuron] for neuron in two.containers]).T
    np.testing.assert_allclose(seen, [[h[0], 0], [0, -h[0]], [-h[0], 0], [0, h[0]]], atol=1e-9)


def test_the_overview_shows_every_row():
    figure = figures.overview(ROWS, [run for row in ROWS for run in all_runs(row.key)])
    assert [ax.get_ylabel().replace("\n", " ") for ax in figure.axes[1:]] == [row.title for row in ROWS]
    width, height = figure.get_size_inches()
    assert width < height  # portrait


@pytest.mark.parametrize("plan", [plan for plan in FIGURES if len(plan.rows) > 1], ids=lambda p: p.name)
def test_a_figure_of_several_rows_can_show_one(plan):
    figure = plan.drawing([ROWS_BY_KEY[plan.rows[0]]], Settings())
    figure.draw_without_rendering()
    assert len(figure.axes) == (2 if plan.name == "circle-and-ring" else 1)


def test_only_figures_of_the_rows_that_were_run(tmp_path):
    assert figures.open_figures([ROWS_BY_KEY["iris"]], Settings(), tmp_path) == []
    xor = [ROWS_BY_KEY["xor"]]
    for task in figures.open_figures(xor, Settings(), tmp_path):
        task()
    pictures = figures.pictures(xor, all_runs("xor"), tmp_path)
    names = ["overview", "two-blobs", "mirror-points", "xor", "responses-xor", "sets-xor"]
    files = {f"{tmp_path.name}/{path.name}": path.read_bytes() for path in tmp_path.iterdir()}
    assert [picture.link for picture in pictures] == [f"{tmp_path.name}/{name}.png" for name in names]
    assert {picture.link: picture.png for picture in pictures} == files
    assert all(png[1:4] == b"PNG" for png in files.values())
    assert pictures[0].beside == TITLE


def test_another_process_draws_the_same_pixels_and_what_is_drawn_is_not_drawn_again(tmp_path):
    rows = [ROWS_BY_KEY["two_moons"]]
    for name in "ab":
        first, *others = figures.open_figures(rows, Settings(), tmp_path / name)
        pickle.loads(pickle.dumps(first))()
        assert len(figures.open_figures(rows, Settings(), tmp_path / name)) == len(others)
    (one,), (other,) = ((tmp_path / name).iterdir() for name in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_a_figure_has_a_title_a_caption_and_a_table_of_the_report():
    runs = [run for row in ROWS for run in all_runs(row.key, n_splits=2)]
    titles = {table.title for table in tables(runs, {})}
    for plan in FIGURES:
        assert plan.title[-1].isalnum()  # the page ends it with a full stop
        assert plan.caption.endswith(".")
        assert plan.caption.count(". ") == 0  # one sentence
        assert plan.beside in titles
        assert set(plan.rows) <= set(ROWS_BY_KEY)
    assert FIGURES[0].beside == NAMES  # the first figures explain the words


def test_figures_depend_on_the_seed_only():
    plan = named("two-new-moons")

    def samples(seed):
        figure = plan.drawing([ROWS_BY_KEY["two_moons"]], Settings(seed))
        return figure.axes[1].collections[0].get_offsets().tolist()

    assert samples(0) == samples(0)
    assert samples(0) != samples(1)
