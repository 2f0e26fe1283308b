import tracemalloc

import numpy as np
import pytest
from problems import IRIS, four_moons, overlapping, paper_design, region_design, xor
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ffmlp import FFMLPClassifier


@parametrize_with_checks(
    [
        FFMLPClassifier(),
        FFMLPClassifier(design="readout", error_threshold=0.1),
        FFMLPClassifier(max_neurons=30, class_weight="balanced"),
        FFMLPClassifier(2, design="blob"),
        region_design(1, discriminant="heteroscedastic", pruning="optimal"),
        paper_design(all_pairs=True, class_weight="balanced"),
    ]
)
@pytest.mark.filterwarnings("ignore:Class .* has too few distinct samples")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def designs_equal(a, b):
    return all(np.array_equal(v, w) for v, w in zip(a.network_.weights, b.network_.weights, strict=True))


# What comes in


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(str, "abc"), (object, "abc"), (int, [-5, 0, 70]), (float, [1, 2, 3]), (bool, [0, 1])],
)
def test_any_label_type(kind, labels):
    labels = np.array([*labels], kind)
    X, y = IRIS
    X, y = X[y < len(labels)], y[y < len(labels)]
    reference = region_design(random_state=0).fit(X, y)
    clf = region_design(random_state=0).fit(X, labels[y])
    np.testing.assert_array_equal(clf.classes_, labels)
    np.testing.assert_array_equal(clf.predict(X), labels[reference.predict(X)])
    assert clf.predict(X).dtype == labels.dtype
    if kind is bool:
        np.testing.assert_array_equal(clf.predict(X), clf.decision_function(X) > 0)


def test_components_by_class():
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])
    components = {"setosa": 1, "versicolor": 3, "virginica": 2}
    clf = region_design(components, random_state=0).fit(X, names[y])
    assert np.bincount(clf.blobs_.classes).tolist() == [1, 3, 2]
    assert len(clf.hyperplanes_) + len(clf.pruning_path_.deleted) == 1 * 3 + 1 * 2 + 3 * 2


def test_given_blobs_are_used_as_they_are():
    X, y, blob = xor(400)
    weight = (np.arange(400) % 3).astype(float)
    clf = region_design(n_components=7, error_threshold=None).fit(X, y, weight, blobs=blob)
    assert len(clf.blobs_) == 4
    for number in range(4):
        mean = np.average(X[blob == number], axis=0, weights=weight[blob == number])
        np.testing.assert_allclose(clf.blobs_.means[number], mean)
    by_name = region_design(error_threshold=None).fit(X, y, weight, blobs=np.array([*"pqrs"])[blob])
    assert designs_equal(clf, by_name)


def test_weights_below_one_are_relative():
    X, y = overlapping(300, 3)
    even = region_design(2, random_state=0).fit(X, y)
    shares = region_design(2, random_state=0).fit(X, y, sample_weight=np.full(300, 1 / 300))
    tiny = region_design(2, random_state=0).fit(X, y, sample_weight=np.full(300, 1e-300))
    for weighted in (shares, tiny):
        np.testing.assert_array_equal(weighted.pruning_path_.deleted, even.pruning_path_.deleted)
        np.testing.assert_allclose(weighted.hyperplanes_.weights, even.hyperplanes_.weights)


# What comes out


def test_fitted_attributes():
    X, y = four_moons(600)
    clf = region_design(3, random_state=0).fit(X, y)
    n_blobs, n_planes, n_regions = len(clf.blobs_), len(clf.hyperplanes_), len(clf.regions_)
    assert n_blobs == 12
    assert clf.blobs_.classes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert clf.blobs_.means.shape == (12, 2)
    assert clf.blobs_.covariances.shape == (12, 2, 2)
    assert clf.blobs_.weights.sum() == pytest.approx(1)
    assert clf.hyperplanes_.weights.shape == (n_planes, 2)
    assert clf.hyperplanes_.biases.shape == (n_planes,)
    assert clf.hyperplanes_.pairs.shape == (n_planes, 2)
    first, second = clf.blobs_.classes[clf.hyperplanes_.pairs].T
    assert (first != second).all()
    assert clf.regions_.codes.shape == (n_regions, n_planes)
    assert clf.regions_.codes.dtype == bool
    assert clf.regions_.counts.sum() == 600
    assert clf.regions_.classes.shape == (n_regions,)
    assert list(clf.timings_) == ["gmm", "boundaries", "regions", "classes"]
    path = clf.pruning_path_
    assert n_planes == 54 - len(path.deleted)
    assert (np.diff(path.error_rates) >= 0).all()
    assert path.error_rates[-1] < 0.05
    assert clf.score(X, y) == pytest.approx(1 - path.error_rates[-1])


@pytest.mark.parametrize("seed", range(5))
def test_no_pruning_with_fractional_weights(seed):
    X, y, _ = xor(100, seed)
    weight = np.random.default_rng(seed).uniform(size=100)
    clf = region_design(error_threshold=None, random_state=0).fit(X, y, sample_weight=weight)
    assert len(clf.pruning_path_.deleted) == 0


def test_same_seed_same_network_on_any_number_of_threads():
    X, y = overlapping(3000, 12)
    reference = region_design(3, random_state=0).fit(X, y)
    assert designs_equal(reference, region_design(3, random_state=0).fit(X, y))
    with threadpool_limits(1):
        alone = region_design(3, random_state=0).fit(X, y)
        assert designs_equal(reference, alone)
        np.testing.assert_array_equal(reference.predict(X), alone.predict(X))


@pytest.mark.parametrize("design", ["paper", "region", "blob", "readout"])
def test_probabilities_do_not_depend_on_the_place_of_a_sample(design):
    X, y = overlapping(1200, 6)
    clf = FFMLPClassifier(9, design=design, error_threshold=None, random_state=0).fit(X, y)
    assert len(clf.hyperplanes_) > 192  # where some kernels round the last columns differently
    probabilities = clf.predict_proba(np.tile(X[5] + 0.1, (1500, 1)))
    np.testing.assert_array_equal(probabilities, np.broadcast_to(probabilities[0], probabilities.shape))


def test_memory_of_predict_grows_neither_with_classes_nor_with_trees():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 50
    clf = region_design(1, error_threshold=None).fit(rng.normal(size=(1000, 1)) + 10 * y[:, None], y)
    X = rng.uniform(-10, 510, size=(200_000, 1))
    clf.predict(X[:1])
    tracemalloc.start()
    clf.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A table of probabilities would take 80 MB, one of responses 2 GB.
    assert peak < 60e6


def test_float32_samples_predict_like_their_float64_copies():
    X, y = four_moons(400)
    X = X.astype(np.float32)
    clf = region_design(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), clf.predict(X.astype(np.float64)))


def test_scaling_of_the_features_does_not_matter():
    X, y = IRIS
    reference = region_design(random_state=0).fit(X, y)
    scale, shift = np.array([1e-12, 1e12, 1.0, 1e3]), np.array([0.0, 1e12, -5.0, 1e4])
    clf = region_design(random_state=0).fit(X * scale + shift, y)
    assert (clf.predict(X * scale + shift) == reference.predict(X)).mean() > 0.99
    np.testing.assert_allclose(clf.blobs_.means, reference.blobs_.means * scale + shift, rtol=1e-6)


def test_verbose_tells_stages_and_hyperplanes_left(capsys):
    region_design(random_state=0, verbose=1).fit(*IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[FFMLPClassifier] gmm: 6 blobs in 3 classes"
    assert lines[3].startswith("[FFMLPClassifier] boundaries: 12 hyperplanes, ")
    assert lines[4].startswith("[FFMLPClassifier] boundaries: 11 hyperplanes left, training error ")
    assert any("network of 4 → 4 → 3 → 3 neurons" in line for line in lines)
    region_design(random_state=0).fit(*IRIS)
    assert capsys.readouterr().out == ""


# Data that are hard to take


def test_a_class_smaller_than_its_number_of_components():
    X = np.array([[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.1, 5.2], [5.2, 4.9], [4.9, 5.1]])
    y = np.array(["few", "few", "more", "more", "more", "more"])
    with pytest.warns(
        UserWarning, match="Class 'few' has too few distinct samples for 3 .* it gets 2"
    ) as told:
        clf = region_design(3, random_state=0).fit(X, y)
    assert told[0].filename == __file__  # the warning points to the user's line
    assert clf.predict(X).tolist() == y.tolist()


def test_one_sample_per_class():
    clf = region_design(1).fit([[0.0], [1.0]], ["no", "yes"])
    assert clf.predict([[0.1], [0.9], [-50.0], [50.0]]).tolist() == ["no", "yes", "no", "yes"]


# Input that is wrong

X_OK, Y_OK = IRIS


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components must be an int of at least 1.*got 0"),
        ({"n_components": 1.5}, "n_components must be an int.*got 1.5"),
        ({"n_components": True}, "n_components must be an int.*got True"),
        ({"n_components": "two"}, "n_components must be an int.*got 'two'"),
        ({"n_components": {0: 1, 1: 1, 2: 0}}, r"n_components\[2\] must be an int.*got 0"),
        ({"n_components": {0: 1, 1: 1, 2: 1, 9: 1}}, "names class 9, which is not in y"),
        ({"n_components": {0: 1, 1: 1}}, "no entry for class 2"),
        ({"error_threshold": 1.5}, r"must be a number in \[0, 1\], None or 'auto', got 1.5"),
        ({"error_threshold": -0.1}, r"got -0.1"),
        ({"error_threshold": float("nan")}, r"got nan"),
        ({"error_threshold": "0.1"}, r"got '0.1'"),
        ({"penalty": 0.5}, "penalty must be a number from 1 to 1e300, got 0.5"),
        ({"penalty": np.inf}, "got inf"),
        ({"penalty": 10**400}, "penalty must be a number from 1 to 1e300"),
        ({"discriminant": ["lda"]}, r"got \['lda'\]"),
        ({"pruning": "none"}, "pruning must be 'greedy' or 'optimal', got 'none'"),
        ({"gaussianise": "yes"}, "gaussianise must be True, False or 'auto', got 'yes'"),
        ({"class_weight": "even"}, "class_weight must be a mapping .* got 'even'"),
        ({"class_weight": {0: 1, 7: 1}}, "class_weight names class 7, which is not in y"),
        ({"class_weight": {0: -1}}, r"class_weight\[0\] must be a number from 1e-06 to 1e\+06, got -1"),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
        ({"design": "tree"}, "'auto', 'paper', 'region', 'blob' or 'readout', got 'tree'"),
        ({"all_pairs": "no"}, "all_pairs must be True or False, got 'no'"),
        ({"all_pairs": True}, "all_pairs=True needs design='region' or 'paper', got design='auto'"),
        (
            {"design": "paper", "discriminant": "auto"},
            r"without extensions, got discriminant='auto'\. Use discriminant='lda', or design=.region",
        ),
        ({"design": "paper", "gaussianise": True}, "got gaussianise=True. Use gaussianise=False"),
        ({"design": "paper", "pruning": "optimal"}, "got pruning='optimal'. Use pruning='greedy'"),
        ({"design": "paper", "max_neurons": 30}, "max_neurons=30 needs design='readout', got"),
        ({"discriminant": "qda"}, "'auto', 'lda' or 'heteroscedastic', got 'qda'"),
        ({"design": "blob", "max_leaves": 9}, "max_leaves=9 needs design='readout', got design='blob'"),
        *(
            ({"max_leaves": value}, "max_leaves must be an int of at least 0 or 'auto', got")
            for value in (-1, 1.5, True, "many", None)
        ),
        *(
            ({"n_jobs": value}, r"n_jobs must be an int other than 0 \(-1: all cores\) or None, got")
            for value in (0, 1.5, True, "all", np.ones(2))
        ),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        FFMLPClassifier(**params).fit(X_OK, Y_OK)


@pytest.mark.parametrize(
    ("X", "y", "fit_params", "error", "message"),
    [
        (np.where(X_OK > 7, np.inf, X_OK), Y_OK, {}, ValueError, "infinity"),
        (X_OK, np.zeros(150), {}, ValueError, "at least 2 classes, got only 1 class"),
        (X_OK, X_OK[:, 0], {}, ValueError, "Unknown label type"),
        (X_OK[:0], Y_OK[:0], {}, ValueError, "0 sample"),
        (X_OK[:, :0], Y_OK, {}, ValueError, "0 feature"),
        (X_OK[:, 0], Y_OK, {}, ValueError, "Expected 2D array"),
        (X_OK, Y_OK[:-1], {}, ValueError, "inconsistent numbers of samples"),
        (X_OK.astype(complex), Y_OK, {}, ValueError, "Complex data not supported"),
        (sparse.csr_array(X_OK), Y_OK, {}, TypeError, "Sparse data was passed"),
        (X_OK, Y_OK, {"sample_weight": -np.ones(150)}, ValueError, r"sample_weight\[0\] is -1.0"),
        (X_OK, Y_OK, {"sample_weight": np.zeros(150)}, ValueError, "zero for all samples"),
        (X_OK, Y_OK, {"sample_weight": np.full(150, 1e307)}, ValueError, "Scale the weights down"),
        (X_OK, Y_OK, {"sample_weight": np.ones(149)}, ValueError, r"150 samples, got shape \(149,\)"),
        (X_OK, Y_OK, {"sample_weight": 1.0}, ValueError, r"sample_weight must have one entry for each"),
        (X_OK, Y_OK, {"blobs": X_OK}, ValueError, r"blobs must have one .* got shape \(150, 4\)"),
        (X_OK, Y_OK, {"blobs": X_OK[:, 0]}, ValueError, "Pass weights as sample_weight="),
        (X_OK, Y_OK, {"blobs": np.array([None, "a", 1] * 50)}, ValueError, "ids of one type"),
        (X_OK, np.array(["a", None, "b"] * 50), {}, ValueError, "labels of one type, got NoneType"),
        (X_OK, Y_OK, {"sample_weight": np.full(150, np.nan)}, ValueError, "NaN"),
        (X_OK, Y_OK, {"sample_weight": (Y_OK == 1) * 1.0}, ValueError, "got only 1 class"),
        (X_OK, Y_OK, {"blobs": np.zeros(150)}, ValueError, "Blob .*0.* has samples of two classes"),
        (X_OK, Y_OK, {"blobs": Y_OK[:-1]}, ValueError, r"150 samples, got shape \(149,\)"),
    ],
)
def test_wrong_data(X, y, fit_params, error, message):
    clf = region_design(random_state=0)
    with pytest.raises(error, match=message):
        clf.fit(X, y, **fit_params)
    assert vars(clf) == vars(region_design(random_state=0))
    with pytest.raises(NotFittedError):
        clf.predict(X_OK)


def test_a_failed_fit_leaves_an_earlier_one_alone():
    clf = region_design(random_state=0).fit(X_OK, Y_OK)
    before = clf.predict_proba(X_OK)
    with pytest.raises(ValueError, match="got only 1 class"):
        clf.fit(X_OK[:, :2], np.zeros(150))
    assert clf.n_features_in_ == 4
    np.testing.assert_array_equal(clf.predict_proba(X_OK), before)
