"""Rows that stand for all: neither their order nor their division into blocks matters."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from ffmlp.inputs import rows as module
from ffmlp.inputs.columns import Cells, Schema
from ffmlp.inputs.rows import Drawn, Rows, drawn_below, most_distinct, row_hashes

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
NUMBER, NUMBERS = Schema.of_numbers("x"), Schema.of_numbers("xy")


def some_rows(n_rows, seed, n_classes=3):
    """A number of few values, a category, missing cells, and weights."""
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, 40, n_rows) / 4, rng.integers(0, 3, n_rows)])
    values[rng.random(values.shape) < 0.1] = np.nan
    y = np.minimum(rng.geometric(0.6, n_rows) - 1, n_classes - 1)
    weight = rng.integers(1, 5, n_rows) / 4
    return Rows(Cells(values, Schema(("x", "town"), (None, ("a", "b", "c")))), y, weight)


def in_parts(rows, n_parts, rng):
    order = rng.permutation(len(rows))
    cuts = np.sort(rng.integers(0, len(rows) + 1, n_parts - 1))
    return [rows.select(part) for part in np.split(order, cuts)]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(module, "MOST_DISTINCT", 50)
    monkeypatch.setattr(module, "FEWEST_OF_A_CLASS", 5)


def naive_draw(rows, n_classes):
    """The rows at the smallest hashes of all and of each class, with the weight of equal ones."""
    hashes = rows.hashes.tolist()
    wanted = set(sorted(set(hashes))[: module.MOST_DISTINCT])
    for label in range(n_classes):
        own = sorted({one for one, y in zip(hashes, rows.y, strict=True) if y == label})
        wanted |= {(one, label) for one in own[: module.FEWEST_OF_A_CLASS]}
    found = {}
    for one, label, weight in zip(hashes, rows.y.tolist(), rows.weight, strict=True):
        if one in wanted or (one, label) in wanted:
            found[one, label] = found.get((one, label), 0.0) + weight
    return found


@hypothesis.given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 400))
@hypothesis.settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_blocks_draw_what_all_rows_draw(few, seed, n_parts, n_rows):
    rows, rng = some_rows(n_rows + 51, seed), np.random.default_rng(seed)
    whole = Drawn.of(rows, 3).settled()
    parts = [Drawn.of(part, 3) for part in in_parts(rows, n_parts, rng)]
    again = reduce(add, parts).settled()
    expected = naive_draw(rows, 3)
    for drawn in (whole, again):
        found = dict.fromkeys(expected, 0.0)
        for one, label, weight in zip(drawn.rows.hashes, drawn.rows.y, drawn.rows.weight, strict=True):
            found[int(one), int(label)] += weight
        assert found == expected
        np.testing.assert_array_equal(drawn.mass, np.bincount(rows.y, rows.weight, 3))
        assert drawn.complete == (sum(expected.values()) == rows.weight.sum())
    np.testing.assert_array_equal(
        np.bincount(again.representative.y, again.representative.weight, 3).round(9), whole.mass.round(9)
    )


def test_a_limit_for_the_hashes_draws_the_same(few):
    rows = some_rows(5000, 0)
    rows = Rows(Cells(np.random.default_rng(0).normal(size=(5000, 2)), NUMBERS), rows.y, rows.weight)
    below = drawn_below(len(rows), 2)
    free, limited = Drawn.of(rows, 3), Drawn.of(rows, 3, below).settled()
    np.testing.assert_array_equal(np.sort(free.rows.hashes), np.sort(limited.rows.hashes))
    assert not limited.holds_too_few(below)
    repeated = rows.select(np.repeat(np.arange(60), 80))
    below = drawn_below(len(repeated), 2)
    assert Drawn.of(repeated, 3, below).holds_too_few(below)
    assert not Drawn.of(repeated, 3).holds_too_few(None)


def test_hashes_know_names_and_values_only():
    rows = some_rows(300, 1)
    number = {"a": 2.0, "b": 0.0, "c": 1.0}
    renamed = rows.cells.values.copy()
    present = ~np.isnan(renamed[:, 1])
    renamed[present, 1] = [number["abc"[int(code)]] for code in renamed[present, 1]]
    other = Cells(renamed, Schema(("x", "town"), (None, ("b", "c", "a"))))
    np.testing.assert_array_equal(rows.hashes, row_hashes(other))
    zero, minus = (row_hashes(Cells(np.full((1, 1), cell), NUMBER)) for cell in (0.0, -0.0))
    assert zero == minus
    single = row_hashes(Cells(np.full((1, 1), 0.5, np.float32), NUMBER))
    assert single == row_hashes(Cells(np.full((1, 1), 0.5), NUMBER))
    swapped = row_hashes(Cells(np.array([[1.0, 2.0], [2.0, 1.0]]), NUMBERS))
    assert swapped[0] != swapped[1]


def test_a_row_that_is_repeated_very_often_does_not_stand_for_most(few):
    rng = np.random.default_rng(0)
    values = np.vstack([rng.normal(size=(3000, 2)), np.zeros((9000, 2))])
    zeros = row_hashes(Cells(np.zeros((1, 2)), NUMBERS))
    drawn = Drawn.of(Rows(Cells(values, NUMBERS), np.zeros(12_000, int), np.ones(12_000)), 1)
    rows = drawn.representative
    assert not drawn.complete
    assert rows.weight.sum() == pytest.approx(12_000)
    own = rows.hashes == zeros
    assert rows.weight[own].sum() <= 0.021 * 12_000


def test_wide_tables_hold_fewer_rows():
    assert most_distinct(20) == module.MOST_DISTINCT
    assert most_distinct(1000) == module.MOST_CELLS // 1000
