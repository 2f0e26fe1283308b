from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import IRIS, four_moons, overlapping, random_pruning_problem, region_design, table

from ffmlp import paper
from ffmlp.design import pruning as pruning_module
from ffmlp.design.pruning import _largest_below, _Partition, prune, prune_optimally
from ffmlp.network.region import Regions, unpack
from ffmlp.parameters import checked_weight


def assert_same_path(codes, y, n_classes, threshold, weight=None):
    votes = np.eye(n_classes)[y] * (np.ones(len(y)) if weight is None else weight)[:, None]
    kept, deleted = paper.prune(codes, votes, threshold)
    for at_once in (1, codes.shape[1]):
        with patch.object(pruning_module, "_at_once", lambda n_regions, at_once=at_once: at_once):
            path = prune(table(codes, y, n_classes, weight), threshold)
        assert list(zip(path.deleted, path.error_rates, strict=True)) == deleted
        assert path.kept.tolist() == kept


@pytest.mark.parametrize("seed", range(300))
def test_same_deletions_in_the_same_order_as_in_the_paper(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    codes, y = random_pruning_problem(
        rng, int(rng.integers(2, 150)), int(rng.integers(1, 13)), int(rng.integers(1, 5)), n_classes
    )
    assert_same_path(codes, y, n_classes, rng.choice([0.0, 0.05, 0.2, 0.5, 1.0]))


@pytest.mark.parametrize("n_hyperplanes", [63, 64, 65, 130])
def test_codes_of_more_than_one_word(n_hyperplanes):
    codes, y = random_pruning_problem(np.random.default_rng(n_hyperplanes), 60, n_hyperplanes, 3, 3)
    assert_same_path(codes, y, 3, 0.02)


@pytest.mark.parametrize("slots_per_region", [0, 1, 32])
@given(st.integers(1, 40), st.integers(1, 8), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_neighbours_are_all_pairs_at_distance_one(slots_per_region, n_regions, n_bits, clashing, seed):
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.random((n_regions, n_bits)) < 0.5, axis=0)
    regions = Regions(codes, rng.integers(4, size=(len(codes), 3)) + np.eye(3, dtype=int)[0])
    asks = rng.random(len(codes)) < 0.7
    with patch.object(pruning_module, "_SLOTS_PER_REGION", slots_per_region):
        neighbours = _Partition(regions)._neighbours(np.arange(n_bits), asks, clashing)
    majority = regions.counts.argmax(axis=1)
    expected = [
        (np.argmax(codes[a] != codes[b]), a, b)
        for a in range(len(codes))
        for b in range(a + 1, len(codes))
        if (codes[a] != codes[b]).sum() == 1
        and (asks[a] or asks[b])
        and not (clashing and majority[a] == majority[b])
    ]
    assert asks[neighbours[1]].all()
    pairs = [(i, min(a, b), max(a, b)) for i, a, b in zip(*neighbours, strict=True)]
    if clashing:  # pairs of one majority may be returned, too: they lose nothing
        pairs = [(i, a, b) for i, a, b in pairs if majority[a] != majority[b]]
    assert sorted(pairs) == sorted(expected)


def test_crowded_slots_change_nothing(monkeypatch):
    monkeypatch.setattr(pruning_module, "_SLOTS_PER_REGION", 1)
    for seed in range(40):
        codes, y = random_pruning_problem(np.random.default_rng(seed), 120, 10, 3, 3)
        assert_same_path(codes, y, 3, 0.6)


def test_a_price_that_falls():
    """Two hyperplanes that tell two classes apart only together: without one the other is worthless."""
    regions = np.arange(8, dtype="<u8")
    codes = unpack(np.repeat(regions, [9, 8, 8, 8, 5, 5, 5, 5])[:, None], 3)
    y = np.where(codes[:, 2], 2, codes[:, 0] ^ codes[:, 1])
    assert prune(table(codes, y, 3), 1.0).error_rates.tolist() == [16 / 53, 16 / 53]
    assert_same_path(codes, y, 3, 1.0)


def test_more_classes_than_a_byte_can_tell():
    codes, y = random_pruning_problem(np.random.default_rng(3), 200, 8, 3, 2)
    assert_same_path(codes, 256 * y, 257, 1.0)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_arbitrary_codes(data):
    """Codes that no arrangement of hyperplanes makes, with duplicate and constant columns."""
    n_samples = data.draw(st.integers(1, 25))
    n_hyperplanes = data.draw(st.integers(1, 7))
    bits = data.draw(
        st.lists(st.integers(0, 2**n_hyperplanes - 1), min_size=n_samples, max_size=n_samples)
    )
    codes = unpack(np.array(bits, "<u8")[:, None], n_hyperplanes)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_samples, max_size=n_samples)))
    assert_same_path(codes, y, 3, data.draw(st.floats(0, 1)))


@pytest.mark.parametrize("seed", range(60))
def test_weights(seed):
    rng = np.random.default_rng(seed)
    codes, y = random_pruning_problem(rng, 100, 9, 3, 3)
    kinds = rng.choice([0.1, 0.3, 0.7], 100), rng.uniform(size=100), rng.integers(1, 5, 100) / 1.0
    weight = kinds[seed % 3]
    assert_same_path(
        codes, y, 3, rng.choice([0.1, 0.3, 1.0]), checked_weight(weight, len(y), adds_up=False)
    )


def test_threshold_is_strict_and_one_hyperplane_stays():
    codes = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    y = np.array([0, 0, 0, 1])
    # Either deletion leaves one error in four samples.
    assert prune(table(codes, y, 2), 0.25).deleted.tolist() == []
    path = prune(table(codes, y, 2), np.nextafter(0.25, 1))
    assert path.deleted.tolist() == [0]
    assert path.kept.tolist() == [1]
    assert path.error_rates.tolist() == [0.25]
    assert path.initial_error_rate == 0
    assert len(prune(table(codes, y, 2), 1.0).kept) == 1


def test_deletions_are_reported():
    codes, y = random_pruning_problem(np.random.default_rng(0), 100, 8, 3, 3)
    seen = []
    path = prune(table(codes, y, 3), 0.5, lambda n_left, rate: seen.append((n_left, rate)))
    assert [n for n, _ in seen] == [8 - 1 - k for k in range(len(path.deleted))]
    np.testing.assert_array_equal([rate for _, rate in seen], path.error_rates)


def test_select_equals_tabulating_anew():
    codes, y = random_pruning_problem(np.random.default_rng(1), 200, 10, 3, 3)
    kept = np.array([1, 4, 9])
    ours, anew = table(codes, y, 3).select(kept), table(codes[:, kept], y, 3)
    np.testing.assert_array_equal(ours.codes, anew.codes)
    np.testing.assert_array_equal(ours.counts, anew.counts)


# Optimal pruning


def fewest_by_trying_all(regions, threshold):
    n_hyperplanes = regions.codes.shape[1]
    for size in range(1, n_hyperplanes + 1):
        for kept in combinations(range(n_hyperplanes), size):
            if regions.select(np.array(kept)).error_rate < threshold:
                return size
    return n_hyperplanes


@pytest.mark.parametrize("seed", range(50))  # the last ones with weights
def test_no_smaller_subset_would_do(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 4))
    codes, y = random_pruning_problem(
        rng, int(rng.integers(5, 80)), int(rng.integers(1, 8)), 2, n_classes
    )
    regions = table(codes, y, n_classes, rng.uniform(0.1, 2, size=len(y)) if seed >= 40 else None)
    threshold = rng.choice([0.05, 0.15, 0.3, 0.6])
    path = prune_optimally(regions, threshold, 30)
    assert len(path.kept) == path.proved_minimum == fewest_by_trying_all(regions, threshold)
    if len(path.deleted):
        assert path.error_rates[-1] < threshold
        assert path.error_rates[-1] == regions.select(path.kept).error_rate


def test_four_moons_need_fewer_lines_than_greedy_pruning_keeps():
    X, y = four_moons(1200)
    greedy = region_design(3, random_state=0).fit(X, y)
    optimal = region_design(3, pruning="optimal", random_state=0).fit(X, y)
    assert len(optimal.hyperplanes_) == optimal.pruning_path_.proved_minimum
    assert len(optimal.hyperplanes_) < len(greedy.hyperplanes_)
    assert optimal.score(X, y) > 0.95


def test_nothing_to_prune_below_an_error_rate_that_is_too_high():
    X, y = overlapping(200, 2)
    clf = region_design(1, error_threshold=0.01, pruning="optimal", random_state=0).fit(X, y)
    assert len(clf.pruning_path_.deleted) == 0
    assert clf.pruning_path_.proved_minimum == 3


def test_out_of_time_it_keeps_what_greedy_pruning_found():
    X, y = four_moons(1200)
    greedy = region_design(3, random_state=0).fit(X, y)
    clf = region_design(3, pruning="optimal", time_limit=1e-9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.pruning_path_.kept, greedy.pruning_path_.kept)
    assert clf.pruning_path_.proved_minimum == 1


@pytest.mark.parametrize(
    ("threshold", "total", "expected"), [(0.05, 1200, 59), (0.3, 10, 2), (0.31, 10, 3)]
)
def test_budget_is_strict(threshold, total, expected):
    assert _largest_below(threshold, np.ones(total)) == expected


def test_iris_is_optimal_as_it_is_and_verbose_tells_what_was_proved(capsys):
    clf = region_design(pruning="optimal", random_state=0, verbose=1).fit(*IRIS)
    assert len(clf.pruning_path_.kept) == clf.pruning_path_.proved_minimum == 2
    assert "boundaries: 2 hyperplanes left, at least 2 are needed" in capsys.readouterr().out


def test_errors_of_huge_masses_are_bounded():
    mass = np.full(30, 1e300)
    assert 0.0 < _largest_below(0.05, mass) < 0.05 * mass.sum()


def test_plans_are_judged_with_greedy_pruning():
    """The time limit is for one search, not for each plan and fold."""
    greedy, optimal = (
        region_design("auto", error_threshold="auto", pruning=pruning, random_state=0).fit(*IRIS)
        for pruning in ("greedy", "optimal")
    )
    assert len(optimal.selection_.plans) > 1
    np.testing.assert_array_equal(optimal.selection_.log_losses, greedy.selection_.log_losses)
