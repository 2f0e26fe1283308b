import sys
from functools import partial

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from problems import IRIS, four_moons, region_design, steps, with_trees, xor
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from ffmlp import FFMLPClassifier, Hyperplanes, two_class_lda
from ffmlp.backprop import BackpropClassifier
from ffmlp.plots import (
    AccuracyCurvesDisplay,
    AccuracyIntervalsDisplay,
    AccuracyTimeDisplay,
    DecisionRegionsDisplay,
    HyperplanesDisplay,
    NetworkDisplay,
    ResponsesDisplay,
    SamplesDisplay,
    TwoNeuronDisplay,
    View,
)

pd = pytest.importorskip("pandas")
X, Y, BLOBS = xor()
MOONS = four_moons(400)
NAMES = np.array(["same", "opposite"])[Y]


@pytest.fixture(scope="module")
def clf():
    return region_design().fit(X, NAMES, blobs=BLOBS)


@pytest.fixture(scope="module")
def detailed():
    """A classifier of four moons with many hyperplanes and regions."""
    return region_design(3, error_threshold=None, random_state=0).fit(*MOONS)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def planes(*lines):
    lines = np.array(lines, float)
    return Hyperplanes(lines[:, :2], lines[:, 2], np.zeros((len(lines), 2), int))


def test_samples_have_a_colour_and_a_marker_for_each_class(ax):
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 9
    display = SamplesDisplay.from_data(X, y, title="nine", ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_title() == "nine"
    assert legend(ax) == list("012345678")
    assert [len(dots.get_offsets()) for dots in ax.collections] == [10] * 9
    assert len({to_hex(dots.get_facecolor()[0]) for dots in ax.collections}) == 9
    markers = {dots.get_paths()[0].vertices.tobytes() for dots in ax.collections}
    assert len(markers) == 8


def test_a_new_figure_is_made_if_no_axes_are_given():
    display = SamplesDisplay.from_data(X, NAMES)
    assert pyplot.fignum_exists(display.figure_.number)
    assert display.plot().ax_ is not display.plot().ax_


def test_the_columns_of_a_data_frame_name_the_axes(ax):
    SamplesDisplay.from_data(pd.DataFrame(X, columns=["width", "length"]), Y, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "length")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_segments_lie_on_their_hyperplane_from_border_to_border(scale):
    view = View.of(X * [scale, 1.0])
    rng = np.random.default_rng(0)
    through = rng.uniform(view.low, view.high, size=(50, 2))
    normals = rng.normal(size=(50, 2)) / [scale, 1.0]
    lines = planes(*np.column_stack([normals, -np.sum(normals * through, axis=1)]))
    ends = view.segments(lines)
    h = np.einsum("led,ld->le", ends, lines.weights) + lines.biases[:, None]
    np.testing.assert_allclose(h, 0, atol=1e-12 * np.abs(normals * view.high).sum(axis=1).max())
    unit = (ends - view.low) / (view.high - view.low)
    np.testing.assert_allclose(np.minimum(np.abs(unit), np.abs(1 - unit)).min(axis=2), 0, atol=1e-9)
    assert ((unit > -1e-9) & (unit < 1 + 1e-9)).all()


def test_vertical_horizontal_missing_and_void_lines():
    view = View.of([[0, 0], [1, 2]])
    ends = view.segments(planes([2, 0, -1], [0, 1, -1], [1, 0, 9], [0, 0, 1], [1, 1, 50]))
    np.testing.assert_allclose(np.sort(ends[0], axis=0), [[0.5, -0.2], [0.5, 2.2]])
    np.testing.assert_allclose(np.sort(ends[1], axis=0), [[-0.1, 1], [1.1, 1]])
    assert np.isnan(ends[2:]).all()


def test_samples_without_spread_have_a_view():
    view = View.of([[1.0, 5.0], [1.0, 5.0]])
    assert (view.low < [1, 5]).all()
    assert (view.high > [1, 5]).all()


def test_grid_points_are_the_centres_of_the_image_cells(ax):
    view = View.of(X)
    corner = view.grid(4).reshape(4, 4, 2)
    np.testing.assert_allclose(corner[0, 0], view.low + (view.high - view.low) / 8)
    np.testing.assert_allclose(corner[-1, 0] - corner[0, 0], [0, 0.75 * (view.high - view.low)[1]])
    image = view.image(ax, corner[:, :, 0])
    np.testing.assert_allclose(
        image.get_extent(), [view.low[0], view.high[0], view.low[1], view.high[1]]
    )


@pytest.mark.parametrize("labels", [Y, NAMES])
def test_decision_regions_are_the_predictions(ax, labels):
    clf = region_design().fit(X, labels, blobs=BLOBS)
    display = DecisionRegionsDisplay.from_estimator(clf, X, labels, grid_resolution=20, ax=ax)
    expected = clf.predict(display.samples.view.grid(20)).reshape(20, 20)
    np.testing.assert_array_equal(display.predictions, expected)
    # One colour per predicted label, row 0 at the bottom.
    (image,) = ax.images
    colours = np.asarray(image.get_array())
    assert image.origin == "lower"
    assert len(np.unique(colours.reshape(-1, 3), axis=0)) == 2
    for label in clf.classes_:
        assert len(np.unique(colours[expected == label], axis=0)) == 1
    assert legend(ax) == [str(label) for label in clf.classes_]
    assert len(ax.lines) == len(clf.hyperplanes_)


@pytest.mark.filterwarnings("error")
def test_decision_regions_of_another_classifier_fitted_to_a_data_frame(ax):
    frame = pd.DataFrame(X, columns=["width", "length"])
    other = LogisticRegression().fit(frame, NAMES)
    # A class that has no samples here still has its colour.
    some = NAMES == "same"
    display = DecisionRegionsDisplay.from_estimator(
        other, frame[some], NAMES[some], grid_resolution=9, ax=ax
    )
    assert legend(ax) == ["opposite", "same"]
    assert ax.get_xlabel() == "width"
    assert len(display.segments) == 0
    assert not ax.lines


def test_hyperplanes_are_labelled_on_their_lines(ax, detailed):
    display = HyperplanesDisplay.from_estimator(detailed, *MOONS, ax=ax)
    planes = detailed.hyperplanes_
    drawn = np.flatnonzero(np.isfinite(display.segments).all(axis=(1, 2)))
    assert len(ax.lines) == len(ax.texts) == len(drawn) > 10
    for line, text in zip(drawn, ax.texts, strict=True):
        assert text.get_text() == f"$h_{{{line + 1}}}$"
        h = planes.log_odds(np.array([text.get_position()]))[0, line]
        assert abs(h) < 1e-9 * (1 + np.abs(planes.weights[line]).sum())


def test_hyperplanes_need_a_fitted_estimator_that_has_them(ax):
    with pytest.raises(NotFittedError):
        HyperplanesDisplay.from_estimator(region_design(), X, Y, ax=ax)
    with pytest.raises(TypeError, match=r"has no hyperplanes_\. .* needs a fitted FFMLPClassifier"):
        HyperplanesDisplay.from_estimator(LogisticRegression().fit(X, Y), X, Y, ax=ax)
    with pytest.raises(ValueError, match="Hyperplanes of 4 features"):
        HyperplanesDisplay.from_estimator(region_design().fit(*IRIS), X, Y, ax=ax)


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_responses_are_those_of_the_network(clf, layer):
    network, figure = clf.network_, Figure(layout="constrained")
    display = ResponsesDisplay.from_estimator(clf, X, layer=layer, grid_resolution=15, figure=figure)
    expected = network.responses(display.view.grid(15))[layer - 1]
    assert len(display.axes_) == network.layer_sizes[layer] == expected.shape[1]
    for neuron, ax in enumerate(display.axes_):
        assert ax.get_title() == f"neuron {neuron}"
        response = expected[:, neuron].reshape(15, 15)
        np.testing.assert_array_equal(display.responses[neuron], response)
        np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), response / response.max())


def test_opposite_neurons_share_a_column(detailed):
    X, network = MOONS[0], detailed.network_
    n_hyperplanes = len(network.hyperplanes)
    assert n_hyperplanes > 6  # more than one block of rows
    figure = Figure()
    cells = ResponsesDisplay.from_estimator(network, X, grid_resolution=5, figure=figure).cells
    np.testing.assert_array_equal(
        cells[n_hyperplanes:] - cells[:n_hyperplanes], [[1, 0]] * n_hyperplanes
    )
    assert len(np.unique(cells, axis=0)) == 2 * n_hyperplanes
    some = [3, n_hyperplanes + 3, 1]
    display = ResponsesDisplay.from_estimator(network, X, neurons=some, samples=True, figure=Figure())
    assert [ax.get_title() for ax in display.axes_] == [f"neuron {number}" for number in some]
    assert display.cells.tolist() == [[0, 1], [1, 1], [0, 0]]
    assert all(len(ax.lines) == 1 for ax in display.axes_)
    options = {"layer": 3, "grid_resolution": 5, "max_columns": 2, "figure": Figure()}
    display = ResponsesDisplay.from_estimator(network, X, **options)
    assert display.cells.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layer": 0}, "layer must be 1, 2 or 3, got 0"),
        ({"layer": 3, "neurons": [2]}, r"layer 3 has neurons 0 to 1, got neurons=\[2\]"),
        ({"neurons": []}, "layer 1 has neurons 0 to"),
    ],
)
def test_wrong_layers_and_neurons(clf, arguments, message):
    with pytest.raises(ValueError, match=message):
        ResponsesDisplay.from_estimator(clf, X, **arguments)


def links(ax):
    """Number of links of each stage and colour."""
    found = {}
    for lines in ax.collections:
        if isinstance(lines, LineCollection) and len(lines.get_segments()):
            stage = int(lines.get_segments()[0][0, 0])
            found[stage, to_hex(lines.get_colors()[0])] = len(lines.get_segments())
    return found


def test_network_links(ax, clf):
    network = clf.network_
    display = NetworkDisplay.from_estimator(clf, ax=ax)
    _, w_2, w_3 = network.weights
    n_features, d_1, d_2, d_out = network.layer_sizes
    found = links(ax)
    assert found.pop((1, "#d01020")) == np.sum(w_2 == 1)
    assert found.pop((1, "#000000")) == np.sum(w_2 == -1000)
    assert found.pop((2, "#d01020")) == np.sum(w_3 == 1) == d_2
    assert [(stage, count) for (stage, _), count in found.items()] == [(0, n_features * d_1)]
    assert display.neurons[1].tolist() == [0, 2, 1, 3]
    assert [weight.shape for weight in display.weights] == [(d_1, n_features), (d_2, d_1), (d_out, d_2)]
    texts = [text.get_text() for text in ax.texts]
    assert {"x0", "x1", "same", "opposite", "2 neurons", "4 neurons"} <= set(texts)
    assert legend(ax)[1:] == ["weight 1", "weight −P (P = 1000)"]


def neurons_drawn(ax, layer):
    """Colours and heights of the neurons of a layer."""
    dots = [part for part in ax.collections if not isinstance(part, LineCollection)][layer]
    return dots.get_facecolors()[:, :3], dots.get_offsets()[:, 1]


def test_network_draws_opposite_neurons_in_two_shades_of_one_colour(ax, clf):
    NetworkDisplay.from_estimator(clf, ax=ax)
    (dark, light, *_), heights = neurons_drawn(ax, 1)
    np.testing.assert_allclose(light, dark + 0.6 * (1 - dark))
    within, between, _ = -np.diff(heights)
    assert within < between


@pytest.mark.parametrize("max_neurons", [20, 23, 40])
def test_a_one_sided_network_has_one_neuron_for_each_hyperplane(ax, max_neurons):
    clf = FFMLPClassifier(design="readout", gaussianise=False, max_neurons=max_neurons).fit(*MOONS)
    network = clf.network_
    assert network.hyperplanes.one_sided
    display = NetworkDisplay.from_estimator(clf, max_neurons=14, ax=ax)
    n_drawn = min(14, len(network.hyperplanes))
    assert display.neurons[1].tolist() == list(range(n_drawn))
    np.testing.assert_array_equal(display.weights[0], network.hyperplanes.weights[:n_drawn])
    np.testing.assert_array_equal(display.weights[1], network.weights[1][:, :n_drawn])
    colours, heights = neurons_drawn(ax, 1)
    assert len(np.unique(colours[:9], axis=0)) == min(9, n_drawn)  # no light shades
    np.testing.assert_allclose(np.diff(heights), np.diff(heights)[0])  # no pairs
    assert legend(ax)[1:] == ["positive weight", "negative weight"]


def test_network_with_grey_regions(ax, clf):
    NetworkDisplay.from_estimator(clf, grey=True, ax=ax)
    regions, _ = neurons_drawn(ax, 2)
    assert len(np.unique(regions, axis=0)) == len(regions)
    assert (np.ptp(regions, axis=1) == 0).all()  # no hue
    for layer in (1, 3):
        others, _ = neurons_drawn(ax, layer)
        assert (np.ptp(others, axis=1) > 0.1).all()


def test_some_hyperplanes_of_a_network(ax, detailed):
    n = len(detailed.hyperplanes_)
    display = NetworkDisplay.from_estimator(detailed, hyperplanes=[3, 0], max_neurons=10, ax=ax)
    assert display.neurons[1].tolist() == [3, n + 3, 0, n]
    assert max(map(len, display.neurons)) == 10


def test_large_networks_are_cut_short(ax, detailed):
    network = detailed.network_
    display = NetworkDisplay.from_estimator(network, ax=ax)
    sizes = network.layer_sizes
    assert sizes[1] > 24
    assert [len(layer) for layer in display.neurons] == [min(24, size) for size in sizes]
    assert display.neurons[1].tolist() == [n for l in range(12) for n in (l, sizes[1] // 2 + l)]
    left_out = [text.get_text() for text in ax.texts if "more" in text.get_text()]
    assert left_out == [f"⋮  {size - 24} more" for size in sizes if size > 24]
    np.testing.assert_array_equal(display.weights[1], network.weights[1][:24, display.neurons[1]])


def test_network_of_named_features_and_classes(ax):
    X, y = IRIS
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    labels = np.array(["setosa", "versicolor", "virginica"])
    clf = region_design(random_state=0).fit(pd.DataFrame(X, columns=names), labels[y])
    NetworkDisplay.from_estimator(clf, ax=ax)
    assert {*names, *labels} <= {text.get_text() for text in ax.texts}
    assert ax.get_title() == "Network of 4 → 4 → 3 → 3 neurons"


def test_accuracy_curves_of_a_trained_network(ax):
    pytest.importorskip("torch")
    bp = BackpropClassifier((4, 4), n_epochs=2, random_state=0)
    with pytest.raises(ValueError, match=r"no test accuracy.*Fit it with X_test and y_test"):
        AccuracyCurvesDisplay.from_estimator(bp.fit(X, Y), ax=ax)
    display = AccuracyCurvesDisplay.from_estimator(bp.fit(X, Y, X, Y), ax=ax)
    np.testing.assert_array_equal(display.test, [bp.history_.test_accuracy])
    assert legend(ax) == ["training", "test", "training, averaged over batches"]
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), bp.history_.batch_accuracy)
    assert ax.get_title() == "Accuracy by epoch"
    with pytest.raises(TypeError, match=r"has no history_\. .* needs a fitted BackpropClassifier"):
        AccuracyCurvesDisplay.from_estimator(LogisticRegression().fit(X, Y))


def test_accuracy_curves_of_several_runs(ax):
    runs = np.array([[0.2, 0.4], [0.4, 0.8]])
    AccuracyCurvesDisplay(runs, runs / 2).plot(ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.3, 0.6])
    band = ax.collections[0].get_paths()[0].vertices
    assert {(0.0, 0.2), (0.0, 0.4), (1.0, 0.4), (1.0, 0.8)} == {tuple(point) for point in band}


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (AccuracyCurvesDisplay, ([50.0, 90.0], [0.5]), r"train must be .* \[0, 1\], got .* 50 to 90"),
        (AccuracyCurvesDisplay, ([np.nan], [0.5]), r"train must be accuracies in \[0, 1\]"),
        (AccuracyCurvesDisplay, (np.ones((1, 1, 1)), [0.5]), r"train must have .* got \(1, 1, 1\)"),
        (AccuracyCurvesDisplay, ([], [0.5]), "train must have shape"),
        (partial(AccuracyCurvesDisplay, batch=2 * [np.nan]), 2 * [[0.5, 0.5]], "batch must be acc"),
        (AccuracyTimeDisplay, ("ab", [1.0], [0.5, 0.5]), "seconds must .* each of the 2 names"),
        (AccuracyTimeDisplay, ("ab", [1.0, 0.0], [0.5, 0.5]), "seconds must be positive"),
        (AccuracyTimeDisplay, ("ab", [1.0, 1.0], [0.5, 50]), "accuracies must be in"),
        (AccuracyIntervalsDisplay, ([],), "rows must not be empty"),
        (SamplesDisplay.from_data, (X, Y[:-1]), "inconsistent numbers of samples"),
        (TwoNeuronDisplay.from_data, (X, np.arange(400)), "exactly 2 classes, got 400"),
    ],
)
def test_data_that_cannot_be_drawn_is_refused(draw, arguments, message):
    with pytest.raises(ValueError, match=message):
        draw(*arguments)


def crowded(n=12):
    rng = np.random.default_rng(0)
    names = [f"classifier {number}" for number in range(n)]
    return names, 10 ** rng.normal(-1, 0.15, n), 0.9 + rng.normal(0, 0.004, n)


def test_accuracy_and_time_show_every_classifier_where_it_is(ax):
    names, seconds, accuracies = crowded()
    highlighted = [number < 4 for number in range(12)]
    display = AccuracyTimeDisplay(names, seconds, accuracies, highlighted=highlighted).plot(ax)
    own, others = (points.get_offsets() for points in ax.collections)
    np.testing.assert_allclose(own, np.column_stack([seconds, accuracies])[:4])
    np.testing.assert_allclose(others, np.column_stack([seconds, accuracies])[4:])
    assert [label.get_text() for label in display.labels_] == names
    assert [label.xy for label in display.labels_] == list(zip(seconds, accuracies, strict=True))
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("subfigure", [False, True])
def test_names_of_classifiers_hide_neither_each_other_nor_points(subfigure):
    figure = Figure((8, 5.5), layout="constrained")
    ax = (figure.subfigures() if subfigure else figure).subplots()
    names, seconds, accuracies = crowded()
    display = AccuracyTimeDisplay(names, seconds, accuracies).plot(ax)
    figure.draw_without_rendering()
    boxes = [label.get_tightbbox() for label in display.labels_ if label.arrow_patch is None]
    assert len(boxes) > 6
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
        assert not any(
            box.contains(*point) for point in ax.transData.transform(ax.collections[1].get_offsets())
        )


def test_two_neurons():
    X, y = make_moons(100, noise=0.2, random_state=0)
    plane, figure = two_class_lda(X, y), Figure(layout="constrained")
    display = TwoNeuronDisplay.from_data(X, y, grid_resolution=12, figure=figure)
    expected = plane.responses(display.samples.view.grid(12))
    np.testing.assert_array_equal(display.responses.reshape(2, -1).T, expected)
    samples, perceptron, *maps = display.axes_
    assert [ax.get_title() for ax in maps] == ["Response of neuron 0", "Response of neuron 1"]
    for ax in (samples, *maps):
        (line,) = ax.lines
        np.testing.assert_allclose(plane.log_odds(line.get_xydata()), 0, atol=1e-9)
    texts = {text.get_text() for text in perceptron.texts}
    for sign, minus in ((1, ""), (-1, "-")):
        numbers = [
            f"{sign * number:.2f}".replace("-", "−") for number in (*plane.weights[0], plane.biases[0])
        ]
        assert f"${minus}w_0$ = {numbers[0]}" in texts
        assert f"${minus}w_1$ = {numbers[1]}" in texts
        assert f"bias ${minus}b$ = {numbers[2]}" in texts


@pytest.mark.parametrize(
    "draw",
    [
        lambda clf, X, y: SamplesDisplay.from_data(X, y),
        lambda clf, X, y: DecisionRegionsDisplay.from_estimator(clf, X, y),
        lambda clf, X, y: HyperplanesDisplay.from_estimator(clf, X, y),
        lambda clf, X, y: ResponsesDisplay.from_estimator(clf, X),
        lambda clf, X, y: TwoNeuronDisplay.from_data(X, y),
    ],
)
def test_only_two_features_can_be_drawn(draw):
    with pytest.raises(ValueError, match="4 features"):
        draw(region_design().fit(*IRIS), *IRIS)


def test_drawing_without_matplotlib_says_what_to_install(monkeypatch, clf):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for draw in (
        lambda: SamplesDisplay.from_data(X, Y),
        lambda: NetworkDisplay.from_estimator(clf),
        lambda: ResponsesDisplay.from_estimator(clf, X, grid_resolution=5),
        lambda: AccuracyCurvesDisplay([0.5], [0.5]).plot(),
    ):
        with pytest.raises(ImportError) as caught:
            draw()
        assert str(caught.value) == (
            "matplotlib is required for figures. Install it with: pip install 'ffmlp[plots]'"
        )


def test_leaves_beside_a_readout_are_one_box(ax):
    *_, clf = with_trees()
    display = NetworkDisplay.from_estimator(clf, ax=ax)
    n_leaves = len(clf.network_.stages.trees)
    assert [len(layer) for layer in display.neurons] == [3, 24, 3, 3]
    texts = [text.get_text() for text in ax.texts]
    assert texts.count(f"{n_leaves} leaves") == 1
    assert f"{3 + n_leaves} neurons" in texts


def test_responses_of_a_readout_are_drawn_without_its_leaves():
    X, y = steps()
    X, y = X[:, :2], (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2)
    clf = FFMLPClassifier(design="readout", max_leaves=200, random_state=0).fit(X, y)
    n_leaves = len(clf.network_.stages.trees)
    options = {"layer": 2, "grid_resolution": 9, "figure": Figure(layout="constrained")}
    assert ResponsesDisplay.from_estimator(clf, X, **options).neurons.tolist() == [0, 1]
    options["neurons"] = [1 + n_leaves]
    (leaf,) = ResponsesDisplay.from_estimator(clf, X, **options).responses
    assert set(np.unique(leaf)) <= {0.0, 1.0}


RNG = np.random.default_rng(0)
ROWS = [
    ("Iris", {"ours": RNG.uniform(94, 98, 20), "theirs": RNG.uniform(40, 70, 60)}, {"theirs": 30.0}),
    ("9-blobs (0.3)", {"ours": RNG.uniform(99.5, 100, 20)}, {"ours": 99.9, "theirs": 99.0}),
]


@pytest.fixture
def intervals():
    return AccuracyIntervalsDisplay(ROWS, reference="the paper").plot(Figure(layout="constrained"))


def drawn(ax, marker):
    """Place by height of the marks of a kind."""
    return {line.get_ydata()[0]: line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker}


def test_each_method_has_its_median_its_interval_and_its_reference(intervals):
    assert intervals.methods == ["ours", "theirs"]
    for ax, (_, accuracies, references) in zip(intervals.axes_, ROWS, strict=True):
        for place, (name, marker) in enumerate(zip(intervals.methods, "os", strict=True)):
            dots, marks = drawn(ax, marker), drawn(ax, "|")
            assert dots.get(place) == (np.median(accuracies[name]) if name in accuracies else None)
            assert marks.get(place) == references.get(name)
            if name in accuracies:
                lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
                ends = np.percentile(accuracies[name], [10, 90])
                assert any(np.array_equal(line, ends) for line in lines)


def test_every_row_has_limits_of_its_own_that_contain_all_it_shows(intervals):
    limits = [ax.get_xlim() for ax in intervals.axes_]
    assert limits[0][0] < 30
    assert limits[1][0] > 98
    assert limits[1][1] < 100.1
    for ax, (low, high) in zip(intervals.axes_, limits, strict=True):
        shown = np.concatenate([line.get_xdata() for line in ax.lines])
        assert low < shown.min() <= shown.max() < high
        assert len([tick for tick in ax.get_xticks() if low <= tick <= high]) >= 3


def test_titles_and_legend(intervals):
    assert [ax.get_ylabel() for ax in intervals.axes_] == ["Iris", "9-blobs\n(0.3)"]
    (legend,) = (ax.get_legend() for ax in intervals.figure_.axes if ax.get_legend())
    assert [text.get_text() for text in legend.get_texts()][:3] == ["ours", "theirs", "the paper"]
    intervals.figure_.draw_without_rendering()
    for ax in intervals.axes_:
        assert not legend.get_window_extent().overlaps(ax.get_window_extent())
        assert ax.yaxis.label.get_window_extent().x0 >= 0


def test_one_split_and_equal_accuracies_can_be_drawn():
    AccuracyIntervalsDisplay([("a", {"m": [100.0]}, {"m": 100.0})]).plot(Figure())
