import pickle
from itertools import pairwise

import numpy as np
import pytest
from problems import region_design, xor
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ffmlp import datasets
from ffmlp.backprop import BackpropClassifier


@parametrize_with_checks([BackpropClassifier((8, 8), n_epochs=60, learning_rate=0.1, batch_size=8)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    train, test = datasets.load("four_moons").split(0)
    mean, spread = train.X.mean(axis=0), train.X.std(axis=0)
    return (train.X - mean) / spread, train.y, (test.X - mean) / spread, test.y


def test_starts_from_the_designed_network(moons):
    X, y, X_test, y_test = moons
    designed = region_design(3, random_state=0).fit(X, y)
    bp = BackpropClassifier(initial_network=designed.network_, n_epochs=0).fit(X, y, X_test, y_test)
    for ours, theirs in zip(bp.weights_, designed.network_.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    expected = np.mean(designed.network_.forward(X_test).argmax(axis=1) == y_test)
    assert bp.history_.test_accuracy[0] == pytest.approx(expected, abs=1e-6)
    assert bp.history_.seconds.tolist() == [0.0]


def test_history_is_the_accuracy_by_epoch(moons):
    X, y, X_test, y_test = moons
    seen = []
    bp = BackpropClassifier((8, 8), n_epochs=4, random_state=0, on_epoch=seen.append)
    history = bp.fit(X, y, X_test, y_test).history_
    assert seen == [1, 2, 3, 4]
    assert len(history.train_accuracy) == len(history.test_accuracy) == len(history.seconds) == 5
    assert len(history.batch_accuracy) == 5
    assert history.train_accuracy[-1] == pytest.approx(bp.score(X, y), abs=1e-3)
    assert history.test_accuracy[-1] == pytest.approx(bp.score(X_test, y_test), abs=1e-3)
    assert (np.diff(history.seconds) > 0).all()
    assert np.isnan(BackpropClassifier((8, 8), n_epochs=1).fit(X, y).history_.test_accuracy).all()


def test_the_accuracy_over_batches_is_that_before_each_step(moons):
    """One batch: that of the network before the epoch. Many batches: that of the networks between."""
    X, y, *_ = moons
    whole = BackpropClassifier((8, 8), n_epochs=4, batch_size=len(X), learning_rate=0.5, random_state=0)
    whole = whole.fit(X, y).history_
    assert np.isnan(whole.batch_accuracy[0])
    np.testing.assert_allclose(whole.batch_accuracy[1:], whole.train_accuracy[:-1], atol=1e-6)
    # With a rate so small that no step changes an output, every order of batches gives one accuracy.
    still = BackpropClassifier((8, 8), n_epochs=2, batch_size=7, learning_rate=1e-12, random_state=0)
    history = still.fit(X, y).history_
    np.testing.assert_allclose(history.batch_accuracy[1:], history.train_accuracy[0], atol=1e-6)
    learned = BackpropClassifier((8, 8), n_epochs=1, batch_size=7, random_state=0).fit(X, y).history_
    assert learned.train_accuracy[0] < learned.batch_accuracy[1] < learned.train_accuracy[1]


def test_a_step_is_plain_gradient_descent_on_the_cross_entropy():
    """One batch of all samples, against gradients worked out by finite differences."""
    X, y, _ = xor(40)
    bp = BackpropClassifier((3, 4), n_epochs=0, batch_size=40, learning_rate=0.1, random_state=0).fit(
        X, y
    )
    stepped = BackpropClassifier((3, 4), n_epochs=1, batch_size=40, learning_rate=0.1, random_state=0)
    stepped.fit(X, y)

    def loss(first_weights):
        weights = (first_weights, *bp.weights_[1:])
        response = X
        for weight, bias in zip(weights[:-1], bp.biases_[:-1], strict=True):
            response = np.maximum(response @ weight.T + bias, 0)
        out = response @ weights[-1].T + bp.biases_[-1]
        return np.mean(np.log(np.exp(out).sum(axis=1)) - out[np.arange(40), y])

    for position in np.ndindex(3, 2):
        change = np.zeros((3, 2))
        change[position] = 1e-5
        gradient = (loss(bp.weights_[0] + change) - loss(bp.weights_[0] - change)) / 2e-5
        moved = stepped.weights_[0][position] - bp.weights_[0][position]
        assert moved == pytest.approx(-0.1 * gradient, abs=1e-5)


@pytest.mark.parametrize("start", ["designed", "random"])
def test_training_equals_that_of_pytorch(moons, start):
    torch = pytest.importorskip("torch")
    X, y, *_ = moons
    network = region_design(3, random_state=0).fit(X, y).network_ if start == "designed" else None
    options = {"initial_network": network, "batch_size": len(X), "random_state": 0}
    first = BackpropClassifier((8, 8), n_epochs=0, **options).fit(X, y)
    ours = BackpropClassifier((8, 8), n_epochs=20, **options).fit(X, y)
    sizes = [X.shape[1], *map(len, first.biases_)]
    linear = [torch.nn.Linear(n_in, n_out) for n_in, n_out in pairwise(sizes)]
    module = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    with torch.no_grad():
        for layer, weight, bias in zip(linear, first.weights_, first.biases_, strict=True):
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    inputs, targets = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs), targets).backward()
        optimizer.step()
    for layer, weight, bias in zip(linear, ours.weights_, ours.biases_, strict=True):
        scale = np.abs(weight).max()
        np.testing.assert_allclose(layer.weight.detach().numpy(), weight, atol=1e-4 * scale)
        np.testing.assert_allclose(layer.bias.detach().numpy(), bias, atol=1e-3)


def test_diverging_training_is_reported():
    X, y, _ = xor(40)
    with pytest.warns(ConvergenceWarning, match=r"Training diverged: .* lower learning_rate \(1e\+20\)"):
        BackpropClassifier((4, 4), n_epochs=5, learning_rate=1e20, random_state=0).fit(X, y)


def test_random_weights_follow_xaviers_rule():
    X, y, _ = xor(40)
    first, second, _ = BackpropClassifier((200, 300), n_epochs=0, random_state=0).fit(X, y).weights_
    for weights, n_in, n_out in ((first, 2, 200), (second, 200, 300)):
        limit = np.sqrt(6 / (n_in + n_out))
        assert np.abs(weights).max() <= limit
        assert weights.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)


def test_same_seed_same_network_and_pickling(moons):
    X, y, *_ = moons
    first = BackpropClassifier((8, 8), n_epochs=2, random_state=1).fit(X, y)
    second = BackpropClassifier((8, 8), n_epochs=2, random_state=1).fit(X, y)
    np.testing.assert_array_equal(first.weights_[0], second.weights_[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.predict(X))


def test_nine_blobs_suffer_from_backpropagation_as_in_the_paper():
    """89 % as designed; the paper has 71 % after 50 epochs of backpropagation."""
    data = datasets.load("nine_blobs")
    X = scale(data.X)
    designed = region_design(error_threshold=0.1).fit(X, data.y, blobs=data.blobs)
    assert designed.score(X, data.y) > 0.87
    tuned = BackpropClassifier(initial_network=designed.network_, n_epochs=10, random_state=0)
    assert tuned.fit(X, data.y).score(X, data.y) < 0.85


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": (3,)}, r"hidden_layer_sizes must be two positive ints, got \(3,\)"),
        ({"hidden_layer_sizes": (3, 0)}, r"got \(3, 0\)"),
        ({"n_epochs": -1}, "n_epochs must be an int of at least 0, got -1"),
        ({"batch_size": 0}, "batch_size must be an int of at least 1, got 0"),
        ({"hidden_layer_sizes": 5}, "must be two positive ints, got 5"),
        ({"n_epochs": True}, "n_epochs must be an int of at least 0, got True"),
        ({"learning_rate": 0}, "learning_rate must be a positive number, got 0"),
        ({"learning_rate": "a"}, "must be a positive number, got 'a'"),
        ({"learning_rate": np.inf}, "must be a positive number, got inf"),
        ({"initial_network": "x"}, "initial_network must be a Network or None, got 'x'"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y, _ = xor(40)
    with pytest.raises(ValueError, match=message):
        BackpropClassifier(**parameters).fit(X, y)


def test_a_network_of_other_data_and_test_samples_without_labels_are_refused():
    X, y, _ = xor(40)
    network = region_design(random_state=0).fit(X, y).network_
    bp = BackpropClassifier(initial_network=network)
    with pytest.raises(ValueError, match="has 2 features and 2 classes, but the data have 4 and 2"):
        bp.fit(np.hstack([X, X]), y)
    with pytest.raises(ValueError, match=r"has the classes \[0, 1\], but the data have \['a', 'b'\]"):
        bp.fit(X, np.array(["a", "b"])[y])
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        bp.fit(X, y, X)


def test_test_labels_unknown_in_training_are_errors():
    X, y, _ = xor(40)
    bp = BackpropClassifier((4, 4), n_epochs=1, random_state=0).fit(X, y, X, np.full(40, 7))
    assert bp.history_.test_accuracy.tolist() == [0.0, 0.0]
