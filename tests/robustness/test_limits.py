import numpy as np
import pytest
from problems import IRIS, region_design

from ffmlp import FFMLPClassifier

X, Y = IRIS
CLF = region_design(random_state=0).fit(X, Y)


@pytest.mark.parametrize("size", [1e-30, 1e9, 1e30])
@pytest.mark.parametrize("design", ["region", "paper", "blob"])
def test_distances_do_not_depend_on_the_unit_of_the_features(design, size):
    clf = FFMLPClassifier(1, design=design, error_threshold=None, gaussianise=False, random_state=0)
    expected = clf.fit(X, Y).robustness(X[:5], 1).distance
    np.testing.assert_allclose(
        clf.fit(X * size, Y).robustness(X[:5] * size, 1).distance / size, expected, rtol=1e-6
    )


@pytest.mark.parametrize("unit", [1e-300, 1e20, 1e160])
@pytest.mark.parametrize("norm", [1, "inf"])
def test_distances_in_any_unit_are_the_same(unit, norm):
    found = CLF.robustness(X[:2], norm, scale=np.full(4, unit))
    assert found.exact.all()
    np.testing.assert_allclose(found.distance * unit, CLF.robustness(X[:2], norm).distance, rtol=1e-9)


@pytest.mark.parametrize(("size", "word"), [(1e200, "large"), (1e-200, "small")])
def test_features_whose_squares_overflow_are_refused(size, word):
    clf = region_design(random_state=0).fit(X * size, Y)
    with pytest.raises(ValueError, match=f"The features are so {word} .* Fit to scaled features"):
        clf.robustness(X[:2] * size, 1)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"frozen": [False, False, True, True]}, "Unknown feature False"),
        ({"frozen": np.array([True, False, False, False])}, "Unknown feature"),
        ({"frozen": [1.5]}, "Unknown feature 1.5"),
        ({"frozen": None}, "frozen must be a sequence of features, got None"),
        ({"bounds": {0: 5}}, r"bounds of feature 0 must be \(low, high\), two numbers or None, got 5"),
        ({"bounds": {0: (1, 2, 3)}}, r"two numbers or None, got \(1, 2, 3\)"),
        ({"bounds": {0: ("a", 2)}}, r"two numbers or None, got \('a', 2\)"),
        ({"bounds": [(0, 1)]}, r"bounds must be a mapping of columns, such as \{0: …\}, got \[\(0, 1\)\]"),
    ],
)
def test_limits_of_the_wrong_kind_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        CLF.robustness(X[:2], 1, **limits)


@pytest.mark.parametrize("kind", [list, np.array])
def test_bounds_are_pairs_of_any_kind(kind):
    one, other = (CLF.robustness(X[:2], 1, bounds={0: of((0, 9))}).distance for of in (tuple, kind))
    np.testing.assert_array_equal(one, other)


def test_one_frozen_feature_needs_no_list():
    alone, listed = (CLF.robustness(X[:2], 1, frozen=frozen).distance for frozen in (1, [1]))
    np.testing.assert_array_equal(alone, listed)
