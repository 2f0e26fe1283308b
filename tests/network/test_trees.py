import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import overlapping, random_trees

from ffmlp import FFMLPClassifier
from ffmlp.network import trees as network_trees
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.readout import CorrectedReadoutStages

needs_compiled = pytest.mark.skipif(network_trees.compiled is None, reason="not compiled")


def naive_regions(trees, h):
    found = np.empty((len(h), len(trees.roots)), int)
    for row, responses in enumerate(h):
        for tree, node in enumerate(trees.roots):
            while node >= 0:
                with np.errstate(over="ignore"):
                    response = np.float32(responses[trees.hyperplanes[node]])
                node = trees.children[node, int(response > trees.thresholds[node])]
            found[row, tree] = -1 - node
    return found


def naive_evidence(trees, h):
    total = np.zeros((len(h), trees.values.shape[1]))
    for row, regions in enumerate(naive_regions(trees, h)):
        for region in regions:
            total[row] += trees.values[region]
    return total


def extreme_responses(rng, trees, n_samples, n_hyperplanes):
    """Responses on the thresholds, next to them in both precisions, and beyond all limits."""
    h = rng.choice(trees.thresholds, (n_samples, n_hyperplanes)).astype(np.float64)
    single = np.nextafter(h.astype(np.float32), np.float32(np.inf))
    beyond = rng.choice([1e300, -1e300, np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-320], h.shape)
    kind = rng.integers(5, size=h.shape)
    return np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3], [h, np.nextafter(h, 2), single, beyond], -h
    )


@pytest.fixture(params=["compiled", "NumPy"])
def path(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(network_trees, "compiled", None)
    elif network_trees.compiled is None:
        pytest.skip("not compiled")


@needs_compiled
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(0, 40),
    st.integers(1, 6),
    st.integers(1, 4),
)
def test_compiled_and_numpy_agree_with_the_definition_to_the_last_bit(
    seed, sizes, n, n_hyperplanes, n_classes
):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_hyperplanes, n_classes, sizes)
    trees.check(n_hyperplanes, n_classes)
    h = extreme_responses(rng, trees, n, n_hyperplanes)
    regions, evidence = trees.leaves(h), trees.evidence(h)
    np.testing.assert_array_equal(regions, naive_regions(trees, h))
    np.testing.assert_array_equal(evidence, naive_evidence(trees, h))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_trees, "compiled", None)
        np.testing.assert_array_equal(trees.leaves(h), regions)
        np.testing.assert_array_equal(trees.evidence(h), evidence)


@pytest.mark.usefixtures("path")
def test_single_rows_and_other_layouts_give_the_same_bits():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 7, 3, [200, 1, 30])
    h = rng.normal(size=(600, 7))
    evidence, regions = trees.evidence(h), trees.leaves(h)
    for row in (0, 15, 16, 255, 256, 599):
        np.testing.assert_array_equal(trees.evidence(h[row : row + 1])[0], evidence[row])
        np.testing.assert_array_equal(trees.leaves(h[row : row + 1])[0], regions[row])
    for same in (np.asfortranarray(h), np.hstack([h, h])[:, :7], h.astype(np.float32), h[::-1][::-1]):
        np.testing.assert_array_equal(trees.evidence(same), evidence)
    fortran = replace(
        trees, children=np.asfortranarray(trees.children), values=np.asfortranarray(trees.values)
    )
    np.testing.assert_array_equal(fortran.evidence(h), evidence)
    assert trees.evidence(h[:0]).shape == (0, 3)
    assert trees.leaves(h[:0]).shape == (0, 3)


@pytest.mark.usefixtures("path")
def test_a_response_on_a_threshold_stays_below():
    trees = random_trees(np.random.default_rng(0), 1, 2, [1])
    t = np.float64(trees.thresholds[0])
    above = np.float64(np.nextafter(trees.thresholds[0], np.float32(2)))
    # Rounded to single precision, a response just above the threshold lies on it.
    h = np.array([[t], [np.nextafter(t, 2)], [above], [1e300], [-1e300], [np.nan]])
    np.testing.assert_array_equal(trees.leaves(h)[:, 0], [0, 0, 1, 1, 0, 0])


@pytest.mark.usefixtures("path")
def test_trees_without_order_are_refused_before_a_descent():
    trees = random_trees(np.random.default_rng(0), 2, 2, [5])
    children = trees.children.copy()
    children[4] = 0
    with pytest.raises(ValueError, match="children must be"):
        replace(trees, children=children).evidence(np.zeros((1, 2)))
    with pytest.raises(IndexError):
        trees.evidence(np.zeros((1, 0)))
    with pytest.raises(ValueError, match="compared must have shape"):
        trees.sums(np.zeros((1, 0), np.float32))


def forged_trees():
    """Name, and tables of which one entry does not fit."""
    trees = random_trees(np.random.default_rng(1), 4, 3, [6, 5])

    def changed(field, place, value):
        table = getattr(trees, field).copy()
        table[place] = value
        return replace(trees, **{field: table})

    leaf = tuple(np.argwhere(trees.children < 0)[0])
    inner = tuple(np.argwhere(trees.children > 0)[0])
    other_leaf = trees.children[trees.children < 0][1]
    yield "hyperplane beyond the last", changed("hyperplanes", 3, 4)
    yield "negative hyperplane", changed("hyperplanes", 3, -1)
    yield "node beyond the last", changed("children", leaf, 11)
    yield "region beyond the last", changed("children", leaf, -14)
    yield "least integer", changed("children", leaf, np.iinfo(np.int32).min)
    yield "cycle", changed("children", (5, 0), 5)
    yield "way back", changed("children", (5, 0), 0)
    yield "node of another tree", changed("children", inner, 7)
    yield "shared region", changed("children", leaf, other_leaf)
    yield "node that no node leads to", changed("children", inner, other_leaf)
    yield "first root", changed("roots", 0, 1)
    yield "equal roots", changed("roots", 1, 0)
    yield "root beyond the last", changed("roots", 1, 11)
    yield "root within a tree", changed("roots", 1, 5)
    yield "NaN threshold", changed("thresholds", 2, np.nan)
    yield "infinite threshold", changed("thresholds", 2, np.inf)
    yield "NaN value", changed("values", (2, 1), np.nan)
    for field in ("hyperplanes", "thresholds", "children", "roots", "values"):
        table = getattr(trees, field)
        yield f"short {field}", replace(trees, **{field: table[:-1]})
        yield f"deep {field}", replace(trees, **{field: table[None]})
        yield f"empty {field}", replace(trees, **{field: table[:0]})
        yield f"single {field}", replace(trees, **{field: table.ravel()[0].reshape(())})
        for kind in (">i4", "i8", "f8", "f4", "i4", "U3"):
            if table.dtype != kind:
                yield f"{field} of type {kind}", replace(trees, **{field: table.astype(kind)})
    empty = {
        field: getattr(trees, field)[:0] for field in ("hyperplanes", "thresholds", "children", "roots")
    }
    yield "nothing", replace(trees, **empty, values=trees.values[:0])


@pytest.mark.parametrize(("name", "trees"), list(forged_trees()))
def test_tables_that_are_no_trees_are_refused(name, trees):
    with pytest.raises(ValueError):
        trees.check(4, 3)


def stages_of(trees, n_hyperplanes, n_classes, rng, power=2.0):
    even, odd = rng.normal(scale=0.1, size=(2, n_hyperplanes, n_classes))
    return CorrectedReadoutStages(
        even, odd, np.full(n_classes, 0.5), 1.0, trees=trees, power=power, floor=0.01
    )


def test_stages_check_their_parts():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 4, 3, [6, 5])
    planes = Hyperplanes(rng.normal(size=(4, 2)), np.zeros(4), np.zeros((4, 2), int))
    stages = stages_of(trees, 4, 3, rng)
    stages.check(planes, 3)
    bad_values = replace(trees, values=trees.values[:, :2])
    for change in (
        {"trees": bad_values},
        {"trees": random_trees(rng, 40, 3, [30])},
        {"power": 0.0},
        {"power": np.nan},
        {"floor": -1.0},
        {"floor": np.inf},
        {"temperature": 2.0},
        {"bias": np.zeros(2)},
    ):
        with pytest.raises(ValueError):
            replace(stages, **change).check(planes, 3)


@pytest.mark.usefixtures("path")
def test_rows_do_not_depend_on_each_other_and_classes_are_those_of_probabilities():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 150, 3, [100] * 5)
    planes = Hyperplanes(rng.normal(size=(150, 6)), rng.normal(size=150), np.zeros((150, 2), int))
    for power in (1e-12, 2.0):
        stages = stages_of(trees, 150, 3, rng, power)
        X = rng.normal(size=(700, 6))
        X[::50] *= 1e300
        X[1::50] *= 1e10
        whole, probabilities = stages.whole_evidence(planes, X), stages.probabilities(planes, X)
        assert np.isfinite(whole).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_array_equal(stages.classes(planes, X), probabilities.argmax(axis=1))
        for row in (0, 1, 2, 255, 256, 699):
            one = X[row : row + 1]
            np.testing.assert_array_equal(stages.whole_evidence(planes, one)[0], whole[row])
            np.testing.assert_array_equal(stages.probabilities(planes, one)[0], probabilities[row])
        near = np.abs(X).max(axis=1) < 1e6
        h = planes.signed_responses(X[near])
        np.testing.assert_allclose(whole[near], stages.scores(h), rtol=1e-9, atol=1e-9)
        assert stages.probabilities(planes, X[:0]).shape == (0, 3)


def test_a_fitted_classifier_has_trees_that_pass_the_check_and_caches_are_not_stored():
    X, y = overlapping(700, n_features=2)
    X[:, 0] = np.where(y == 0, np.sign(X[:, 0]) * (np.abs(X[:, 0]) % 1 > 0.5), X[:, 0])
    clf = FFMLPClassifier(max_leaves="auto", random_state=0).fit(X, y)
    stages = clf.network_.stages
    assert isinstance(stages, CorrectedReadoutStages)
    stages.check(clf.network_.hyperplanes, 3)
    size = len(pickle.dumps(replace(stages.trees)))
    clf.predict(X)
    assert len(pickle.dumps(stages.trees)) == size
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@needs_compiled
def test_arrays_of_other_kinds_are_refused():
    trees = random_trees(np.random.default_rng(0), 2, 3, [4])
    h = np.zeros((5, len(trees.axes)), np.float32)
    good = [*trees.forest, h, trees.values, np.zeros((5, 3))]
    found = np.zeros((5, 1), np.int32)
    network_trees.compiled.add_values(*good)
    network_trees.compiled.leaves(*good[:4], found)
    for place, bad in [
        *((place, table.astype(">f8")) for place, table in enumerate(good)),
        *((place, table[None]) for place, table in enumerate(good)),
        *((place, table.tolist()) for place, table in enumerate(good)),
        *((place, np.repeat(table, 2, axis=0)[::2]) for place, table in enumerate(good)),
        (0, trees.forest[0][:, :1].copy()),
        (0, trees.forest[0][:-1]),
        (1, trees.forest[1][:-1]),
        (2, trees.forest[2][:-1]),
        (2, trees.forest[2][:0]),
        (5, np.zeros((4, 3))),
        (5, np.zeros((5, 2))),
    ]:
        arguments = [*good[:place], bad, *good[place + 1 :]]
        with pytest.raises((TypeError, ValueError, BufferError)):
            network_trees.compiled.add_values(*arguments)
    for bad in (np.zeros((5, 2), np.int32), np.zeros((4, 1), np.int32), np.zeros((5, 1))):
        with pytest.raises((TypeError, ValueError)):
            network_trees.compiled.leaves(*good[:4], bad)
    found.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        network_trees.compiled.leaves(*good[:4], found)
    with pytest.raises(TypeError):
        network_trees.compiled.leaves(*good[:4])


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("kind", [bool, np.float64, np.int64, ">i4"])
def test_numbers_of_hyperplanes_of_another_type_are_refused_before_a_descent(kind):
    trees = random_trees(np.random.default_rng(0), 2, 2, [5])
    trees = replace(trees, hyperplanes=trees.hyperplanes.astype(kind))
    with pytest.raises((ValueError, IndexError)):
        trees.leaves(np.zeros((1, 2)))
