import numpy as np
import pytest
from problems import overlapping

from ffmlp.inputs.gaussianise import fit_gaussianisation

hypothesis = pytest.importorskip("hypothesis")
compiled = pytest.importorskip("ffmlp.inputs._interpolation")
st = hypothesis.strategies
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")  # in NumPy
@hypothesis.settings(max_examples=500)
@hypothesis.example([(1.0, 2.0)], [0.5])
@hypothesis.example([(0.0, 1.0), (5e-324, 2.0)], [1.0])
@hypothesis.example([(-1e308, -1.0), (0.0, 0.0), (1e308, 1.0)], [-9e307, 5.0, 9e307])
@hypothesis.example([(-1.7e308, 1.0), (1.7e308, 1.0)], [1.6e308])
@hypothesis.example([(0.0, 0.0), (1e-9, 1.0), (2e-9, 2.0), (1e9, 3.0)], [1.5e-9, 3e-9])
@hypothesis.given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=40, unique_by=lambda pair: pair[0]),
    st.lists(st.floats(allow_nan=False), max_size=20),
)
def test_scores_are_those_of_numpy_to_the_last_bit(pairs, others):
    knots, scores = np.array(sorted(pairs)).T.copy()
    beside = [np.nextafter(knots, -np.inf), knots, np.nextafter(knots, np.inf)]
    values = np.concatenate([*beside, 0.5 * knots[:-1] + 0.5 * knots[1:], others])
    results = np.empty(len(values))
    compiled.interpolate(values, knots, scores, results)
    np.testing.assert_array_equal(results, np.interp(values, knots, scores))


def test_what_is_no_number_has_no_score():
    result = np.zeros(1)
    compiled.interpolate(np.array([np.nan]), np.arange(3.0), np.arange(3.0), result)
    assert np.isnan(result).all()
    compiled.interpolate(np.array([np.nan]), np.ones(1), np.full(1, 7.0), result)
    assert result == np.interp(np.nan, np.ones(1), np.full(1, 7.0)) == 7.0


def test_values_and_results_may_lie_apart():
    table = np.random.default_rng(0).normal(size=(500, 3))
    results, knots = np.zeros((3, 500)), np.linspace(-2, 2, 7)
    compiled.interpolate(table[::-1, 1], knots, knots**3, results.T[:, 2])
    np.testing.assert_array_equal(results[2], np.interp(table[::-1, 1], knots, knots**3))
    assert not results[:2].any()


def test_without_a_compiler_scores_are_the_same(monkeypatch):
    X, _ = overlapping(300)
    scores = fit_gaussianisation(X, np.ones(300))
    mapped = [scores.apply(X), scores.apply(X.astype(np.float32)), scores.apply(X.astype(">f8"))]
    monkeypatch.setattr("ffmlp.inputs.features.compiled", None)
    np.testing.assert_array_equal(scores.apply(X), mapped[0])
    np.testing.assert_array_equal(scores.apply(X.astype(np.float32)), mapped[1])
    np.testing.assert_array_equal(mapped[2], mapped[0])


def test_arrays_of_other_kinds_are_refused():
    good, constant = np.arange(3.0), np.zeros(3)
    constant.flags.writeable = False
    calls = [(good, good, good, constant), (good, good, good, np.zeros(2))]
    calls += [(good, good, good[:2], np.zeros(3)), (good, good[:0], good[:0], np.zeros(3))]
    calls += [(good, np.arange(6.0)[::2], good, np.zeros(3))]
    for bad in (*map(good.astype, (np.float32, int, ">f8")), good[:, None], [1.0, 2.0]):
        calls += [(*[good] * place, bad, *[good] * (3 - place)) for place in range(4)]
    for arrays in calls:
        with pytest.raises((TypeError, BufferError, ValueError)):
            compiled.interpolate(*arrays)
