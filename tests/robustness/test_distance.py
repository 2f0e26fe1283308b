from functools import partial

import numpy as np
import pytest
from problems import IRIS, classifiers, four_moons, region_design, regions_alone, steps, swallowed
from random_readouts import in_ball, on_axes
from scipy.optimize import linprog, nnls
from sklearn.datasets import load_breast_cancer

from ffmlp import FFMLPClassifier
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.region import RegionStages, sign_codes, tabulate
from ffmlp.robustness import polyhedra
from ffmlp.robustness.distance import distances
from ffmlp.robustness.limits import Limits
from ffmlp.robustness.nearby_points import SearchProblem, found_points

pytest.importorskip("daqp")


def random_network(rng):
    """Random hyperplanes, and regions where a few random samples with random classes are."""
    n_features, n_planes, n_classes = rng.integers(1, 5), rng.integers(1, 7), rng.integers(2, 4)
    planes = Hyperplanes(
        rng.normal(size=(n_planes, n_features)) * 10.0 ** rng.uniform(-2, 2, size=(n_planes, 1)),
        rng.normal(size=n_planes),
        np.zeros((n_planes, 2), np.intp),
    )
    samples = 2 * rng.normal(size=(rng.integers(2, 12), n_features))
    y = rng.integers(n_classes, size=len(samples))
    regions = tabulate(sign_codes(planes, samples), n_planes, y, n_classes)
    stages = RegionStages(regions, 1000.0)
    names = tuple(f"x{number}" for number in range(n_features))
    network = Network(planes, stages, np.arange(n_classes), np.zeros(1, np.intp), names)
    return network, regions


def free(samples, norm):
    everywhere = np.full(samples.shape, np.inf)
    return Limits(-everywhere, everywhere, np.ones(samples.shape[1]), norm)


NO_BLOBS = Blobs(np.zeros(0, np.intp), np.zeros((0, 1)), np.zeros((0, 1, 1)), np.zeros(0))


def random_problems(seed, n_problems):
    rng = np.random.default_rng(seed)
    while n_problems:
        network, regions = random_network(rng)
        if len(np.unique(regions.classes)) > 1:
            yield rng, network, regions, 2 * rng.normal(size=(1, len(network.feature_names)))
            n_problems -= 1


def faces(network, x):
    """For each region r, ``slopes @ u >= behind`` where no region, whatever its class, beats r."""
    codes = network.stages.regions.codes.astype(float)
    normals = codes @ network.hyperplanes.weights
    values = codes @ network.hyperplanes.log_odds(x[None])[0]
    for r in range(len(codes)):
        yield r, np.delete(normals[r] - normals, r, axis=0), np.delete(values - values[r], r)


def least_distance(slopes, behind):
    """The shortest step by Lawson and Hanson's reduction to nonnegative least squares."""
    size = np.linalg.norm(slopes, axis=1)
    slopes, behind = slopes / size[:, None], behind / size
    table = np.vstack([slopes.T, behind])
    target = np.zeros(len(table))
    target[-1] = 1.0
    residual = table @ nnls(table, target, maxiter=1000)[0] - target
    return np.inf if abs(residual[-1]) < 1e-12 else np.linalg.norm(residual[:-1] / residual[-1])


def independent_distance(network, regions, x, solve):
    own = network.classes(x[None])[0]
    return min(
        solve(slopes, behind)
        for r, slopes, behind in faces(network, x)
        if network.stages.neuron_classes[r] != own
    )


def test_the_prediction_is_an_argmax_of_linear_functions_in_unseen_regions_too():
    n_unseen = 0
    for rng, network, regions, _ in random_problems(0, 200):
        X = 3 * rng.normal(size=(300, len(network.feature_names)))
        h = network.hyperplanes.log_odds(X)
        scores = network.stages.scores(h)
        predicted = scores[np.arange(len(X)), network.classes(X)]
        assert (predicted >= scores.max(axis=1) - 1e-9 * np.abs(h).sum(axis=1)).all()
        # The conflict with each region, as the fallback defines it.
        conflict = np.array([np.abs(h * (codes != (h > 0))).sum(axis=1) for codes in regions.codes])
        for c in set(regions.classes):
            expected = np.maximum(h, 0).sum(axis=1) - conflict[regions.classes == c].min(axis=0)
            np.testing.assert_allclose(scores[:, c], expected, atol=1e-8)
        n_unseen += np.count_nonzero(regions.index.find(sign_codes(network.hyperplanes, X)) < 0)
    assert n_unseen > 1000


def least_other_norm(norm, slopes, behind):
    """The shortest step in the norm 1 or the maximum norm, by a linear programme."""
    n = slopes.shape[1]
    eye, one = np.eye(n), np.ones((n, n if norm == 1 else 1))
    bend = -eye if norm == 1 else -one
    table = np.block([[-slopes, np.zeros((len(slopes), bend.shape[1]))], [eye, bend], [-eye, bend]])
    right = np.concatenate([-behind, np.zeros(2 * n)])
    cost = np.concatenate([np.zeros(n), np.ones(bend.shape[1])])
    solved = linprog(cost, table, right, bounds=(None, None), method="highs-ipm")
    return solved.fun if solved.status == 0 else np.inf


@pytest.mark.parametrize(
    ("norm", "solve", "n_problems", "tolerance"),
    [
        (2.0, least_distance, 1000, {"rtol": 1e-6, "atol": 1e-9}),
        (1.0, partial(least_other_norm, 1), 60, {"rtol": 1e-5, "atol": 1e-6}),
        (np.inf, partial(least_other_norm, np.inf), 60, {"rtol": 1e-5, "atol": 1e-6}),
    ],
)
def test_distances_of_random_networks(norm, solve, n_problems, tolerance):
    for rng, network, regions, x in random_problems(int(min(norm, 3)), n_problems):
        found = distances(network, NO_BLOBS, x, free(x, norm))
        (own,) = network.classes(x)
        expected = independent_distance(network, regions, x[0], solve)
        np.testing.assert_allclose(found.distance[0], expected, **tolerance)
        if not np.isfinite(expected):
            continue
        assert found.exact.all()
        assert network.classes(found.points)[0] == found.classes[0] != own
        way, radius = found.points[0] - x[0], 0.999 * found.distance[0]
        size = np.linalg.norm(way, ord=norm)
        assert size <= found.distance[0] * (1 + 1e-3) + 1e-6
        around = np.vstack([in_ball(rng, 200, x.shape[1], norm), way / size])
        assert (network.classes(x + radius * around) == own).all()


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_no_walk_finds_anything_nearer(norm):
    n_found = 0
    for rng, network, _, _ in random_problems(9, 12):
        samples = 2 * rng.normal(size=(12, len(network.feature_names)))
        limits = free(samples, norm)
        own = network.classes(samples)
        problem = SearchProblem(network, samples, own, limits)
        starts = samples[rng.permuted(np.tile(np.arange(12), (12, 1)), axis=1)[:, :5]]
        found = found_points(problem, starts)
        there = np.isfinite(found).all(axis=1)
        exact = distances(network, NO_BLOBS, samples, limits).distance
        assert (problem.distance(found)[there] >= exact[there] * (1 - 1e-9)).all()
        n_found += np.count_nonzero(there)
    assert n_found > 70


SMALL = {"max_neurons": 30, "design": "readout"}
ONE_BLOB = {"n_components": 1, "design": "blob", "random_state": 0}
HALVES = np.arange(80) % 2
SHIFTED = np.random.default_rng(0).normal(size=(80, 3)) + 2.0 * HALVES[:, None] * [1.0, 0.0, 0.0]
EXACT = {
    "region": (region_design(3, random_state=0), *four_moons(300)),
    "small readout": (FFMLPClassifier(**SMALL, gaussianise=False), *four_moons(240)),
    "small readout, gaussianised": (FFMLPClassifier(**SMALL, gaussianise=True), *four_moons(240)),
    "one blob for each class": (FFMLPClassifier(**ONE_BLOB, gaussianise=False), *IRIS),
    "one blob for each class, gaussianised": (FFMLPClassifier(**ONE_BLOB, gaussianise=True), *IRIS),
    # The lead of such a network has no bends.
    "two blobs": (FFMLPClassifier(**ONE_BLOB, gaussianise=False), SHIFTED, HALVES),
}


@pytest.mark.parametrize("norm", [2, 1, "inf"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_distances(name, norm):
    clf, X, y = EXACT[name]
    some, rng = X[:: 5 if name == "region" else len(X) // 3], np.random.default_rng(0)
    clf.fit(X, y)
    found, own = clf.robustness(some, norm), clf.predict(some)
    assert found.exact.all()
    assert (found.lower == found.distance).all()
    reached = clf.predict(found.points)
    assert (reached != own).all()
    assert (clf.classes_[found.classes] == reached).all()
    size = np.linalg.norm(found.points - some, ord=float(norm), axis=1)
    tolerance = 1e-3 if name == "region" else 2e-6
    np.testing.assert_allclose(size, found.distance, rtol=tolerance, atol=1e-8)
    n = X.shape[1]
    for x, step, radius, label in zip(some, found.points - some, found.lower, own, strict=True):
        around = radius * np.vstack([in_ball(rng, 3000, n, float(norm)), on_axes(n, float(norm))])
        assert (clf.predict(x + 0.999 * np.vstack([around, step])) == label).all()
    doubled = clf.robustness(some[:1], norm, scale=np.full(n, 0.5))
    np.testing.assert_allclose(doubled.distance, 2 * found.distance[:1], rtol=2e-6)


def test_where_no_other_class_can_be_reached_the_distance_is_infinite():
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.tile(np.arange(20.0), 2)])
    clf = region_design(1, random_state=0).fit(X + 0.01 * np.sin(X[:, ::-1]), np.repeat([0, 1], 20))
    found = clf.robustness(X[:3], bounds={0: (-0.1, 0.1), 1: (0.0, 19.0)})
    assert (found.distance == np.inf).all()
    assert np.isnan(found.points).all()
    assert (found.classes == -1).all()


DESIGNS = classifiers()
BOUNDED = [name for name in DESIGNS if name not in ("region", "small readout")]


@pytest.mark.parametrize("norm", [2, 1, "inf"])
@pytest.mark.parametrize("design", [*BOUNDED, "trees", "trees alone"])
def test_bounds_hold_where_distances_are_not_exact(design, norm):
    X, y = steps() if "trees" in design else IRIS if norm == 1 else four_moons(240)
    clf = DESIGNS["regions" if "trees" in design else design].fit(X, y)
    if design == "trees alone":
        regions_alone(clf)
    some, rng = X[::8], np.random.default_rng(0)
    found = clf.robustness(some, norm)
    assert not found.exact.any()
    assert np.isfinite(found.distance).all()
    assert (found.lower > 0).all()
    assert (found.lower <= found.distance).all()
    own = clf.predict(some)
    assert (clf.predict(found.points) != own).all()
    size = np.linalg.norm(found.points - some, ord=float(norm), axis=1)
    np.testing.assert_allclose(size, found.distance, rtol=1e-9)
    for x, radius, label in zip(some, found.lower, own, strict=True):
        n = X.shape[1]
        near = np.vstack([in_ball(rng, 300, n, float(norm)), on_axes(n, float(norm))])
        assert (clf.predict(x + radius * near) == label).all()
    # The bounds are worth something: the proved part is a fair share of what was found.
    assert np.median(found.lower / found.distance) > (0.2 if "trees" in design else 0.1)


@pytest.mark.parametrize(
    "design", ["region", "readout", "regions", "blob", "region, gaussianised", "paper", "small readout"]
)
def test_frozen_features_never_move_and_bounds_hold(design):
    X, y = IRIS
    clf = DESIGNS[design].fit(X, y)
    some, least = X[50::20], X[50::20, 2].min()
    bounds = {0: (4.0, None), "x2": (least, 7.0)}
    free, held = clf.robustness(some), clf.robustness(some, frozen=["x3"], bounds=bounds)
    there = np.isfinite(held.distance)
    assert there.any()
    assert design != "small readout" or (held.exact | ~there).all()
    assert (held.points[there, 3] == some[there, 3]).all()
    assert (held.points[there, 0] >= 4.0).all()
    assert ((held.points[there, 2] >= least) & (held.points[there, 2] <= 7.0)).all()
    assert (held.distance >= free.lower * (1 - 1e-9)).all()
    assert (clf.predict(held.points[there]) != clf.predict(some[there])).all()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"norm": 3}, r'norm must be 2, 1 or "inf", got 3'),
        ({"frozen": [0, 1, 2, 3]}, "All features are frozen, so no change is possible"),
        ({"frozen": ["petal"]}, r"Unknown feature 'petal'\. Features are 0 to 3, named"),
        ({"frozen": [4]}, "Unknown feature 4"),
        (
            {"bounds": {"x0": (6.0, 7.0)}},
            r"bounds of feature 'x0' exclude sample 0: 5\.1 is not between",
        ),
        ({"scale": [1.0, 0.0, 1.0, 1.0]}, "scale must be 4 positive numbers"),
        ({"scale": [1.0]}, "scale must be 4 positive numbers"),
        ({"frozen": [False, False, True, True]}, "Unknown feature False"),
        ({"frozen": np.array([True, False, False, False])}, "Unknown feature"),
        ({"frozen": [1.5]}, "Unknown feature 1.5"),
        ({"frozen": None}, "frozen must be a sequence of features, got None"),
        ({"bounds": {0: 5}}, r"bounds of feature 0 must be \(low, high\), two numbers or None, got 5"),
        ({"bounds": {0: (1, 2, 3)}}, r"two numbers or None, got \(1, 2, 3\)"),
        ({"bounds": {0: ("a", 2)}}, r"two numbers or None, got \('a', 2\)"),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
        ({"time_limit": "long"}, "time_limit must be a positive number of seconds, got 'long'"),
        ({"n_jobs": 0}, "n_jobs must be an int other than 0, or None, got 0"),
        ({"bounds": [(0, 1)]}, r"bounds must be a mapping of columns, such as \{0: …\}, got"),
    ],
)
def test_impossible_wishes_are_refused(wish, message):
    with pytest.raises(ValueError, match=message):
        REGIONS.robustness(SOME, **({"norm": 1} | wish))


@pytest.mark.parametrize("design", ["region", "blob"])
def test_constant_rules_only_are_refused(design):
    X, y = swallowed()
    clf = FFMLPClassifier(1, design=design, discriminant="heteroscedastic", random_state=0).fit(X, y)
    assert not clf.hyperplanes_.weights.any()
    with pytest.raises(ValueError, match="all hyperplanes have zero weights"):
        clf.robustness(X[:5])


def test_exact_distances_of_all_breast_cancer_samples():
    X, y = load_breast_cancer(return_X_y=True)
    clf = region_design(random_state=0).fit(X, y)
    found = clf.robustness(X, scale=X.std(axis=0))
    assert found.exact.all()
    assert (clf.predict(found.points) != clf.predict(X)).all()


def test_a_polyhedron_that_a_solver_misses_is_not_left_out_silently(monkeypatch):
    class Wrong:
        @staticmethod
        def solve(*parts, **tolerances):
            return np.zeros(4), 0.0, -1, {}

    clf = region_design(random_state=0).fit(*IRIS)
    monkeypatch.setattr(polyhedra, "imported", lambda *_: Wrong)
    with pytest.raises(RuntimeError, match="in which HiGHS found one, so the distance is not known"):
        clf.robustness(IRIS[0][:1])


def test_features_of_very_different_scales_need_units():
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scale = np.array([1e-8, 1.0, 1e8])
    clf = region_design(random_state=0).fit(X * scale, y)
    with pytest.raises(
        ValueError, match=r"differ by a factor of 1e.16.* Pass the unit of each feature as scale="
    ):
        clf.robustness(X * scale, norm="inf")
    found = clf.robustness(X * scale, norm="inf", scale=scale)
    assert (clf.predict(found.points) != clf.predict(X * scale)).all()


REGIONS, SOME = region_design(random_state=0).fit(*IRIS), IRIS[0][:2]


@pytest.mark.parametrize("size", [1e-30, 1e9, 1e30])
@pytest.mark.parametrize("design", ["region", "paper", "blob"])
def test_distances_do_not_depend_on_the_unit_of_the_features(design, size):
    clf = FFMLPClassifier(1, design=design, error_threshold=None, gaussianise=False, random_state=0)
    expected = clf.fit(*IRIS).robustness(IRIS[0][:5], 1).distance
    np.testing.assert_allclose(
        clf.fit(IRIS[0] * size, IRIS[1]).robustness(IRIS[0][:5] * size, 1).distance / size,
        expected,
        rtol=1e-6,
    )


@pytest.mark.parametrize("unit", [1e-300, 1e20, 1e160])
@pytest.mark.parametrize("norm", [1, "inf"])
def test_distances_in_any_unit_are_the_same(unit, norm):
    found = REGIONS.robustness(SOME, norm, scale=np.full(4, unit))
    assert found.exact.all()
    np.testing.assert_allclose(found.distance * unit, REGIONS.robustness(SOME, norm).distance, rtol=1e-9)


@pytest.mark.parametrize(("size", "word"), [(1e200, "large"), (1e-200, "small")])
def test_features_whose_squares_overflow_are_refused(size, word):
    clf = region_design(random_state=0).fit(IRIS[0] * size, IRIS[1])
    with pytest.raises(ValueError, match=f"The features are so {word} .* Fit to scaled features"):
        clf.robustness(SOME * size, 1)


@pytest.mark.parametrize("kind", [list, np.array])
def test_bounds_are_pairs_of_any_kind(kind):
    one, other = (REGIONS.robustness(SOME, 1, bounds={0: of((0, 9))}).distance for of in (tuple, kind))
    np.testing.assert_array_equal(one, other)


def test_one_frozen_feature_needs_no_list():
    alone, listed = (REGIONS.robustness(SOME, 1, frozen=frozen).distance for frozen in (1, [1]))
    np.testing.assert_array_equal(alone, listed)
