import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import IRIS, four_moons, mixed_table
from random_readouts import violations

from ffmlp import FFMLPClassifier
from ffmlp.robustness.bent_leads import lower_hull, track
from ffmlp.robustness.nearest_change import Band, Maps, _Cap

X, Y = four_moons(240)
SMALL = {
    gaussianise: FFMLPClassifier(max_neurons=30, design="readout", gaussianise=gaussianise).fit(X, Y)
    for gaussianise in (False, True)
}


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_no_search_contradicts_the_distances_of_random_readouts(norm):
    pytest.importorskip("daqp")
    rng, proved = np.random.default_rng(int(min(norm, 3))), []
    for _ in range(15):
        failed, exact, known = violations(rng, norm)
        assert not failed
        proved += [exact] if known else []
    assert np.mean(proved) > 0.9
    assert len(proved) > 7


@pytest.mark.parametrize(("norm", "share"), [("inf", 0.9), (2, 0.6)])
def test_where_no_other_class_is_within_the_limits_this_is_proved(norm, share):
    pytest.importorskip("daqp")
    clf, some = SMALL[norm == 2], X[:1]
    distance = clf.robustness(some, norm).distance[0]
    tight = {j: (some[0, j] - share * distance, some[0, j] + share * distance) for j in range(2)}
    found = clf.robustness(some, norm, bounds=tight)  # its corners are nearer than another class
    assert found.exact.all()
    assert (found.distance == np.inf).all()
    assert (found.classes == -1).all()


def test_too_little_time_leaves_bounds():
    X, y = IRIS
    clf = FFMLPClassifier(max_neurons=50, design="readout").fit(X, y)
    found = clf.robustness(X[:3], "inf", time_limit=1e-6)
    assert not found.exact.any()
    assert (found.lower < found.distance).all()
    assert (clf.predict(found.points) != clf.predict(X[:3])).all()


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_where_nothing_can_change_no_programme_is_needed(norm):
    table, labels = mixed_table()
    numbers = [name for name in table if table[name].dtype.kind == "f"]
    clf = FFMLPClassifier(design="readout", max_neurons=30, random_state=0).fit(table, labels)
    found = clf.robustness(table[:2].assign(**dict.fromkeys(numbers, np.nan)), norm)
    assert np.isinf(found.distance).all()


def test_processes_find_the_same():
    one, two = (SMALL[True].robustness(X[:4], "inf", n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_array_equal(one.distance, two.distance)
    np.testing.assert_array_equal(one.points, two.points)


def test_progress_is_shown_only_if_asked_for(capsys):
    pytest.importorskip("tqdm")
    SMALL[True].robustness(X[:2], "inf")
    assert "distances" not in capsys.readouterr().err
    SMALL[True].robustness(X[:2], "inf", progress=True)
    assert "distances: 100%" in capsys.readouterr().err


def test_a_track_reaches_values_with_the_smallest_change():
    knots, scores = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.0, 0.5])
    # The sample lies beyond the last knot, where the map is level.
    path = track(4.0, 2.0, -np.inf, np.inf, np.array([3.0]), knots, scores)
    assert path.place(0.5)[1] == 0.0
    assert path.place(0.25)[1] == pytest.approx(-1.0)
    assert path.place(-0.5)[1] == pytest.approx(-1.75)
    assert path.speed == pytest.approx(0.75)


def test_the_hull_is_convex_and_below_all_points():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, heights = np.sort(rng.normal(size=12)).round(1), rng.uniform(size=12)
        slopes, intercepts = lower_hull(values, heights)
        hull = (slopes * values[:, None] + intercepts).max(axis=1)
        assert (hull <= heights + 1e-9).all()
        assert (np.diff(slopes) >= 0).all()
        ends = [heights[values == end].min() for end in values[[0, -1]]]
        np.testing.assert_allclose(hull[[0, -1]], ends, atol=1e-9)


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
