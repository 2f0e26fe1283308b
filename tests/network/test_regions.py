import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import region_design

from ffmlp import Regions
from ffmlp.network import region as module
from ffmlp.network.region import (
    CodeIndex,
    _least_violated_nearby,
    _least_violated_of_all,
    distinct_codes,
    find_regions,
    pack,
    unpack,
)


def random_codes(n_codes, n_hyperplanes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.random((n_codes, n_hyperplanes)) < 0.5
    first, _ = distinct_codes(pack(codes))
    return codes[first]


@pytest.mark.parametrize("n_hyperplanes", [1, 7, 8, 9, 63, 64, 65, 200])
def test_pack_and_unpack(n_hyperplanes):
    codes = np.random.default_rng(0).random((50, n_hyperplanes)) < 0.5
    words = pack(codes)
    assert words.shape == (50, -(-n_hyperplanes // 64))
    np.testing.assert_array_equal(unpack(words, n_hyperplanes), codes)


@pytest.mark.parametrize("n_hyperplanes", [3, 64, 100])
def test_distinct_codes_are_those_of_unique(n_hyperplanes):
    rng = np.random.default_rng(0)
    codes = random_codes(6, n_hyperplanes)[rng.integers(5, size=80)]
    first, inverse = distinct_codes(pack(codes))
    np.testing.assert_array_equal(codes[first][inverse], codes)
    assert len(first) == len(np.unique(codes, axis=0))


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_index_finds_what_is_there_and_nothing_else(n_codes, n_hyperplanes, seed):
    codes = random_codes(n_codes, n_hyperplanes, seed)
    index = CodeIndex(pack(codes))
    number = {tuple(code): i for i, code in enumerate(codes.tolist())}
    asked = np.vstack([codes, np.random.default_rng(seed).random((40, n_hyperplanes)) < 0.5])
    assert index.find(pack(asked)).tolist() == [number.get(tuple(a), -1) for a in asked.tolist()]


def naive_least_violated(h, codes):
    violation = np.array([[np.abs(row)[(row > 0) != code].sum() for code in codes] for row in h])
    return violation.argmin(axis=1), violation


def test_dense_search_is_the_definition(monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES_AT_ONCE", 300)
    codes = random_codes(40, 12)
    h = np.random.default_rng(1).normal(size=(60, 12))
    regions = Regions(codes, np.ones((len(codes), 2)))
    expected, _ = naive_least_violated(h, codes)
    np.testing.assert_array_equal(_least_violated_of_all(h, regions), expected)


@pytest.mark.parametrize("n_hyperplanes", [9, 12, 70])
def test_search_nearby_is_exact_where_it_answers(n_hyperplanes):
    rng = np.random.default_rng(1)
    h = rng.normal(size=(300, n_hyperplanes)) * rng.choice([0.05, 1.0], size=(300, n_hyperplanes))
    # Occupied codes a few flips away from the samples' own, across near hyperplanes mostly.
    near = np.argsort(np.argsort(np.abs(h), axis=1), axis=1) < 6
    codes = (h > 0) ^ (rng.random(h.shape) < np.where(near, 0.4, 0.01))
    codes = codes[distinct_codes(pack(codes))[0]]
    expected, violation = naive_least_violated(h, codes)
    # The search is for samples whose own region is not occupied.
    unseen = violation.min(axis=1) > 0
    found = _least_violated_nearby(h[unseen], CodeIndex(pack(codes)))
    answered = found >= 0
    assert answered.sum() > 50
    np.testing.assert_array_equal(found[answered], expected[unseen][answered])


def test_unseen_regions_go_to_the_least_violated_one_by_either_search(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = rng.integers(4, size=400)
    clf = region_design(3, error_threshold=None, random_state=0).fit(X, y)
    Z = 2 * rng.normal(size=(500, 6))
    h = clf.hyperplanes_.log_odds(Z)
    expected, violation = naive_least_violated(h, clf.regions_.codes)
    assert (violation.min(axis=1) > 0).sum() > 100  # there are unseen ones
    np.testing.assert_array_equal(find_regions(clf.hyperplanes_, clf.regions_, Z), expected)
    monkeypatch.setattr(module, "_REGIONS_SEARCHED_DENSELY", 0)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 37)
    np.testing.assert_array_equal(find_regions(clf.hyperplanes_, clf.regions_, Z), expected)


def test_majority_frequencies_and_error_rate():
    regions = Regions(np.array([[True], [False]]), np.array([[3, 1, 0], [2, 2, 0]]))
    assert regions.classes.tolist() == [0, 0]
    np.testing.assert_array_equal(regions.frequencies, [[0.75, 0.25, 0], [0.5, 0.5, 0]])
    assert regions.error_rate == 3 / 8
