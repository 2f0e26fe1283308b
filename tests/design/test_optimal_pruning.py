from itertools import combinations

import numpy as np
import pytest
from problems import IRIS, four_moons, overlapping, random_pruning_problem, region_design, table

from ffmlp.design import pruning
from ffmlp.design.pruning import _largest_below, prune_optimally


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
    assert 0.0 < pruning._largest_below(0.05, mass) < 0.05 * mass.sum()


def test_plans_are_judged_with_greedy_pruning():
    """The time limit is for one search, not for each plan and fold."""
    greedy, optimal = (
        region_design("auto", error_threshold="auto", pruning=pruning, random_state=0).fit(*IRIS)
        for pruning in ("greedy", "optimal")
    )
    assert len(optimal.selection_.plans) > 1
    np.testing.assert_array_equal(optimal.selection_.log_losses, greedy.selection_.log_losses)
