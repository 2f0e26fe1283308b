"""Which rows a report begins with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffmlp.report.assessment import LEAST_CERTAIN, WRONG, Rows, shown_rows

pd = pytest.importorskip("pandas")

ROWS = st.lists(st.tuples(st.sampled_from([0.1, 0.45, 0.5, 0.8, np.nan]), st.sampled_from(["a", None])))


@given(ROWS.filter(len))
def test_equal_rows_are_shown_once(cells):
    """Whatever the order and the number of copies, the first of equal rows stands for all."""
    X = pd.DataFrame(cells, columns=["number", "text"])
    first = X["number"].fillna(0.3).to_numpy()
    probability = np.column_stack([first, 1 - first])
    rows = Rows(X, probability, np.zeros(len(X), int), whole=True, seen=None)
    shown = shown_rows(rows, np.array(["x", "y"]), None)
    firsts = np.flatnonzero(~X.duplicated())
    lead = np.abs(2 * first - 1)
    uncertain = [row.number for row in shown if row.group == LEAST_CERTAIN]
    assert sorted(uncertain) == firsts[np.isin(firsts, uncertain)].tolist()
    assert len(uncertain) == min(10, len(firsts))
    assert (np.diff(lead[uncertain]) >= 0).all()
    wrong = [row.number for row in shown if row.group == WRONG]
    assert sorted(wrong) == firsts[np.isin(firsts, wrong)].tolist()
    assert len(wrong) == min(5, sum(first[firsts] < 0.5))
