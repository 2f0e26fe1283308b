import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import IRIS

from ffmlp import FFMLPClassifier
from ffmlp.robustness.bent_leads import track
from ffmlp.robustness.nearest_change import Band, Maps, _Cap

SEEDS = st.integers(0, 2**32 - 1)


def random_maps(rng):
    """Maps of three features: two bend, one is the feature itself."""
    knots = [np.sort(rng.normal(size=size)) for size in (5, 12)]
    scores = [np.cumsum(rng.exponential(size=len(own))) for own in knots]
    parts = [*zip(knots, scores, strict=True), (np.zeros(0), np.zeros(0))]
    tracks = [track(0.3, 1.0, -np.inf, np.inf, np.array([2.0]), *part) for part in parts]
    return Maps.of(tracks), tracks


@given(SEEDS)
def test_maps_follow_their_tracks(seed):
    rng = np.random.default_rng(seed)
    maps, tracks = random_maps(rng)
    change = rng.uniform(-2, 2, 3)
    expected = [np.interp(u, one.changes, one.values) for u, one in zip(change, tracks, strict=True)]
    np.testing.assert_allclose(maps.at(change), expected, atol=1e-12)


@given(SEEDS)
def test_a_band_encloses_the_maps_in_its_intervals(seed):
    rng = np.random.default_rng(seed)
    maps, _ = random_maps(rng)
    low, high = np.sort(rng.uniform(-2, 2, (2, 3)), axis=0)
    wide = Band.of(maps, maps.changes[:, 0], maps.changes[:, -1])
    narrow = wide.renewed(maps, low, high, np.array([0, 2]))
    slopes, below, above = maps.lines(low, high)
    for share in rng.uniform(size=(20, 3)):
        change = low + share * (high - low)
        z = maps.at(change)
        for band in (wide, narrow):
            values, _ = band.at(change)
            assert (values[0] <= z + 1e-9).all()
            assert (values[1] >= z - 1e-9).all()
        assert (slopes * change + below <= z + 1e-9).all()
        assert (slopes * change + above >= z - 1e-9).all()


@given(SEEDS, st.floats(0.0, 1.0))
def test_products_with_changes_in_a_cap_stay_in_its_ranges(seed, share):
    rng = np.random.default_rng(seed)
    normal, radius = rng.normal(size=3), 2.0
    normal /= np.linalg.norm(normal)
    rows = rng.normal(size=(4, 3))
    cap = _Cap(normal, share * radius, radius)
    least, most = cap.ranges(rows)
    # Points of the cap: a part along the normal, the rest across it.
    along = rng.uniform(share * radius, radius, size=200)
    across = rng.normal(size=(200, 3))
    across -= (across @ normal)[:, None] * normal
    across *= (np.sqrt(radius**2 - along**2) / np.linalg.norm(across, axis=1))[:, None]
    products = (along[:, None] * normal + across) @ rows.T
    assert (products >= least - 1e-9).all()
    assert (products <= most + 1e-9).all()
    # The limits are reached: at the end of the ball, or on the rim of the plane.
    for row, largest in zip(rows, most, strict=True):
        end = radius * row / np.linalg.norm(row)
        if end @ normal < share * radius:
            rest = row - (row @ normal) * normal
            rim = radius * np.sqrt(1 - share**2) * rest / np.linalg.norm(rest)
            end = share * radius * normal + rim
        assert end @ row == pytest.approx(largest)


@pytest.mark.parametrize("gaussianise", [False, True])
def test_euclidean_distances_of_smooth_leads_are_exact(gaussianise):
    pytest.importorskip("daqp")
    X, y = IRIS
    clf = FFMLPClassifier(1, design="blob", gaussianise=gaussianise, random_state=0).fit(X, y)
    found, rng = clf.robustness(X[::25]), np.random.default_rng(0)
    assert found.exact.all()
    assert (clf.predict(found.points) != clf.predict(X[::25])).all()
    np.testing.assert_allclose(np.linalg.norm(found.points - X[::25], axis=1), found.distance, rtol=2e-6)
    for x, radius in zip(X[::25], found.lower, strict=True):
        steps = rng.normal(size=(3000, 4))
        steps *= rng.uniform(0.5, 1, (3000, 1)) / np.linalg.norm(steps, axis=1, keepdims=True)
        assert (clf.predict(x + radius * steps) == clf.predict(x[None])).all()


def test_where_no_other_class_is_within_the_limits_this_is_proved():
    pytest.importorskip("daqp")
    X, y = IRIS
    clf = FFMLPClassifier(max_neurons=30, design="readout", gaussianise=True, random_state=0).fit(X, y)
    x = X[:1]
    distance = clf.robustness(x).distance[0]
    tight = {j: (x[0, j] - 0.4 * distance, x[0, j] + 0.4 * distance) for j in range(4)}
    found = clf.robustness(x, bounds=tight)  # the corners of the box are at 0.8 of the distance
    assert found.exact.all()
    assert (found.distance == np.inf).all()
