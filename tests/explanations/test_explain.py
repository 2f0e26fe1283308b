import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from problems import (
    IRIS,
    four_moons,
    overlapping,
    paper_design,
    region_design,
    steps,
    swallowed,
    with_regions,
)
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from ffmlp import FFMLPClassifier
from ffmlp.explanations.explanation import Driver, RegionPart
from ffmlp.explanations.margins import crossings, response_spreads

pytest.importorskip("pandas")
NAMED = load_iris(as_frame=True)
LABELS = NAMED.target_names[NAMED.target]

DESIGNS = {
    "region": region_design(random_state=0),
    "region, gaussianised": region_design(gaussianise=True, random_state=0),
    "paper": paper_design(random_state=0),
    "blob": FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0),
    "blob, gaussianised": FFMLPClassifier(2, design="blob", gaussianise=True, random_state=0),
    "readout": FFMLPClassifier(design="readout", gaussianise=False, max_regions=0),
    "readout, gaussianised": FFMLPClassifier(design="readout", gaussianise=True, max_regions=0),
    "regions": FFMLPClassifier(design="readout", gaussianise=False, max_regions=500, random_state=0),
    "regions, gaussianised": FFMLPClassifier(
        design="readout", gaussianise=True, max_regions=500, random_state=0
    ),
    "small readout": FFMLPClassifier(design="readout", max_neurons=40),
}
SETS = {
    "iris": IRIS,
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits": load_digits(return_X_y=True),
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


@pytest.mark.parametrize("design", [name for name in DESIGNS if "readout" in name or "blob" in name])
def test_contributions_sum_to_the_log_odds(design):
    X, y = load_wine(return_X_y=True)
    clf = DESIGNS[design].fit(X, y)
    made, each = clf.explain(X), np.arange(len(X))
    probability = made.probabilities
    first, second = probability[each, made.predicted], probability[each, made.rivals]
    told = second > 1e-200  # the others are rounded to 0
    total = made.contributions.sum(axis=1) + made.rest
    np.testing.assert_allclose(total[told], np.log(first[told]) - np.log(second[told]), atol=1e-8)
    np.testing.assert_array_equal(total, made.leads)
    assert told.any()
    ordered = np.sort(probability, axis=1)
    np.testing.assert_allclose(probability[each, made.rivals], ordered[:, -2])


def test_contributions_of_the_region_design_compare_two_regions():
    X, y = overlapping(300)
    clf = region_design(random_state=0, error_threshold=None).fit(X, y)
    made = clf.explain(X)
    h, codes = made.responses, clf.regions_.codes
    conflict = np.array([np.abs(h * (code != (h > 0))).sum(axis=1) for code in codes])
    for row in range(len(X)):
        rival = clf.regions_.classes == made.rivals[row]
        own = clf.regions_.classes == made.predicted[row]
        expected = conflict[rival, row].min() - conflict[own, row].min()
        assert made.contributions[row].sum() == pytest.approx(expected, abs=1e-9)
    assert (made.rest == 0).all()


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
def test_drivers_sum_to_the_response(design):
    clf = DESIGNS[design].fit(NAMED.data, LABELS)
    for explanation in clf.explain(NAMED.data.iloc[::30]):
        assert len(explanation.margins) == len(clf.hyperplanes_)
        for margin in explanation.margins:
            total = sum(driver.contribution for driver in margin.drivers)
            assert total == pytest.approx(margin.response, abs=1e-7)
        total = sum(margin.contribution for margin in explanation.margins) + explanation.rest
        assert total == pytest.approx(explanation.lead)
        if not design.startswith("blob"):  # softplus is not linear
            total = sum(driver.contribution for driver in explanation.features) + explanation.rest
            assert total == pytest.approx(explanation.lead)


def test_margins_in_standard_deviations_along_the_hyperplane():
    # Two round blobs of unit variance: the response of one standard deviation is the distance of
    # the means, and the crossing is in the middle.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40000, 2)), np.repeat([0, 1], 20000)
    X[:, 0] += 6.0 * y
    clf = region_design(1, random_state=0).fit(X, y)
    made = clf.explain([[1.0, 0.0], [3.0, 5.0]])
    np.testing.assert_allclose(np.abs(made.deviations[:, 0]), [2.0, 0.0], atol=0.05)
    np.testing.assert_allclose(crossings(clf.blobs_, clf.hyperplanes_)[0], [3.0, 0.0], atol=0.05)
    np.testing.assert_allclose(response_spreads(clf.blobs_, clf.hyperplanes_), [6.0], rtol=0.02)


def test_page_of_the_region_design():
    clf = region_design(random_state=0).fit(NAMED.data, LABELS)
    pytest.importorskip("daqp")
    assert str(clf.explain(NAMED.data.iloc[[100]], counterfactual=True)) == PAGES["region"]


def test_page_of_the_blob_design():
    clf = DESIGNS["blob"].fit(NAMED.data, LABELS)
    assert str(clf.explain(NAMED.data.iloc[[70]])) == PAGES["blob"]


def test_page_of_the_readout_design():
    clf = DESIGNS["readout"].fit(NAMED.data, LABELS)
    assert str(clf.explain(NAMED.data.iloc[[70]])) == PAGES["readout"]


def test_regions_explain_their_part_of_the_lead():
    X, _, clf = with_regions()
    made, each = clf.explain(X), np.arange(len(X))
    trees = clf.network_.stages.trees
    evidence = trees.evidence(made.responses)
    by_regions = evidence[each, made.predicted] - evidence[each, made.rivals]
    np.testing.assert_allclose(made.regions, by_regions, atol=1e-12)
    bias = clf.network_.stages.bias
    np.testing.assert_allclose(
        made.rest - made.regions, bias[made.predicted] - bias[made.rivals], atol=1e-12
    )
    for row in range(0, len(X), 40):
        part = made[row].regions
        total = sum(driver.contribution for driver in part.features)
        assert part.reference_lead + total == pytest.approx(part.lead)
        sizes = [abs(value) for _, value in part.strongest]
        assert sizes == sorted(sizes, reverse=True)
        assert part.trees == len(trees.roots)
        assert f"regions ({part.agreeing} of {part.trees} trees agree)" in str(made[row])
        assert sum(value for _, value in made[row].hyperplane_bars(2)) == pytest.approx(made.leads[row])


def test_page_of_a_readout_with_regions():
    region = RegionPart(
        lead=0.3,
        agreeing=2,
        trees=3,
        strongest=(
            (
                "region of class virginica: petal width (cm) > 1.7 and 4.8 < petal length (cm) <= 5.1",
                0.25,
            ),
            ("region of class versicolor: petal width (cm) <= 1.8", -0.05),
        ),
        reference="the centre of blob 3 of class versicolor",
        reference_lead=-0.2,
        features=(Driver("petal width (cm)", 1.75, 0.45), Driver("petal length (cm)", 5.0, 0.05)),
    )
    (one,) = DESIGNS["region"].fit(NAMED.data, LABELS).explain(NAMED.data.iloc[[100]])
    page = str(replace(one, lead=20.8, rest=0.5, regions=region))
    assert page[page.index("Its lead") :] == PAGES["regions"]


def test_page_of_a_sample_far_from_the_others():
    clf = DESIGNS["readout"].fit(NAMED.data, LABELS)
    page = str(clf.explain(NAMED.data.iloc[[0]] + 20.0))
    assert "Far from all training samples. The nearest ones are those of blob " in page


def test_pages_of_several_samples_are_separated():
    clf = DESIGNS["region"].fit(NAMED.data, LABELS)
    made = clf.explain(NAMED.data.iloc[:3])
    assert str(made).count("Class setosa") == 3
    assert str(made).split("\n" + "─" * 80 + "\n")[1] == str(made[1])


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


def test_counts_of_the_region_are_those_of_the_training_samples():
    X, y = IRIS
    clf = region_design(random_state=0).fit(X, y)
    place = clf.explain(X[100:101])[0].place
    same = (clf.hyperplanes_.log_odds(X) > 0) == (clf.hyperplanes_.log_odds(X[100:101]) > 0)
    expected = np.bincount(y[same.all(axis=1)], minlength=3)
    assert dict(place.counts) == {c: n for c, n in enumerate(expected) if n}


@pytest.mark.parametrize("design", DESIGNS)
def test_frame(design):
    clf = DESIGNS[design].fit(NAMED.data, LABELS)
    frame = clf.explain(NAMED.data).to_frame()
    assert (frame["class"] == clf.predict(NAMED.data)).all()
    assert frame["probability"].tolist() == clf.predict_proba(NAMED.data).max(axis=1).tolist()
    assert ("region" in frame) == design.startswith(("region,", "paper")) or design == "region"
    assert ("regions" in frame) == (clf.network_.stages.trees is not None)
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


def test_explaining_needs_a_fitted_classifier_and_the_right_features():
    with pytest.raises(ValueError, match="not fitted"):
        FFMLPClassifier().explain([[0.0]])
    with pytest.raises(ValueError, match="features"):
        region_design(random_state=0).fit(*IRIS).explain([[0.0]])


def test_a_frame_without_pandas_says_what_to_install():
    script = """
import sys
sys.modules["pandas"] = None
from sklearn.datasets import load_iris
from ffmlp import FFMLPClassifier
X, y = load_iris(return_X_y=True)
FFMLPClassifier().fit(X, y).explain(X).to_frame()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (
        "pandas is required for Explanations.to_frame. Install it with: pip install 'ffmlp[cli]'"
        in done.stderr
    )


def test_explanations_are_counted_from_the_end_too():
    X, y = IRIS
    explanations = region_design(random_state=0).fit(X, y).explain(X[:3])
    assert str(explanations[-1]) == str(explanations[2])
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


PAGES = {
    "regions": """\
Its lead over versicolor, in evidence: +20.80, the sum of
   +20.30  blob 4 (virginica) over blob 2 (versicolor)
           5.20 standard deviations from the hyperplane, log-odds +20.30
           by petal width (cm) = 2.5 (+14.22), petal length (cm) = 6 (+11.03),
           sepal width (cm) = 3.3 (-4.69), 1 other feature (-0.26)
    +0.00  1 other hyperplane
    +0.30  regions (2 of 3 trees agree)
           +0.250 region of class virginica: petal width (cm) > 1.7 and
             4.8 < petal length (cm) <= 5.1
           -0.050 region of class versicolor: petal width (cm) <= 1.8
           against the centre of blob 3 of class versicolor (-0.20):
           petal width (cm) = 1.75 (+0.45), petal length (cm) = 5 (+0.05)
    +0.20  not due to any one hyperplane""",
    "region": """\
Class virginica, probability 0.943; next is versicolor, 0.057.

In region 0, with training samples: 3 of class versicolor, 50 of class virginica.

Its lead over versicolor: +20.30, the sum of
   +20.30  blob 4 (virginica) over blob 2 (versicolor)
           5.20 standard deviations from the hyperplane, log-odds +20.30
           by petal width (cm) = 2.5 (+14.22), petal length (cm) = 6 (+11.03),
           sepal width (cm) = 3.3 (-4.69), 1 other feature (-0.26)
    +0.00  1 other hyperplane

The smallest change to another class, versicolor: 0.9278 standard deviations of the features
  petal length (cm)  6 → 4.735 (-1.27)
  petal width (cm)   2.5 → 2.092 (-0.408)
  sepal width (cm)   3.3 → 3.395 (+0.0948)
  sepal length (cm)  6.3 → 6.373 (+0.0735)""",
    "blob": """\
Class virginica, probability 0.549; next is versicolor, 0.451.

Among the samples of blob 2 of class versicolor, 18.8% of the training samples.

Its lead over versicolor, in log-odds: +0.20, the sum of
    -0.11  blob 2 (versicolor) over blob 4 (virginica)
           0.19 standard deviations from the hyperplane, log-odds +0.73
           by sepal width (cm) = 3.2 (+3.50), petal width (cm) = 1.8 (-2.55),
           sepal length (cm) = 5.9 (-0.76), 1 other feature (+0.54)
    +0.00  11 other hyperplanes
    +0.30  not due to any one hyperplane""",
    "readout": """\
Class versicolor, probability 0.599; next is virginica, 0.372.

Among the samples of blob 13 of class versicolor, 5.3% of the training samples.

Its lead over virginica, in log-odds: +0.48, the sum of
    -1.39  petal length (cm) above 3.3
           0.85 standard deviations from the hyperplane
    -0.88  petal width (cm) above 1.2
           0.79 standard deviations from the hyperplane
    -0.83  petal width (cm) above 1.4
           0.52 standard deviations from the hyperplane
    -0.77  petal width (cm) above 1
           1.05 standard deviations from the hyperplane
    -0.77  petal width (cm) above 1.3
           0.65 standard deviations from the hyperplane
    +6.40  138 other hyperplanes
    -1.29  not due to any one hyperplane

All hyperplanes together, by feature: sepal width (cm) = 3.2 (+4.13),
petal width (cm) = 1.8 (-2.70), sepal length (cm) = 5.9 (+0.98),
1 other feature (-0.65)""",
}


def test_a_page_says_that_no_change_was_found():
    clf = DESIGNS["readout"].fit(*IRIS)
    x = IRIS[0][[70]]
    tight = {j: (x[0, j] - 1e-9, x[0, j] + 1e-9) for j in range(4)}
    page = str(clf.explain(x, counterfactual=True, bounds=tight))
    assert page.endswith("No change to another class was found within the limits.")


def test_many_features_are_explained_along_their_axes():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 150)) + 0.3 * y[:, None]
    clf = FFMLPClassifier(design="readout", gaussianise=False).fit(X, y)
    made = clf.explain(X[:5])
    assert np.isfinite(made.deviations).all()
    assert "blob" in str(made[0])


def test_a_constant_rule_has_no_drivers():
    X, y = swallowed()
    clf = FFMLPClassifier(1, design="blob", discriminant="heteroscedastic", random_state=0).fit(X, y)
    assert str(clf.explain(X[:1])[0]).splitlines()[-1].strip().endswith("log-odds +1.39")


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
    clf = FFMLPClassifier(design="readout", max_regions=300).fit(X, y, sample_weight=weight)
    assert clf.n_regions_ > 0
    explanations = clf.explain(X[:100])
    assert (explanations.rivals == 2).any()
    for explanation in explanations:
        assert explanation.regions.reference.rpartition(" ")[2] in "01"
