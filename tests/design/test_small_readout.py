import numpy as np
import pytest
from problems import IRIS, four_moons, overlapping
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.design import readout
from ffmlp.design.readout import taken_half_spaces
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes


def small(max_neurons=40, **parameters):
    return FFMLPClassifier(design="readout", max_neurons=max_neurons, **parameters)


def some_points(n_points=300, n_features=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    wanted = softmax(rng.normal(size=(n_points, n_classes)), axis=1)
    share = rng.random(n_points)
    Z = rng.normal(size=(n_points, n_features))
    return readout._Points(Z, share / share.sum(), wanted)


def one_sided_planes(n_planes, n_features, seed=1):
    rng = np.random.default_rng(seed)
    pairs = np.tile([0, 1], (n_planes, 1))
    weights, biases = rng.normal(size=(n_planes, n_features)), rng.normal(size=n_planes)
    return Hyperplanes(weights, biases, pairs, one_sided=True)


def test_half_spaces_are_taken_as_least_squares_on_every_candidate_would():
    rng = np.random.default_rng(0)
    h, targets, share = rng.normal(size=(80, 12)), rng.normal(size=(80, 3)), rng.random(80)
    root = np.sqrt(share)[:, None]
    taken = []
    for n_taken in range(1, 6):
        errors = {}
        for plane in set(range(12)) - {plane for plane, _ in taken}:
            for side in (1, -1):
                chosen = [*taken, (plane, side)]
                F = np.column_stack([np.ones(80), *(np.maximum(s * h[:, l], 0) for l, s in chosen)])
                rest = targets - F @ np.linalg.lstsq(root * F, root * targets, rcond=None)[0]
                errors[plane, side] = np.sum(share @ rest**2)
        taken.append(min(errors, key=errors.get))
        kept, sides = taken_half_spaces(h, targets, share, n_taken)
        assert sorted(taken) == list(zip(kept.tolist(), sides.tolist(), strict=True))


def test_responses_that_repeat_others_are_not_taken():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(50, 1))
    h = np.hstack([one, 2 * one, 0.5 * one, np.full((50, 1), -1.0)])
    kept, _ = taken_half_spaces(h, rng.normal(size=(50, 2)), np.ones(50), 4)
    assert len(kept) == 2  # the two sides of the same line; the opposite of a constant is constant


def test_weights_to_the_classes_are_those_of_a_logistic_regression(monkeypatch):
    monkeypatch.setattr(readout, "_N_SWEEPS", 200)
    points = some_points()
    responses = np.maximum(points.Z @ np.random.default_rng(2).normal(size=(3, 4)), 0.0)
    weights, bias = readout._fitted(points, responses, np.log(points.target))

    spread = np.sqrt(points.share @ (responses - points.share @ responses) ** 2)
    ridge = readout._RIDGE

    def loss(parameters):
        w, b = parameters[:12].reshape(4, 3), parameters[12:]
        return points.loss(responses @ w + b) + 0.5 * ridge * np.sum((w * spread[:, None]) ** 2)

    best = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-8})
    assert loss(np.concatenate([weights.ravel(), bias])) == pytest.approx(best.fun, abs=1e-6)


def test_a_step_is_newtons_while_no_point_changes_sides():
    points = some_points()
    inputs = np.column_stack([points.Z, np.ones(300)])
    weight, rest = np.array([1.0, -0.5, 0.2]), np.random.default_rng(3).normal(size=(300, 3))
    plane = np.array([0.3, -0.2, 0.1, 2.0])  # every point is on its positive side
    assert (inputs @ plane > 0).all()
    evidence = rest + np.outer(inputs @ plane, weight)
    step = readout._step(points, inputs, np.arange(300), evidence, weight)

    def gradient(plane):
        p = softmax(rest + np.outer(inputs @ plane, weight), axis=1)
        return inputs.T @ (points.share * ((p - points.target) @ weight))

    moves = 1e-5 * np.eye(4)
    hessian = np.array([(gradient(plane + m) - gradient(plane - m)) / 2e-5 for m in moves])
    hessian += np.eye(4) * readout._DAMPING * np.trace(hessian) / 4
    np.testing.assert_allclose(hessian @ step, -gradient(plane), atol=1e-7)


def test_every_round_lowers_the_loss():
    points, planes = some_points(), one_sided_planes(6, 3)
    evidence = np.log(points.target)
    weights, bias = readout._fitted(points, readout._responses(points, planes), evidence)
    losses = []
    for _ in range(4):
        losses.append(points.loss(readout._responses(points, planes) @ weights + bias))
        planes = readout._moved(points, planes, weights, bias)
        losses.append(points.loss(readout._responses(points, planes) @ weights + bias))
        responses = readout._responses(points, planes)
        weights, bias = readout._fitted(points, responses, responses @ weights + bias)
    assert all(after < before for before, after in zip(losses[::2], losses[1::2], strict=True))


def test_thresholds_of_a_feature_stay_thresholds():
    points, planes = some_points(), one_sided_planes(4, 3)
    planes.pairs[2] = NO_BLOB
    planes.weights[2] = [0.0, -1.0, 0.0]
    weights = np.random.default_rng(4).normal(size=(4, 3))
    moved = readout._moved(points, planes, weights, np.zeros(3))
    np.testing.assert_array_equal(moved.weights[2], planes.weights[2])
    assert moved.biases[2] != planes.biases[2]
    assert (moved.weights[[0, 1, 3]] != planes.weights[[0, 1, 3]]).any(axis=1).all()


def test_many_features_are_moved_along_principal_axes_only():
    rng = np.random.default_rng(0)
    points = some_points(120, 110)
    directions = readout._directions(points)
    assert directions.shape == (111, 101)
    np.testing.assert_allclose(directions.T @ directions, np.eye(101), atol=1e-10)
    X = rng.normal(size=(200, 110))
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    assert small(20).fit(X, y).score(X, y) > 0.9


def test_points_lie_between_neighbours_and_count_as_their_samples():
    X = np.array([[0.0], [1.0], [3.0]])
    between, start = readout._between_neighbours(X)
    assert len(between) == 6
    nearest = np.array([[1.0, 3.0], [0.0, 3.0], [1.0, 0.0]]).ravel()
    low, high = np.minimum(X[start, 0], nearest), np.maximum(X[start, 0], nearest)
    assert ((between[:, 0] > low) & (between[:, 0] < high)).all()
    assert len(readout._between_neighbours(np.arange(4000.0)[:, None])[0]) == 0


@pytest.mark.parametrize("max_neurons", [9, 10, 11, 20, 50])
def test_no_more_neurons_than_asked_for(max_neurons):
    X, y = four_moons(600)
    network = FFMLPClassifier(max_neurons=max_neurons).fit(X, y).network_
    assert sum(network.layer_sizes[1:]) == max_neurons
    for layer, (weights, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        assert weights.shape == network.layer_sizes[layer : layer + 2][::-1]
        assert len(bias) == len(weights)


def test_half_spaces_are_named_by_the_side_they_are_active_on():
    X, y = four_moons(600)
    clf = small(60).fit(X, y)
    planes, network = clf.hyperplanes_, clf.network_
    l_1 = network.responses(X)[0]
    names = [network.meaning(1, neuron) for neuron in range(len(planes))]
    for neuron, name in enumerate(names):
        threshold = planes.threshold(neuron)
        if threshold is None:
            near, far = planes.pairs[neuron]
            labels = clf.classes_[network.blob_classes[[near, far]]]
            assert name == f"half-space about blob {near} ({labels[0]}) over blob {far} ({labels[1]})"
            assert clf.blobs_.classes[near] != clf.blobs_.classes[far]
        else:
            feature, value = threshold
            above = name == f"half-space {network.feature_names[feature]} above {value:.4g}"
            assert above or name == f"half-space {network.feature_names[feature]} below {value:.4g}"
            off = np.abs(X[:, feature] - value) > 1e-3
            np.testing.assert_array_equal((l_1[off, neuron] > 0), (X[off, feature] > value) == above)
    assert any("above" in name for name in names)
    assert any("below" in name for name in names)
    assert any("about" in name for name in names)
    assert planes.one_sided


def test_it_is_nearly_as_accurate_as_all_hyperplanes():
    for load, lost in ((load_digits, 0.03), (load_breast_cancer, 0.02)):
        data = load(return_X_y=True)
        X, T, y, t = train_test_split(*data, train_size=0.6, stratify=data[1], random_state=0)
        whole = FFMLPClassifier(design="readout", max_leaves=0).fit(X, y).score(T, t)
        assert small(50).fit(X, y).score(T, t) > whole - lost


@pytest.mark.filterwarnings("error")
def test_few_distinct_samples_are_told_apart_where_they_can_be():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    assert small(12).fit(X > 0, y).score(X > 0, y) == 1.0
    X, y = np.repeat(X[:3], 20, axis=0), np.repeat([0, 1, 1], 20)
    assert small(12).fit(X, y).score(X, y) == 1.0
    X, y = np.repeat(X[[0, 20]], 30, axis=0), np.tile([0, 1], 30)  # each of both classes alike
    np.testing.assert_allclose(small(12).fit(X, y).predict_proba(X), 0.5, atol=1e-6)


def test_chance_does_not_matter():
    X, y = overlapping(300)
    first, again = (small(random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 1))
    np.testing.assert_array_equal(first, again)


def test_a_limit_that_all_hyperplanes_meet_changes_nothing():
    X, y = four_moons(200)
    clf, whole = small(10_000).fit(X, y), FFMLPClassifier(design="readout", max_leaves=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    few = small(60, error_threshold=0.1).fit(X, y)
    assert not few.hyperplanes_.one_sided
    assert few.network_.layer_sizes[1] < 52


def test_the_pruning_path_tells_what_is_left_and_the_training_error():
    X, y = four_moons(400)
    clf = small().fit(X, y)
    path = clf.pruning_path_
    n_all = len(FFMLPClassifier(design="readout").fit(X, y).hyperplanes_)
    assert sorted([*path.kept, *path.deleted]) == list(range(n_all))
    assert len(path.kept) == len(clf.hyperplanes_)
    assert path.error_rates[-1] == pytest.approx(1 - clf.score(X, y))


def test_the_blob_design_is_tried_where_it_is_small_enough():
    designs = {plan.design for plan in FFMLPClassifier(max_neurons=50).fit(*IRIS).selection_.plans}
    assert designs == {"readout", "blob"}
    for max_neurons, components in ((33, {(1,) * 3, (2,) * 3}), (32, {(1,) * 3}), (11, set())):
        plans = FFMLPClassifier(max_neurons=max_neurons).fit(*IRIS).selection_.plans
        assert {plan.n_components for plan in plans if plan.design == "blob"} == components


@pytest.mark.parametrize("gaussianise", [False, True])
def test_torch_and_onnx_have_as_many_neurons_and_the_same_answers(gaussianise):
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = overlapping(300)
    clf = small(gaussianise=gaussianise).fit(X, y)
    tried = np.vstack([X, 5 * X - 20])
    module = clf.to_torch(torch.float64)
    assert module.evidence.in_features == clf.network_.layer_sizes[1] == len(clf.hyperplanes_)
    with torch.no_grad():
        out = module(torch.tensor(tried)).numpy()
    np.testing.assert_allclose(out, clf.predict_proba(tried), atol=1e-9)
    again = ffmlp.from_torch(module)
    assert again.layer_sizes == clf.network_.layer_sizes
    np.testing.assert_allclose(again.forward(tried), clf.predict_proba(tried), atol=1e-9)
    model = clf.to_onnx("float64").SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(None, {"X": tried})
    np.testing.assert_array_equal(labels, clf.predict(tried))
    np.testing.assert_allclose(probabilities, clf.predict_proba(tried), atol=1e-9)


def test_files_and_texts(tmp_path):
    X, y = four_moons(300)
    clf = small().fit(X, y)
    ffmlp.save(clf, tmp_path / "small.model")
    again = ffmlp.load(tmp_path / "small.model")
    assert again.hyperplanes_.one_sided
    assert again.network_.layer_sizes == clf.network_.layer_sizes
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    text = ffmlp.export_text(clf)
    assert ": 2 features → 32 half-spaces → 4 evidence → 4 classes" in text
    assert "roughly separates blob" in text
    page = str(clf.explain(X[[0]]))
    assert "  about blob " in page


def test_each_half_space_has_a_panel():
    pytest.importorskip("matplotlib")
    plots = pytest.importorskip("ffmlp.plots")
    X, y = four_moons(200)
    network = small(20).fit(X, y).network_
    drawn = plots.ResponsesDisplay.from_estimator(network, X, layer=1, grid_resolution=10)
    assert len(drawn.axes_) == network.layer_sizes[1]
    assert len(np.unique(drawn.cells, axis=0)) == len(drawn.axes_)


def test_loss_is_that_of_the_softmax():
    points = some_points()
    evidence = np.random.default_rng(5).normal(size=(300, 3))
    p = evidence - logsumexp(evidence, axis=1, keepdims=True)
    assert points.loss(evidence) == pytest.approx(-np.sum(points.share[:, None] * points.target * p))


@pytest.mark.parametrize("parameters", [{"n_components": 3}, {"n_components": {0: 1, 1: 2, 2: 3}}, {}])
def test_the_limit_holds_for_components_and_blobs_that_are_given(parameters):
    X, y = IRIS
    blobs = None if parameters else np.arange(len(X)) // 10
    clf = FFMLPClassifier(max_neurons=20, random_state=0, **parameters).fit(X, y, blobs=blobs)
    assert sum(clf.network_.layer_sizes[1:]) <= 20


def test_one_half_space_is_there_even_if_nothing_varies():
    X, y = np.ones((40, 3)), np.arange(40) % 2
    clf = FFMLPClassifier(max_neurons=5, random_state=0).fit(X, y)
    assert clf.network_.layer_sizes == (3, 1, 2, 2)
    assert "probability 0.5" in str(clf.explain(X[:2])[0])


def test_few_distinct_samples_on_thresholds_do_not_break_it():
    # Twelve places, some of them exactly on thresholds: responses there are rounding errors.
    rng = np.random.default_rng(0)
    places = np.array(
        [(a, b, c) for a in (0.21, 0.37, 0.64, 0.75) for b in (0.3, 0.7) for c in (0.31, 0.5)]
    )
    which = rng.integers(0, len(places), 800)
    X, y = places[which], (rng.random(800) < places[which].mean(axis=1)).astype(int)
    small, whole = (
        FFMLPClassifier(design="readout", **limit).fit(X, y)
        for limit in ({"max_neurons": 50}, {"max_leaves": 0})
    )
    assert np.abs(small.network_.weights[1]).max() < 1e6
    assert small.score(X, y) > whole.score(X, y) - 0.02
