from functools import partial

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path
from problems import IRIS, four_moons, region_design, swallowed
from sklearn.datasets import load_iris

from ffmlp import FFMLPClassifier
from ffmlp.plots import (
    ChangeDisplay,
    CounterfactualsDisplay,
    DecisionRegionsDisplay,
    DecisionSliceDisplay,
    DriftDisplay,
    EffectsDisplay,
    ExplanationDisplay,
    FamiliarityDisplay,
    PruningPathDisplay,
    RobustAccuracyDisplay,
)
from ffmlp.words import short_number

pytest.importorskip("pandas")
X, Y = four_moons(300)
NAMED = load_iris(as_frame=True)
LABELS = NAMED.target_names[NAMED.target]


@pytest.fixture(scope="module", params=[0, 100], ids=["readout", "regions"])
def readout(request):
    clf = FFMLPClassifier(
        design="readout", gaussianise=True, max_leaves=request.param, random_state=0
    ).fit(NAMED.data, LABELS)
    assert (clf.network_.stages.trees is None) == (not request.param)
    return clf


def test_bars_lead_from_the_reference_to_the_sample(readout):
    display = ExplanationDisplay.from_estimator(readout, NAMED.data, row=70, max_bars=3)
    explanation = readout.explain(NAMED.data.iloc[[70]])[0]
    assert display.explanation == explanation
    starts = [bar.get_x() for bar in display.ax_.patches]
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert len(widths) == 4  # three, and the others
    assert starts[0] == pytest.approx(explanation.reference_lead)
    for start, width, following in zip(starts, widths, starts[1:], strict=False):
        assert start + width == pytest.approx(following)
    assert starts[-1] + widths[-1] == pytest.approx(explanation.lead)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[-1] == "1 other column"
    assert labels[0].startswith(explanation.reasons[0].column)
    assert f"rather than {explanation.rival}" in display.ax_.get_title()


def test_bars_against_a_reference_of_the_user():
    clf = region_design(1, random_state=0).fit(IRIS[0], IRIS[1] > 0)
    display = ExplanationDisplay.from_estimator(clf, IRIS[0][:1], reference=IRIS[0][60:61], title="one")
    assert display.ax_.patches[0].get_x() == pytest.approx(display.explanation.reference_lead)
    assert "compared with the sample given" in display.ax_.get_xlabel()
    assert display.ax_.get_title() == "one"


def test_bars_that_cannot_be_drawn_are_refused(readout):
    with pytest.raises(ValueError, match="max_bars must be at least 1, got 0"):
        ExplanationDisplay.from_explanation(readout.explain(NAMED.data)[0], max_bars=0)
    points = np.column_stack([np.zeros(100), np.sin(np.arange(100.0))])
    one = region_design(1, error_threshold=0.9, random_state=0).fit(points, np.arange(100) % 20 == 0)
    with pytest.raises(ValueError, match="Only class False can be predicted"):
        ExplanationDisplay.from_explanation(one.explain(points)[0])


def test_arrows_lead_to_another_class(ax):
    pytest.importorskip("daqp")
    clf = region_design(3, random_state=0).fit(X, Y)
    display = CounterfactualsDisplay.from_estimator(clf, X, Y, samples=X[:7], ax=ax)
    assert (clf.predict(display.ends) != clf.predict(display.starts)).all()
    np.testing.assert_array_equal(display.starts, X[:7])
    assert display.exact
    assert ax.get_title() == "Smallest change to another class (L2 norm)"
    assert len([text for text in ax.texts if text.arrow_patch is not None]) == 7
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[:4] == ["0", "1", "2", "3"]
    again = display.plot(Figure().subplots())
    assert len(again.ax_.texts) == 7


def test_arrows_that_are_not_proved_say_so(ax):
    clf = FFMLPClassifier(design="readout").fit(X, Y)
    display = CounterfactualsDisplay.from_estimator(
        clf, X, Y, samples=X[:2], norm="inf", frozen=[0], ax=ax
    )
    assert ax.get_title() == "Smallest change found to another class (L∞ norm)"
    assert not display.exact
    assert (display.starts[:, 0] == display.ends[:, 0]).all()


def test_the_pruning_path_starts_with_all_hyperplanes(ax):
    clf = region_design(2, error_threshold=1.0, random_state=0).fit(X, Y)
    display = PruningPathDisplay.from_estimator(clf, error_threshold=0.05, ax=ax)
    assert display.n_hyperplanes.tolist() == list(range(24, 0, -1))
    assert display.error_rates[0] == clf.pruning_path_.initial_error_rate
    assert display.error_rates[-1] == pytest.approx(1 - clf.score(X, Y))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "training error",
        "error threshold 0.05",
    ]
    assert ax.xaxis_inverted()


@pytest.mark.parametrize(("threshold", "n_lines"), [(0.1, 2), (1.0, 1)])  # nothing is above 1
def test_the_threshold_of_a_pruning_path_is_that_of_the_fit(ax, threshold, n_lines):
    clf = region_design(2, error_threshold=threshold, random_state=0).fit(X, Y)
    display = PruningPathDisplay.from_estimator(clf, ax=ax)
    assert display.error_threshold == threshold
    assert display.error_rates.max() < threshold
    assert len(ax.lines) == n_lines


def test_models_without_a_pruning_path_are_refused():
    unpruned = region_design(2, error_threshold=None, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"=None deleted no hyperplane.*1\.0 gives the whole path"):
        PruningPathDisplay.from_estimator(unpruned)
    single = region_design(1, error_threshold=1.0, random_state=0).fit(X, Y > 1)
    with pytest.raises(ValueError, match=r"deleted no hyperplane.*There is only one"):
        PruningPathDisplay.from_estimator(single)
    for parameters in ({"error_threshold": 0.2}, {"max_neurons": 20}, {}):
        readout = FFMLPClassifier(design="readout", gaussianise=False, **parameters).fit(X, Y)
        with pytest.raises(ValueError, match=r"no error rate by deletion.*design='region'"):
            PruningPathDisplay.from_estimator(readout)


@pytest.mark.parametrize("gaussianise", [False, True])
def test_a_slice_shows_what_is_predicted_there(ax, gaussianise):
    clf = FFMLPClassifier(design="readout", gaussianise=gaussianise).fit(NAMED.data, LABELS)
    through = NAMED.data.iloc[60]
    names = ["petal length (cm)", 3]
    display = DecisionSliceDisplay.from_estimator(
        clf, NAMED.data, LABELS, features=names, through=through, grid_resolution=20, ax=ax
    )
    points = NAMED.data.iloc[[60] * 400].copy()
    points.iloc[:, 2:] = display.samples.view.grid(20)
    assert (clf.predict(points).reshape(20, 20) == display.predictions).all()
    assert ax.get_xlabel() == "petal length (cm)"
    assert ax.get_title() == "Slice through a sample"


@pytest.mark.parametrize("gaussianise", [False, True])
def test_a_projection_has_the_responses_of_two_hyperplanes(ax, gaussianise):
    clf = region_design(error_threshold=None, gaussianise=gaussianise, random_state=0)
    clf.fit(NAMED.data, LABELS)
    display = DecisionSliceDisplay.from_estimator(clf, NAMED.data, LABELS, grid_resolution=40, ax=ax)
    h = clf.hyperplanes_.log_odds(NAMED.data.to_numpy())
    chosen = [int(label.split("{")[1].split("}")[0]) for label in display.samples.view.feature_names]
    np.testing.assert_array_equal(display.samples.view.samples, h[:, chosen])
    # The plane lies near the samples: below most of them it has their class.
    view = display.samples.view
    cells = ((view.samples - view.low) / (view.high - view.low) * 40).astype(int)
    below = display.predictions[cells[:, 1], cells[:, 0]]
    assert (below == clf.predict(NAMED.data)).mean() > 0.8
    assert len(display.segments) == 2


@pytest.mark.parametrize("gaussianise", [False, True])
def test_a_projection_goes_through_a_sample(ax, gaussianise):
    clf = region_design(error_threshold=None, gaussianise=gaussianise, random_state=0)
    clf.fit(NAMED.data, LABELS)
    X, pair = NAMED.data.to_numpy(), [0, 5]
    views = [
        DecisionSliceDisplay.from_estimator(
            clf, NAMED.data, LABELS, hyperplanes=pair, through=X[row], grid_resolution=400, ax=ax
        )
        for row in (5, 70, 120)
    ]
    for row, display in zip((5, 70, 120), views, strict=True):
        view = display.samples.view
        column, line = ((view.samples[row] - view.low) / (view.high - view.low) * 400).astype(int)
        assert display.predictions[line, column] == clf.predict(NAMED.data.iloc[[row]])[0]


def test_planes_that_cannot_be_drawn_are_refused(readout):
    draw = partial(DecisionSliceDisplay.from_estimator, readout, NAMED.data, LABELS)
    with pytest.raises(ValueError, match="features must be two"):
        draw(features=[0])
    with pytest.raises(ValueError, match="Unknown feature 'petals'"):
        draw(features=[0, "petals"])
    with pytest.raises(ValueError, match="through must be one sample of 4 features"):
        draw(features=[0, 1], through=[1.0])
    with pytest.raises(ValueError, match=r"hyperplanes must be two of 0 to \d+, got \[0\]"):
        draw(hyperplanes=[0])
    with pytest.raises(ValueError, match="features and hyperplanes are both given"):
        draw(features=[0, 1], hyperplanes=[0, 1])
    one = region_design(1, random_state=0).fit(NAMED.data, LABELS == "setosa")
    with pytest.raises(ValueError, match="All hyperplanes are nearly parallel"):
        DecisionSliceDisplay.from_estimator(one, NAMED.data, LABELS == "setosa")


@pytest.mark.parametrize("gaussianise", [False, True])
def test_blobs_are_outlined_in_the_colour_of_their_class(ax, gaussianise):
    clf = region_design(2, gaussianise=gaussianise, random_state=0).fit(X, Y)
    display = DecisionRegionsDisplay.from_estimator(clf, X, Y, blobs=True, hyperplanes=False, ax=ax)
    assert len(display.outlines) == len(clf.blobs_) == len(ax.lines) / 2
    np.testing.assert_array_equal(display.outline_classes, clf.blobs_.classes)
    # Two standard deviations hold most of the samples.
    scores = clf.hyperplanes_.gaussianisation
    Z = X if scores is None else scores.apply(X)
    held = [
        np.einsum("ni,ij,nj->n", Z - mean, np.linalg.inv(covariance), Z - mean) < 4
        for mean, covariance in zip(clf.blobs_.means, clf.blobs_.covariances, strict=True)
    ]
    paths = [Path(outline).contains_points(X) for outline in display.outlines]
    agree = np.mean(np.array(held) == np.array(paths))
    assert agree > (0.97 if gaussianise else 0.99)
    assert np.any(paths, axis=0).mean() > 0.8


def test_robust_accuracies(ax):
    display = RobustAccuracyDisplay([0.0, 0.1], {"one": [1.0, 0.5], "other": [0.9, 0.8]})
    display.plot(ax)
    assert [line.get_label() for line in ax.lines] == ["one", "other"]
    assert ax.lines[1].get_ydata().tolist() == [0.9, 0.8]
    with pytest.raises(ValueError, match=r"accuracies of 'one' must have the shape of radii, \(1,\)"):
        RobustAccuracyDisplay([0.0], {"one": [1.0, 0.5]})


def test_an_explanation_without_features_is_drawn():
    X, y = swallowed()
    clf = FFMLPClassifier(1, design="blob", discriminant="heteroscedastic", random_state=0).fit(X, y)
    display = ExplanationDisplay.from_estimator(clf, X)
    assert display.explanation.lead == pytest.approx(display.explanation.reference_lead)
    assert [bar.get_width() for bar in display.ax_.patches] == [0.0, 0.0]


def test_effects_are_drawn_for_the_columns_that_matter_most(readout):
    display = EffectsDisplay.from_estimator(readout, NAMED.data, max_columns=3)
    assert display.label == "virginica"
    assert len(display.axes_) == 3
    reaches = [curve.reach[2] for curve in display.curves]
    assert reaches == sorted(reaches, reverse=True)
    for ax, curve in zip(display.axes_, display.curves, strict=True):
        assert ax.get_xlabel() == curve.column
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.middle[:, 2])
    again = EffectsDisplay.from_estimator(
        readout, NAMED.data, label="setosa", columns=[1], title="", figure=Figure()
    )
    assert [curve.column for curve in again.curves] == ["sepal width (cm)"]


def test_effects_that_cannot_be_drawn_are_refused(readout):
    with pytest.raises(ValueError, match=r"label must be one of \['setosa', .*\], got 'rose'"):
        EffectsDisplay.from_estimator(readout, NAMED.data, label="rose")
    with pytest.raises(ValueError, match="max_columns must be at least 1, got 0"):
        EffectsDisplay.from_estimator(readout, NAMED.data, max_columns=0)


def test_a_change_is_drawn_with_both_values(readout):
    (explanation,) = readout.explain(NAMED.data.iloc[[70]], counterfactual=True, norm="inf")
    display = ChangeDisplay.from_explanation(explanation, max_bars=3)
    change = explanation.counterfactual
    widths = [bar.get_width() for bar in display.ax_.patches]
    signs = [np.sign(after - before) for _, before, after in change.changes[:3]]
    np.testing.assert_allclose(widths, np.multiply(signs, change.sizes[:3]))
    assert max(change.sizes) == pytest.approx(change.distance, rel=1e-3)  # the maximum norm
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts[0] == " → ".join(map(short_number, change.changes[0][1:]))
    assert f"to {change.label}" in display.ax_.get_title()
    with pytest.raises(ValueError, match="Call explain with counterfactual=True"):
        ChangeDisplay.from_explanation(readout.explain(NAMED.data.iloc[[70]])[0])
    with pytest.raises(ValueError, match="max_bars must be at least 1, got 0"):
        ChangeDisplay.from_explanation(explanation, max_bars=0)


def test_familiar_and_unfamiliar_samples_are_drawn(readout):
    odd = NAMED.data.iloc[::10].assign(**{"petal length (cm)": 20.0})
    display = FamiliarityDisplay.from_estimator(readout, odd, keep=0.95)
    assert not display.familiarity.familiar.any()
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert sum(heights) == len(odd) == heights[-1]  # far samples are in the last bin
    assert display.ax_.get_title().startswith("100.0% of the samples are unfamiliar")
    again = FamiliarityDisplay.from_estimator(readout, NAMED.data, title="all")
    assert again.ax_.lines[0].get_xdata()[0] == again.familiarity.threshold
    assert again.ax_.get_title() == "all"


def test_drift_shows_unfamiliar_samples_and_the_most_changed_blobs(ax):
    X, y = IRIS
    clf = FFMLPClassifier(2, design="blob", random_state=0).fit(X, y)
    display = DriftDisplay.from_estimator(clf, X[y < 2], X[y > 0], max_blobs=3, ax=ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "unfamiliar"
    assert len(names) == 4
    drift = display.drift
    shown = [drift.names.index(name) for name in names]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, 100 * drift.shares[:, shown].ravel())
    assert display.title.startswith(f"Drift: {drift.distance:.1%} of the samples moved\n(by chance")
    with pytest.raises(ValueError, match="max_blobs must be at least 1, got 0"):
        DriftDisplay.from_drift(drift, max_blobs=0)
