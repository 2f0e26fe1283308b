import numpy as np
import pytest
from scipy.integrate import trapezoid

from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.report.assessment import class_curves, wilson
from ffmlp.report.model_report import leakage

TABLE = Columns(
    (
        NumberColumn("noise", 0.0),
        NumberColumn("weak", 0.0),
        NumberColumn("leak", 0.0),
        CategoryColumn("code", ("a", "b", "c"), (0, 1), np.zeros((5, 2))),
    )
)


def cells_of(rng, truth):
    """Cells of which one number and one category follow from the class."""
    noise = rng.normal(size=len(truth))
    leak = truth + 0.01 * rng.normal(size=len(truth))
    leak[::10] = np.nan
    return np.column_stack([noise, truth + rng.normal(size=len(truth)), leak, truth.astype(float)])


@pytest.mark.parametrize("n_rows", [200, 5000])
def test_columns_that_say_the_class_are_suspects(n_rows):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n_rows)
    cells = cells_of(rng, truth)
    cells[::10, 2] = 10.0 + truth[::10]
    assert [text.split()[2] for text in leakage(TABLE, cells, truth)] == ["leak", "code"]
    shuffled = rng.permuted(cells, axis=0)
    assert leakage(TABLE, shuffled, truth) == []
    # Where all rows are of one class, every column is right.
    assert leakage(TABLE, cells, np.zeros_like(truth)) == []


def test_intervals_contain_the_share_they_are_about():
    rng = np.random.default_rng(0)
    share, n = 0.9, 50
    found = rng.binomial(n, share, size=4000) / n
    low, high = wilson(found, np.full(4000, n))
    assert 0.92 < np.mean((low <= share) & (share <= high)) < 0.98
    low, high = wilson(np.array([0.0, 1.0]), np.array([10, 10]))
    np.testing.assert_allclose([low[0], high[1]], [0.0, 1.0], atol=1e-12)
    assert high[0] < 0.35


def test_curves_with_few_points_keep_their_ends_and_areas():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    score = rng.random((3000, 3)) + 0.5 * np.eye(3)[truth]
    curves = class_curves(truth, score / score.sum(axis=1, keepdims=True))
    assert [one.label for one in curves] == [0, 1, 2]
    for one in curves:
        assert one.roc.shape[1] <= 122
        np.testing.assert_array_equal(one.roc[:, [0, -1]], [[0, 1], [0, 1]])
        np.testing.assert_allclose(trapezoid(one.roc[1], one.roc[0]), one.area, atol=0.005)
        assert one.n_rows == (truth == one.label).sum()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e39, 1e300, 1e307])
def test_suspects_may_be_huge(size):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    cells = cells_of(rng, truth)
    cells[:, :3] *= size
    cells[::10, 2] = size * (10.0 + truth[::10])
    assert [text.split()[2] for text in leakage(TABLE, cells, truth)] == ["leak", "code"]
