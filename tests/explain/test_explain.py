from dataclasses import replace

import numpy as np
import pytest
from problems import (
    IRIS,
    classifiers,
    four_moons,
    overlapping,
    paper_design,
    region_design,
    steps,
    with_trees,
)
from sklearn.datasets import load_iris, load_wine

from ffmlp import FFMLPClassifier
from ffmlp.explain.attribution import Points, attributed, response_spreads
from ffmlp.explain.explanation import Crossing, LeafPart

pytest.importorskip("pandas")
NAMED = load_iris(as_frame=True)
LABELS = NAMED.target_names[NAMED.target]

DESIGNS = classifiers()
SETS = {
    "wine": load_wine(return_X_y=True),
    "moons": four_moons(400),
    "overlapping": overlapping(300),
    "steps": steps(),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("data", SETS)
def test_explanations_agree_with_the_network(design, data):
    X, y = SETS[data]
    rows = np.arange(len(X)) % 2 == 0
    clf = DESIGNS[design].fit(X[rows], y[rows])
    X = X[-250:]
    made = clf.explain(X)
    network = clf.network_
    predicted, each = clf.predict(X), np.arange(len(X))
    assert (clf.classes_[made.predicted] == predicted).all()
    np.testing.assert_array_equal(made.probabilities, clf.predict_proba(X))
    assert (made.probabilities.argmax(axis=1) == made.predicted).all()
    # Margins and codes recomputed from the network's own weights give the same classes.
    planes = network.hyperplanes
    Z = X if planes.gaussianisation is None else planes.gaussianisation.apply(X)
    h = Z @ network.weights[0][: len(planes)].T + network.biases[0][: len(planes)]
    np.testing.assert_allclose(made.responses, h, rtol=1e-6, atol=1e-6 * np.abs(h).max())
    scores = network.stages.scores(h)
    assert (clf.classes_[scores.argmax(axis=1)] == predicted).all()
    lead = scores[each, made.predicted] - scores[each, made.rivals]
    np.testing.assert_allclose(made.leads, lead, rtol=1e-6, atol=1e-6 * np.abs(scores).max())
    assert (made.leads >= 0).all()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("data", ["moons", "overlapping", "steps"])
def test_attributions_add_up_to_the_difference(design, data):
    X, y = SETS[data]
    clf, rows = DESIGNS[design].fit(X, y), X[:: 1 + len(X) // 30]
    for reference in (None, X[5:8]):
        made = clf.explain(rows, reference)
        size = np.abs(made.leads).max()
        np.testing.assert_allclose(
            made.attributions.sum(axis=1) + made.reference_leads, made.leads, atol=1e-9 * size
        )
        np.testing.assert_allclose(
            made.effects.sum(axis=1) + made.leaves + made.reference_leads, made.leads, atol=1e-9 * size
        )


@pytest.mark.parametrize("design", [name for name in DESIGNS if "readout" in name or "blob" in name])
def test_leads_are_log_odds(design):
    X, y = load_wine(return_X_y=True)
    clf = DESIGNS[design].fit(X, y)
    made, each = clf.explain(X), np.arange(len(X))
    probability = made.probabilities
    first, second = probability[each, made.predicted], probability[each, made.rivals]
    told = second > 1e-200  # the others are rounded to 0
    np.testing.assert_allclose(made.leads[told], np.log(first[told]) - np.log(second[told]), atol=1e-8)
    assert told.any()
    ordered = np.sort(probability, axis=1)
    np.testing.assert_allclose(probability[each, made.rivals], ordered[:, -2])


@pytest.mark.parametrize("design", [name for name in DESIGNS if not name.startswith("regions")])
def test_attributions_are_those_of_many_small_steps(design):
    """The slopes at many points of the straight way, times the steps."""
    X, y = load_wine(return_X_y=True)
    network = DESIGNS[design].fit(X, y).network_
    planes = network.hyperplanes
    start, stop = planes.mapped(X[[0, 70, 150]]), planes.mapped(X[[100, 10, 60]])
    winner, rival = np.array([0, 1, 2]), np.array([1, 2, 0])
    ways = Points.of(network, stop), Points.of(network, start)
    found = attributed(network, *ways, winner, rival).inputs
    for row in range(3):
        n_steps = 200_000 // len(planes)
        t = (np.arange(n_steps) + 0.5)[:, None] / n_steps
        h = (start[row] + t * (stop - start)[row]) @ planes.weights.T + planes.biases
        slopes = network.stages.slopes(h)
        slope = (slopes[:, winner[row]] - slopes[:, rival[row]]).mean(axis=0) @ planes.weights
        expected = slope * (stop - start)[row]
        np.testing.assert_allclose(found[row], expected, atol=0.01 * np.abs(expected).max())


def test_the_reference_is_the_nearest_blob_that_the_rival_wins():
    X, y = overlapping(300)
    clf = FFMLPClassifier(design="readout", gaussianise=False, max_leaves=0).fit(X, y)
    made, blobs = clf.explain(X), clf.blobs_
    np.testing.assert_array_equal(made.references, blobs.means[made.reference_blobs])
    assert (blobs.classes[made.reference_blobs] == made.rivals).all()
    for row in range(0, len(X), 20):
        own = np.flatnonzero(blobs.classes == made.rivals[row])
        scores = clf.network_.stages.scores(clf.hyperplanes_.signed_responses(blobs.means[own]))
        won = own[scores[:, made.rivals[row]] >= scores[:, made.predicted[row]]]
        own = won if len(won) else own
        away = np.linalg.norm((blobs.means[own] - X[row]) / blobs.feature_spreads, axis=1)
        assert made.reference_blobs[row] == own[np.argmin(away)]


def test_several_references_count_on_average():
    X, y = IRIS
    clf = DESIGNS["regions"].fit(X, y)
    rows = X[::20]
    each = [clf.explain(rows, X[[number]]) for number in (3, 60, 120)]
    made = clf.explain(rows, X[[3, 60, 120]])
    for name in ("attributions", "effects", "leaves", "reference_leads"):
        expected = np.mean([getattr(one, name) for one in each], axis=0)
        np.testing.assert_allclose(getattr(made, name), expected, atol=1e-12)
    assert "Compared with 3 samples, on average." in str(made[0])
    assert "Compared with the sample given." in str(each[0][0])


def test_a_sample_compared_with_itself_has_no_reasons():
    X, y = IRIS
    made = DESIGNS["readout"].fit(X, y).explain(X[:1], X[:1])
    assert not made.attributions.any()
    assert made.reference_leads == pytest.approx(made.leads)
    assert not made[0].crossings
    assert "Between the two are 0 hyperplanes." in str(made)


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        (NAMED.data.iloc[:1, :3], "Feature names seen at fit time, yet now missing:\n- petal width"),
        (NAMED.data.iloc[:0], "0 sample"),
        (NAMED.data.to_numpy()[:1, :3], "X has 3 features, but FFMLPClassifier is expecting 4"),
        (NAMED.data.iloc[0].to_numpy(), "Expected 2D array, got 1D array"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_references_of_another_shape_are_refused(reference, problem):
    clf = DESIGNS["region"].fit(NAMED.data, LABELS)
    with pytest.raises(ValueError) as raised:
        clf.explain(NAMED.data[:1], reference)
    assert str(raised.value).startswith("reference must be samples with the columns of X. ")
    assert problem in str(raised.value)


@pytest.mark.parametrize("design", DESIGNS)
def test_slopes_are_those_of_the_scores(design):
    X, y = IRIS
    stages = DESIGNS[design].fit(X, y).network_.stages
    h = DESIGNS[design].network_.hyperplanes.log_odds(X)
    slopes = stages.slopes(h)
    step = 1e-6
    for hyperplane in range(0, h.shape[1], 1 + h.shape[1] // 5):
        moved = h.copy()
        moved[:, hyperplane] += step
        safe = np.abs(h[:, hyperplane]) > 1e-3
        change = (stages.scores(moved) - stages.scores(h)) / step
        np.testing.assert_allclose(change[safe], slopes[safe, :, hyperplane], atol=1e-4)


@pytest.mark.parametrize("design", DESIGNS)
def test_one_explanation_has_the_numbers_of_the_arrays(design):
    clf = DESIGNS[design].fit(NAMED.data, LABELS)
    made = clf.explain(NAMED.data.iloc[::30])
    for row, one in enumerate(made):
        sizes = [abs(reason.attribution) for reason in one.reasons]
        assert [reason.column for reason in one.reasons] != []
        np.testing.assert_allclose(sizes, np.sort(np.abs(made.attributions[row]))[::-1], atol=1e-12)
        assert one.difference == made.leads[row] - made.reference_leads[row]
        crossed = [crossing.hyperplane for crossing in one.crossings]
        here, there = (part[row] > 1e-9 for part in (made.responses, made.reference_responses))
        assert sorted(crossed) == np.flatnonzero(here != there).tolist()
        assert all(0 <= crossing.way <= 1 for crossing in one.crossings)
        total = sum(crossing.effect for crossing in one.crossings) + one.uncrossed
        total += 0.0 if one.leaves is None else one.leaves.effect
        assert total == pytest.approx(one.difference)
        assert sum(value for _, value in one.bars(2)) == pytest.approx(one.difference)


def test_a_crossing_is_where_the_response_is_zero():
    X, y = IRIS
    clf = DESIGNS["readout"].fit(X, y)
    made = clf.explain(X[70:71])
    for crossing in made[0].crossings:
        point = (1 - crossing.way) * made.references[0] + crossing.way * X[70]
        h = clf.hyperplanes_.signed_responses(point[None])[0, crossing.hyperplane]
        assert h == pytest.approx(0.0, abs=1e-9)


def test_spreads_of_responses_are_those_along_the_hyperplane():
    # Two round blobs of unit variance: a standard deviation is a response of the distance of the means.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40000, 2)), np.repeat([0, 1], 20000)
    X[:, 0] += 6.0 * y
    clf = region_design(1, random_state=0).fit(X, y)
    np.testing.assert_allclose(response_spreads(clf.blobs_, clf.hyperplanes_), [6.0], rtol=0.02)


def test_page_of_a_readout():
    clf = DESIGNS["readout"].fit(NAMED.data, LABELS)
    assert (
        str(clf.explain(NAMED.data.iloc[[70]]))
        == """\
Class versicolor, probability 0.599; next is virginica, 0.372.

Compared with the centre of blob 18 of class virginica. The lead over virginica, in
log-odds: +0.48 here, -4.53 there.

The difference of +5.01, by column
    +2.18  petal length (cm)  4.8, there 5.229
    +1.99  sepal width (cm)   3.2, there 3
    +0.62  sepal length (cm)  5.9, there 6.243
    +0.22  petal width (cm)   1.8, there 1.829

Between the two are 22 hyperplanes.
What the strongest add:
    +0.27  sepal width (cm) above 3, crossed after 0% of the way here

Among the samples of blob 13 of class versicolor, 5.3% of the training samples."""
    )


def test_regions_explain_their_part_of_the_lead():
    X, _, clf = with_trees()
    made, each = clf.explain(X), np.arange(len(X))
    trees = clf.network_.stages.trees
    added = trees.evidence(made.responses) - trees.evidence(made.reference_responses)
    np.testing.assert_allclose(
        made.leaves, added[each, made.predicted] - added[each, made.rivals], atol=1e-12
    )
    for row in range(0, len(X), 40):
        part = made[row].leaves
        assert part.effect == made.leaves[row]
        sizes = [abs(value) for _, value in part.strongest]
        assert sizes == sorted(sizes, reverse=True)
        assert part.trees == len(trees.roots)
        own, other = (trees.leaves(h[[row]]) for h in (made.responses, made.reference_responses))
        assert part.changed == (own != other).sum()
        text = f"Leaves differ in {part.changed} of {part.trees} trees and add"
        assert (text in " ".join(str(made[row]).split())) == (part.changed > 0)


def test_page_of_a_readout_with_trees():
    leaf = LeafPart(
        effect=0.3,
        changed=2,
        trees=3,
        strongest=(
            (
                "leaf of class virginica: petal width (cm) > 1.7 and 4.8 < petal length (cm) <= 5.1 "
                "and sepal width (cm) > 3",
                0.25,
            ),
            ("leaf of class versicolor: petal width (cm) <= 1.8", -0.001),
        ),
    )
    crossing = Crossing(3, "blob 4 (virginica) over blob 2 (versicolor)", 0.25, 0.04)
    (one,) = DESIGNS["region"].fit(NAMED.data, LABELS).explain(NAMED.data.iloc[[100]])
    one = replace(one, lead=0.4, reference_lead=-0.05, leaves=leaf, crossings=(crossing,))
    page = str(one)
    assert (
        page[page.index("Between") : page.index("\n\nIn region")]
        == """\
Between the two is 1 hyperplane. Leaves differ in 2 of 3 trees and add +0.300.
What the strongest add:
   +0.040  blob 4 (virginica) over blob 2 (versicolor), crossed after 25% of the way here
   +0.250  leaf of class virginica: petal width (cm) > 1.7 and
       4.8 < petal length (cm) <= 5.1 and sepal width (cm) > 3"""
    )


def test_page_of_a_sample_far_from_the_others():
    clf = DESIGNS["readout"].fit(NAMED.data, LABELS)
    page = str(clf.explain(NAMED.data.iloc[[0]] + 20.0))
    assert "Farther from all blobs than 99% of the training samples. The nearest is blob " in page


def test_regions_without_training_samples_are_marked():
    X, y = overlapping(60)
    clf = region_design(random_state=0, error_threshold=None).fit(X, y)
    rng = np.random.default_rng(0)
    made = clf.explain(4 * rng.normal(size=(200, 3)))
    codes = {code.tobytes() for code in clf.regions_.codes}
    here = np.array([(row > 0).tobytes() in codes for row in made.responses])
    assert (made.places.unseen == ~here).all()
    assert made.places.unseen.any()
    page = str(made[int(np.argmax(made.places.unseen))])
    assert "In a region without training samples. The region that it violates least: region " in page


@pytest.mark.parametrize("design", DESIGNS)
def test_frame(design):
    clf = DESIGNS[design].fit(NAMED.data, LABELS)
    frame = clf.explain(NAMED.data).to_frame()
    assert (frame["class"] == clf.predict(NAMED.data)).all()
    assert frame["probability"].tolist() == clf.predict_proba(NAMED.data).max(axis=1).tolist()
    assert ("region" in frame) == design.startswith(("region,", "paper")) or design == "region"
    sums = frame[[f"by_{name}" for name in NAMED.data]].sum(axis=1)
    np.testing.assert_allclose(sums + frame["reference_lead"], frame["lead"])
    assert (frame["lead"] > 0).all()


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("design", ["region", "paper", "readout", "regions", "blob, gaussianised"])
def test_counterfactuals(design, norm):
    clf = DESIGNS[design].fit(NAMED.data, LABELS)
    some = NAMED.data.iloc[50::20]
    name = "petal length (cm)"
    made = clf.explain(some, counterfactual=True, frozen=[name], bounds={3: (0.0, None)}, norm=norm)
    frame = made.to_frame()
    assert (frame[f"change_{name}"].dropna() == 0).all()
    for row, explanation in enumerate(made):
        change = explanation.counterfactual
        if change is None:
            assert frame["distance"][row] == np.inf
            continue
        assert change.exact == (design == "region")
        assert change.lower <= change.distance
        assert name not in [moved for moved, _, _ in change.changes]
        x = some.iloc[[row]].copy()
        for moved, before, after in change.changes:
            assert x[moved].iloc[0] == before
            x[moved] = after
        assert clf.predict(x)[0] == change.label == frame["other_class"][row]
        assert change.label != explanation.label


def test_a_class_that_is_never_predicted_is_no_rival():
    X, y = overlapping(200)
    clf = region_design(1, error_threshold=0.99, random_state=0).fit(X, y)
    assert len(clf.regions_) == 2
    made = clf.explain(X)
    assert set(made.rivals) <= set(clf.regions_.classes)


def test_where_one_class_is_predicted_always_there_is_no_rival():
    X = np.column_stack([np.zeros(100), np.sin(np.arange(100.0))])
    clf = region_design(1, error_threshold=0.9, random_state=0).fit(X, np.arange(100) % 20 == 0)
    made = clf.explain(X)
    assert (made.rivals == -1).all()
    assert str(made[0]).startswith("Class False, probability 0.")
    assert "; no other class can be predicted." in str(made[0])
    assert made.to_frame()["next_class"].isna().all()
    with pytest.raises(ValueError, match="Every sample is predicted to be of class False"):
        clf.explain(X, counterfactual=True)


def test_explanations_are_a_sequence():
    explanations = DESIGNS["region"].fit(NAMED.data, LABELS).explain(NAMED.data.iloc[:3])
    pages = str(explanations).split("\n" + "─" * 80 + "\n")
    assert pages == [str(one) for one in explanations]
    assert str(explanations[-1]) == pages[2]
    for number in (3, -4):
        with pytest.raises(IndexError):
            explanations[number]


def test_objects_print_in_a_line_and_draw_in_notebooks():
    X, y = IRIS
    clf = region_design(random_state=0).fit(X, np.array(["<a>", "b", "c"])[y])
    explanations = clf.explain(X[:2])
    shown = [clf.network_, explanations, explanations[0], clf.robustness(X[:2], 1)]
    for part in shown:
        assert "\n" not in repr(part)
        assert len(repr(part)) < 150
    for part in (*shown, clf.selection_):
        page = part._repr_html_()
        assert page.startswith("<")
        assert "<a>" not in page


def test_a_page_says_that_no_change_was_found():
    clf = DESIGNS["readout"].fit(*IRIS)
    x = IRIS[0][[70]]
    tight = {j: (x[0, j] - 1e-9, x[0, j] + 1e-9) for j in range(4)}
    page = str(clf.explain(x, counterfactual=True, bounds=tight))
    assert page.endswith("No change to another class was found within the limits.")


def test_many_features_are_explained():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 150)) + 0.3 * y[:, None]
    clf = FFMLPClassifier(design="readout", gaussianise=False).fit(X, y)
    made = clf.explain(X[:5])
    assert np.isfinite(made.attributions).all()
    assert "145 other columns" in str(made[0])


def test_a_silent_network_says_so():
    """Far outside, no region of the paper's design responds, and the answer is the first class."""
    X, y = load_iris(return_X_y=True)
    clf = paper_design(random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    far = X.mean(axis=0) + 20 * rng.normal(size=(200, 4))
    silent = ~clf.network_.responses(far)[1].any(axis=1)
    assert silent.any()
    for sample, is_silent in zip(far, silent, strict=True):
        (explanation,) = clf.explain(sample[None])
        assert explanation.place.silent == is_silent
        assert (
            "The network is silent there: its answer is the first class." in str(explanation)
        ) == is_silent
        assert "violates least" not in str(explanation)


def test_a_class_without_weight_can_be_the_rival_of_regions():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (700, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    y[:20] = 2
    weight = np.where(y == 2, 0.0, 1.0)
    clf = FFMLPClassifier(design="readout", max_leaves=300).fit(X, y, sample_weight=weight)
    assert clf.n_leaves_ > 0
    explanations = clf.explain(X[:100])
    assert (explanations.rivals == 2).any()
    assert (clf.blobs_.classes[explanations.reference_blobs] < 2).all()
