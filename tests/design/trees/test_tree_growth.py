import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffmlp.design.trees import growth
from ffmlp.design.trees.growth import MOST_CHANNELS, Ranks, Tree, integers, not_above

SIDES = pytest.mark.parametrize("random", [True, False])


def problem(n_samples=400, n_features=3, n_targets=2, seed=0, decimals=6):
    rng = np.random.default_rng(seed)
    h = np.round(rng.normal(size=(n_samples, n_features)), decimals).astype(np.float32)
    target = np.column_stack([(h[:, 0] > 0.3) * h[:, -1]] * n_targets)
    target = target * np.arange(1, n_targets + 1) + 0.1 * rng.normal(size=(n_samples, n_targets))
    weight = rng.integers(1, 4, n_samples).astype(np.float64)
    return h, weight, target


def grown(h, weight, target, most=40, seed=3, **options):
    options = {"random": True, "fewest": 2} | options
    return Tree.grown(Ranks.of(h, weight), integers(weight, target)[0], most, seed, **options)


@SIDES
@given(
    n_samples=st.integers(1, 300),
    n_features=st.integers(1, 18),
    n_targets=st.integers(1, MOST_CHANNELS - 1),
    seed=st.integers(0, 2**32),
    decimals=st.integers(0, 3),
    prior=st.sampled_from([0.0, 3.0]),
    fewest=st.integers(2, 20),
)
@settings(max_examples=30)
def test_compiled_growth_is_that_of_numpy(
    random, n_samples, n_features, n_targets, seed, decimals, prior, fewest
):
    if growth.compiled is None:
        pytest.skip("not compiled")
    data = problem(n_samples, n_features, n_targets, seed % 1000, decimals)
    options = {"seed": seed, "random": random, "prior": prior, "fewest": fewest}
    fast = grown(*data, **options)
    ranks = Ranks.of(data[0], data[1])
    values = np.random.default_rng(seed).uniform(-0.5, 0.5, (len(fast.nodes), n_targets))
    targets = [integers(data[1], data[2])[0] for _ in range(2)]
    fast.subtract(values, targets[0])
    leaves = fast.leaves(ranks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "compiled", None)
        slow = grown(*data, **options)
        for name in ("nodes", "rows", "totals"):
            np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))
        slow.subtract(values, targets[1])
        np.testing.assert_array_equal(*targets)
        np.testing.assert_array_equal(leaves, slow.leaves(ranks))


@SIDES
def test_each_split_lowers_the_squared_error_by_its_gain(random):
    """The rows of each node are its samples, and the first split of best ones is the best of all."""
    h, weight, target = problem(decimals=1)
    tree = grown(h, weight, target, random=random)
    assert len(tree) == 40
    counts = np.bincount(tree.leaves(Ranks.of(h, weight)), minlength=len(tree.nodes))
    leaf = tree.left < 0
    np.testing.assert_array_equal(counts[leaf], (tree.nodes[:, 4] - tree.nodes[:, 3])[leaf])
    if random:
        return

    def error(rows):
        mean = np.average(target[rows], axis=0, weights=weight[rows])
        return weight[rows] @ ((target[rows] - mean) ** 2).sum(axis=1)

    splits = [
        (error(h[:, feature] <= value) + error(h[:, feature] > value), feature)
        for feature in range(3)
        for value in np.unique(h[:, feature])[:-1]
    ]
    left = tree.rows[tree.nodes[1, 3] : tree.nodes[1, 4]]
    right = tree.rows[tree.nodes[2, 3] : tree.nodes[2, 4]]
    assert error(left) + error(right) == pytest.approx(min(splits)[0])
    assert tree.features[0] == min(splits)[1]


@SIDES
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 8, 31])
def test_the_first_splits_of_a_tree_are_the_best_smaller_tree(random, n_leaves):
    data = problem()
    ranks = Ranks.of(data[0], data[1])
    large, small = (grown(*data, most=size, random=random) for size in (200, n_leaves))
    np.testing.assert_array_equal(large.pruned(large.leaves(ranks), n_leaves), small.leaves(ranks))
    np.testing.assert_array_equal(large.totals[: len(small.nodes)], small.totals)


@SIDES
def test_trees_do_not_depend_on_the_order_of_samples_or_on_repetition(random):
    h, weight, target = problem(300)
    shuffled = np.random.default_rng(0).permutation(300)
    tree = grown(h, weight, target, random=random)
    other = grown(h[shuffled], weight[shuffled], target[shuffled], random=random)
    np.testing.assert_array_equal(tree.nodes, other.nodes)
    np.testing.assert_array_equal(tree.totals, other.totals)
    doubled = grown(h, 2 * weight, target, random=random)
    np.testing.assert_array_equal(tree.nodes, doubled.nodes)


def test_sums_of_nodes():
    data = problem()
    tree = grown(*data)
    targets, unit = integers(data[1], data[2])
    np.testing.assert_allclose(tree.sums(targets.astype(float)), tree.totals, atol=1e-3)
    exact = tree.sums(data[1][:, None] * data[2]) / tree.sums(data[1][:, None])
    np.testing.assert_allclose(unit * tree.totals[:, 1:] / tree.totals[:, :1], exact, atol=1e-6)


@given(st.integers(1, 2000), st.floats(1e-12, 1e12), st.floats(1e-12, 1e12), st.integers(0, 99))
def test_integers_never_overflow(n_samples, weight_scale, target_scale, seed):
    rng = np.random.default_rng(seed)
    weight = weight_scale * rng.exponential(size=n_samples) ** 3
    targets = target_scale * rng.normal(size=(n_samples, 3))
    found, unit = integers(weight, targets)
    assert np.abs(found.astype(np.int64)).sum(axis=0).max() < 2**31
    assert (found[:, 0] >= 1).all()
    largest = np.abs(weight[:, None] * targets).max()
    rounded = found[:, 1:] * unit * weight.sum() / found[:, :1].sum()
    np.testing.assert_allclose(rounded, weight[:, None] * targets, atol=1e-5 * largest)


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20))
def test_single_thresholds_part_the_same_samples(thresholds):
    thresholds = np.array(thresholds)
    single = not_above(thresholds)
    near = np.float32(thresholds)
    near = np.concatenate([near, np.nextafter(near, np.float32(np.inf))])
    for threshold, rounded in zip(thresholds, single, strict=True):
        np.testing.assert_array_equal(near.astype(np.float64) > threshold, near > rounded)


@given(st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=600), st.integers(0, 9))
def test_thresholds_part_responses_as_ranks_do(values, seed):
    h = np.array(values, np.float32)[:, None]
    ranks = Ranks.of(h, np.ones(len(h)))
    assert (np.diff(ranks.table[np.argsort(h[:, 0], kind="stable"), 0]) >= 0).all()
    splits = np.unique(ranks.table[:, 0])[:-1]
    if not len(splits):
        return
    split = np.random.default_rng(seed).choice(splits)
    node = np.array([[0, split, 1, 0, len(h)]], np.int32)
    tree = Tree(node, np.arange(len(h), dtype=np.int32), np.zeros((1, 2), np.int32))
    threshold = ranks.thresholds(tree, np.array([0]))
    np.testing.assert_array_equal(ranks.table[:, 0] > split, h[:, 0] > threshold)


def test_ranks_of_many_samples_are_those_of_some():
    h = np.random.default_rng(0).normal(size=(50_000, 1)).astype(np.float32)
    ranks = Ranks.of(h, np.ones(len(h)))
    share = np.argsort(np.argsort(h[:, 0])) / len(h)
    np.testing.assert_allclose(ranks.table[:, 0] / 2**15, share, atol=0.01)


@pytest.mark.parametrize("n_targets", [0, MOST_CHANNELS])
def test_tables_that_do_not_fit_are_refused(n_targets):
    if growth.compiled is None:
        pytest.skip("not compiled")
    h, weight, _ = problem(20)
    with pytest.raises(ValueError, match="do not fit each other"):
        Tree.grown(
            Ranks.of(h, weight), np.ones((20, 1 + n_targets), np.int32), 4, 0, random=True, fewest=2
        )


def call_of(name):
    """Valid arguments of a compiled function."""
    ranks, targets = np.zeros((6, 8), np.int16), np.ones((6, 3), np.int32)
    ranks[3:, 0], targets[3:, 1] = 300, 5
    rows, nodes, totals = (
        np.arange(6, dtype=np.int32),
        np.zeros((3, 5), np.int32),
        np.zeros((3, 3), np.int32),
    )
    grown_call = [ranks, targets, rows, nodes, totals, 1, 0, 2, 0.0, False]
    growth._grow(*grown_call)
    calls = {
        "grow": grown_call,
        "subtract": [rows, nodes, np.zeros((3, 2)), targets],
        "descend": [ranks, rows, nodes, np.zeros(6, np.int32)],
    }
    return calls[name]


@pytest.mark.parametrize(
    ("name", "argument", "place", "value"),
    [
        *(("grow", 2, 0, -1), ("grow", 2, 5, 6), ("grow", 1, (0, 0), 2**31 - 1)),
        *(("subtract", 0, 0, 6), ("subtract", 1, (1, 3), -1), ("subtract", 1, (2, 4), 7)),
        *(("descend", 1, 0, 6), ("descend", 2, (0, 0), 8), ("descend", 2, (0, 2), 2)),
        *(("descend", 2, (0, 2), 2**31 - 1), ("descend", 2, (0, 2), 0)),
    ],
)
def test_indices_beyond_the_tables_are_refused(name, argument, place, value):
    """So are targets whose sums are not exact."""
    if growth.compiled is None:
        pytest.skip("not compiled")
    arguments = call_of(name)
    function = getattr(growth.compiled, name)
    function(*arguments)
    arguments = call_of(name)
    arguments[argument][place] = value
    with pytest.raises(ValueError, match="do not fit each other"):
        function(*arguments)


@pytest.mark.parametrize("argument", [0, 1, 2, 3])
def test_tables_of_other_lengths_are_refused(argument):
    if growth.compiled is None:
        pytest.skip("not compiled")
    for name in ("subtract", "descend"):
        arguments = call_of(name)
        arguments[argument] = arguments[argument][:2]
        if name == "subtract" and argument in (0, 3):  # rows of nodes, and targets of rows
            arguments[argument] = arguments[argument][:0]
        if name == "descend" and argument == 2:
            arguments[argument] = arguments[argument][:1]
        with pytest.raises(ValueError, match="do not fit each other"):
            getattr(growth.compiled, name)(*arguments)
