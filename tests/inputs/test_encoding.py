"""Categories as shares of classes: against a loop, and by what must not matter."""

import numpy as np
import pytest
from problems import DESIGNS, designed

from ffmlp import FFMLPClassifier
from ffmlp.inputs.columns import UNKNOWN, CategoryColumn, Cells, NumberColumn, Schema, category_cells
from ffmlp.inputs.encoding import FREQUENT, MAX_SHARES, N_FOLDS, PRIOR, Census, Encoding, dealt_folds
from ffmlp.inputs.rows import Rows

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


def problem(rng, n_samples, n_categories, n_classes, integer_weights=False):
    """Cells of a number and of a category, some of them missing; y, weights and labels."""
    category = np.minimum(rng.geometric(0.2, n_samples), n_categories) - 1.0
    y = (category + rng.integers(0, 2, n_samples)).astype(int) % n_classes
    y[:n_classes] = np.arange(n_classes)
    category[rng.random(n_samples) < 0.1] = np.nan
    number = np.round(rng.normal(size=n_samples), 1)
    weight = rng.integers(1, 4, n_samples).astype(float)
    if not integer_weights:
        weight += rng.integers(0, 4, n_samples) / 4
    names = tuple(f"k{code}" for code in range(n_categories))
    labels = np.array([f"class {label}" for label in range(n_classes)])
    cells = Cells(np.column_stack([number, category]), Schema(("x", "town"), (None, names)))
    return cells, y, weight, labels


def encoded(cells, y, weight, labels):
    """The columns, and the inputs of the training samples."""
    rows = Rows(cells, y, weight)
    fold = dealt_folds(rows)
    encoding = Encoding.of(Census.of(rows, fold, len(labels)), rows)
    return encoding.columns, encoding.inputs(rows, fold)


def naive_shares(category, y, weight, fold, n_classes, value, without):
    """The shares of one category, those of all counting as `PRIOR` samples, without one fold."""
    of_all, of_one = np.zeros(n_classes), np.zeros(n_classes)
    for cell, label, mass, part in zip(category, y, weight, fold, strict=True):
        of_all[label] += mass
        same = cell == value or (np.isnan(cell) and np.isnan(value))
        if same and part != without:
            of_one[label] += mass
    prior = of_all / of_all.sum()
    return (of_one + PRIOR * prior) / (of_one.sum() + PRIOR)


def naive_folds(cells, y):
    """Equal cells share a fold; distinct ones are dealt in turn, by class and then by value."""
    rows = [tuple(np.inf if np.isnan(cell) else cell for cell in row) for row in cells]
    rank = {}
    for _, row in sorted(zip(y.tolist(), rows, strict=True)):
        rank.setdefault(row, len(rank))
    return np.array([rank[row] % N_FOLDS for row in rows])


@pytest.mark.parametrize(
    ("n_samples", "n_categories", "n_classes"), [(300, 8, 2), (120, 20, 3), (60, 3, 4)]
)
def test_shares_against_a_loop(n_samples, n_categories, n_classes):
    rng = np.random.default_rng(n_samples)
    cells, y, weight, labels = problem(rng, n_samples, n_categories, n_classes)
    columns, X = encoded(cells, y, weight, labels)
    part = columns.parts[1]
    assert isinstance(part, CategoryColumn)
    assert len(part.classes) == n_classes - 1
    category = cells.values[:, 1]
    fold = naive_folds(cells.values, y)
    chosen = list(part.classes)
    arguments = category, y, weight, fold, n_classes
    masses = {code: weight[category == code].sum() for code in range(n_categories)}
    masses[np.nan] = weight[np.isnan(category)].sum()
    assert min(masses.values()) < 2 or n_categories < 20
    assert max(masses.values()) >= FREQUENT
    for code, mass in masses.items():
        name = "" if np.isnan(code) else f"k{code}"
        assert (name in part.categories) == (mass >= 2 and name != "")
        shares = naive_shares(*arguments, UNKNOWN if mass < 2 else code, None)[chosen]
        np.testing.assert_allclose(
            part.inputs(category_cells(part.categories, [name]))[0], shares, rtol=1e-12
        )
        members = np.isnan(category) if np.isnan(code) else category == code
        for sample in np.flatnonzero(members):
            without = None if mass >= FREQUENT else fold[sample]
            shares = naive_shares(*arguments, code, without)[chosen]
            np.testing.assert_allclose(X[sample, 1:], shares, rtol=1e-12)
    np.testing.assert_allclose(part.shares[-1], naive_shares(*arguments, UNKNOWN, None)[chosen])


@hypothesis.given(st.integers(0, 2**32 - 1), st.integers(20, 150), st.integers(2, 4))
@hypothesis.settings(deadline=None, max_examples=20)
def test_neither_order_nor_repetition_of_samples_matters(seed, n_samples, n_classes):
    rng = np.random.default_rng(seed)
    cells, y, weight, labels = problem(rng, n_samples, 9, n_classes, integer_weights=True)
    columns, X = encoded(cells, y, weight, labels)
    rows = rng.permutation(np.repeat(np.arange(n_samples), weight.astype(int)))
    again = Cells(cells.values[rows], cells.schema)
    same, inputs = encoded(again, y[rows], np.ones(len(rows)), labels)
    np.testing.assert_array_equal(same.parts[1].shares, columns.parts[1].shares)
    assert same.parts[1].classes == columns.parts[1].classes
    assert same.parts[0].fill == columns.parts[0].fill
    np.testing.assert_array_equal(inputs, X[rows])


@hypothesis.given(st.integers(0, 2**32 - 1), st.integers(10, 150), st.integers(2, 14))
@hypothesis.settings(deadline=None, max_examples=30)
def test_shares_are_shares(seed, n_samples, n_classes):
    hypothesis.assume(n_samples > n_classes)
    cells, y, weight, labels = problem(np.random.default_rng(seed), n_samples, 9, n_classes)
    columns, X = encoded(cells, y, weight, labels)
    part = columns.parts[1]
    assert 1 <= len(part.classes) <= min(MAX_SHARES, n_classes - 1)
    assert list(part.classes) == sorted(set(part.classes))
    for shares in (part.shares, X[:, 1:]):
        assert ((shares >= 0) & (shares <= 1)).all()
        assert (shares.sum(axis=1) <= 1 + 1e-12).all()
    assert part.shares.shape == (len(part.categories) + 2, X.shape[1] - 1)


def frame_problem(n_samples=240, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n_samples), "town": rng.choice(list("abcdefgh"), n_samples)})
    noisy = X["x"] + 0.3 * rng.normal(size=n_samples)
    y = ((noisy > 0.5) ^ (X["town"].isin(list("abc")) & (X["x"] < -0.5))).to_numpy(int)
    return X.mask(rng.random(X.shape) < 0.08), y


@pytest.mark.parametrize("design", DESIGNS)
def test_permuted_rows_give_the_same_model_to_the_last_bit(design):
    X, y = frame_problem()
    order = np.random.default_rng(1).permutation(len(X))
    first, second = designed(design, X, y), designed(design, X.iloc[order], y[order])
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.hyperplanes_.weights, second.hyperplanes_.weights)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_sample_of_weight_2_is_two_samples_and_one_of_weight_0_none(design):
    X, y = frame_problem()
    X.loc[7, "x"] = 1e6  # would widen the range of the numbers
    X.loc[8, "town"] = "nowhere"
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    weight[[7, 8]] = 0
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = FFMLPClassifier(**DESIGNS[design], random_state=0).fit(X, y, weight)
    repeated = FFMLPClassifier(**DESIGNS[design], random_state=0).fit(X.iloc[rows], y[rows])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize("design", ["readout", "readout with trees"])
def test_an_id_does_not_leak(design):
    X, y = frame_problem(2000)
    order = np.random.default_rng(1).permutation(len(X))
    tables = [X, *(X.assign(id=[f"n{number // each}" for number in order]) for each in (1, 4))]
    train, test = slice(0, 400), slice(400, 2000)
    clf = FFMLPClassifier(**DESIGNS[design])
    scores = [clf.fit(one[train], y[train]).score(one[test], y[test]) for one in tables]
    assert scores[0] > 0.8
    assert min(scores[1:]) > scores[0] - 0.025


def test_many_classes_have_few_shares_that_tell_most():
    rng = np.random.default_rng(0)
    n_classes = 30
    y = np.arange(600) % n_classes
    category = np.where(y < 5, y, 5.0)  # classes 0 to 4 have a category each
    category[rng.random(600) < 0.1] = 5.0
    names = tuple("abcdef")
    columns, _ = encoded(
        Cells(category[:, None], Schema(("c",), (names,))), y, np.ones(600), np.arange(n_classes)
    )
    assert columns.parts[0].classes == (0, 1, 2, 3, 4)  # five shares tell six categories apart


def test_complete_numbers_are_untouched():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    columns, inputs = encoded(
        Cells(X, Schema.of_numbers("abc")), np.arange(50) % 2, np.ones(50), np.arange(2)
    )
    assert inputs is X
    assert columns.imputation is None
    assert [part.name for part in columns.parts] == ["a", "b", "c"]
    np.testing.assert_array_equal(columns.fills, np.sort(X, axis=0)[24])


@hypothesis.given(
    st.lists(st.tuples(st.sampled_from([-2.0, 0.0, 1.5, 7.0, np.nan]), st.integers(1, 4)), min_size=3)
)
@hypothesis.settings(deadline=None, max_examples=50)
def test_the_fill_is_the_median_of_repeated_values(pairs):
    values, times = (np.array(part, float) for part in zip(*pairs, strict=True))
    columns, _ = encoded(
        Cells(values[:, None], Schema.of_numbers("x")), np.arange(len(values)) % 2, times, np.arange(2)
    )
    assert isinstance(columns.parts[0], NumberColumn)
    present = np.sort(np.repeat(values, times.astype(int)))
    present = present[~np.isnan(present)]
    assert columns.parts[0].fill == (present[(len(present) - 1) // 2] if len(present) else 0.0)


@pytest.mark.parametrize("second", ["none", "binary", "five values", "number"])
def test_repeated_rows_do_not_invert_a_category(second):
    rng = np.random.default_rng(0)
    likely = np.arange(30) % 2

    def drawn(n_rows):
        city = rng.integers(0, 30, n_rows)
        beside = {
            "binary": rng.integers(0, 2, n_rows),
            "five values": rng.integers(0, 5, n_rows),
            "number": rng.normal(size=n_rows),
        }
        columns = [np.array([f"c{number}" for number in city], object)]
        X = np.column_stack([*columns, *([beside[second]] if second in beside else [])]).astype(object)
        return X, np.where(rng.random(n_rows) < 0.1, 1 - likely[city], likely[city])

    X, y = drawn(900)
    clf = FFMLPClassifier(max_leaves=0).fit(X, y)
    new, truth = drawn(2000)
    assert clf.score(new, truth) > 0.85
