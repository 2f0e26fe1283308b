import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import IRIS, four_moons, mixed_table
from random_readouts import in_ball, on_axes, violations

from ffmlp import FFMLPClassifier
from ffmlp.parameters import checked_cells
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


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("gaussianise", [False, True])
def test_distances_of_small_readouts_are_exact(gaussianise, norm):
    pytest.importorskip("daqp")
    clf, some = SMALL[gaussianise], X[::40]
    found = clf.robustness(some, norm)
    assert found.exact.all()
    assert (found.lower == found.distance).all()
    assert (clf.classes_[found.classes] == clf.predict(found.points)).all()
    assert (clf.predict(found.points) != clf.predict(some)).all()
    size = np.linalg.norm(found.points - some, ord=float(norm), axis=1)
    np.testing.assert_allclose(size, found.distance, rtol=2e-6)


@pytest.mark.parametrize("norm", [2, "inf"])
@pytest.mark.parametrize("gaussianise", [False, True])
def test_distances_of_one_blob_for_each_class_are_exact(gaussianise, norm):
    pytest.importorskip("daqp")
    X, y = IRIS
    clf = FFMLPClassifier(1, design="blob", gaussianise=gaussianise, random_state=0).fit(X, y)
    found, rng = clf.robustness(X[::25], norm), np.random.default_rng(0)
    assert found.exact.all()
    assert (clf.predict(found.points) != clf.predict(X[::25])).all()
    size = np.linalg.norm(found.points - X[::25], ord=float(norm), axis=1)
    np.testing.assert_allclose(size, found.distance, rtol=2e-6)
    for x, radius in zip(X[::25], found.lower, strict=True):
        near = x + radius * np.vstack([in_ball(rng, 3000, 4, float(norm)), on_axes(4, float(norm))])
        assert (clf.predict(near) == clf.predict(x[None])).all()


def test_distances_scale_with_units():
    clf, some = SMALL[True], X[::60]
    one, other = (clf.robustness(some, "inf", scale=np.full(2, unit)).distance for unit in (1.0, 0.5))
    np.testing.assert_allclose(other, 2 * one, rtol=2e-6)


def test_limits_hold_and_proofs_include_them():
    clf, some = SMALL[True], X[::40]
    free = clf.robustness(some, "inf")
    held = clf.robustness(some, "inf", frozen=[0])
    assert (held.exact | ~np.isfinite(held.distance)).all()
    there = np.isfinite(held.distance)
    assert (held.points[there, 0] == some[there, 0]).all()
    assert (held.distance >= free.distance * (1 - 1e-6)).all()
    nowhere = clf.robustness(some, "inf", bounds={0: (X[:, 0].min(), X[:, 0].max())}, frozen=[1])
    inside = np.isfinite(nowhere.distance)
    assert (nowhere.points[inside, 0] <= X[:, 0].max()).all()


@pytest.mark.parametrize(("norm", "share"), [("inf", 0.9), (2, 0.6)])
def test_where_no_other_class_is_within_the_limits_this_is_proved(norm, share):
    pytest.importorskip("daqp")
    clf, some = SMALL[norm == 2], X[:1]
    distance = clf.robustness(some, norm).distance[0]
    tight = {j: (some[0, j] - share * distance, some[0, j] + share * distance) for j in range(2)}
    found = clf.robustness(
        some, norm, bounds=tight
    )  # the corners of the box are nearer than another class
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


def test_categories_and_missing_numbers_stay():
    pytest.importorskip("pandas")
    X, y = mixed_table()
    clf = FFMLPClassifier(max_neurons=40, design="readout").fit(X, y)
    table, cells = clf.network_.table, checked_cells(clf, X[:6])
    found = clf.robustness(X[:6], "inf")
    there = np.flatnonzero(found.exact & np.isfinite(found.distance))
    assert len(there)
    held = ~table.changeable(cells)[there]
    assert held.any()
    assert (found.points[there][held] == clf.network_.inputs(cells)[there][held]).all()
    assert (
        clf.network_.classes(found.points[there])
        != clf.network_.classes(clf.network_.inputs(cells))[there]
    ).all()


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


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
        ({"time_limit": "long"}, "time_limit must be a positive number of seconds, got 'long'"),
        ({"n_jobs": 0}, "n_jobs must be an int other than 0, or None, got 0"),
    ],
)
def test_an_effort_of_the_wrong_kind_is_refused(effort, message):
    with pytest.raises(ValueError, match=message):
        SMALL[True].robustness(X[:2], "inf", **effort)


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


@pytest.mark.parametrize("norm", [1, "inf"])
def test_one_blob_for_each_of_two_classes_has_a_distance(norm):
    """The lead of such a network has no bends."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    X[:, 0] += 2.0 * y
    clf = FFMLPClassifier(1, design="blob", gaussianise=False, random_state=0).fit(X, y)
    found = clf.robustness(X[:5], norm)
    assert found.exact.all()
    assert (clf.predict(found.points) != clf.predict(X[:5])).all()


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
