import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.tables import Dialect
from ffmlp.tabular import table_columns
from ffmlp.tabular.table_columns import Tallies

CELLS = st.sampled_from(
    ["1", "2.5", "1,5", "12,345", "red", "Red", "2024-01-31", "3/4/2024", "39 mm", None]
)


def texts(cells):
    distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
    return IndexedColumn(
        np.array([distinct.index(cell) if cell is not None else -1 for cell in cells]), distinct
    )


def of_cells(numbers, cells):
    return Tallies.of({"n": np.array(numbers, float), "t": texts(cells)}, Dialect())


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 4.5, np.nan]), CELLS), min_size=2, max_size=30),
    st.data(),
)
def test_tallies_of_blocks_add_up_to_those_of_all_rows(rows, data):
    numbers, cells = zip(*rows, strict=True)
    cut = data.draw(st.integers(1, len(rows) - 1))
    later = data.draw(st.integers(cut, len(rows)))
    parts = [slice(0, cut), slice(cut, later), slice(later, None)]
    first, second, third = (of_cells(numbers[part], cells[part]) for part in parts)
    whole = of_cells(numbers, cells)
    assert first + second + third == whole
    assert first + (second + third) == whole


@pytest.mark.parametrize("many_first", [False, True])
def test_too_many_distinct_values_are_not_kept(monkeypatch, many_first):
    monkeypatch.setattr(table_columns, "_MAX_DISTINCT", 5)
    few, many = of_cells([1, 2], ["a", "b"]), of_cells(range(9), [f"text {row}" for row in range(9)])
    both = many + few if many_first else few + many
    assert both.n_rows == 11
    assert both.columns["n"].distinct == frozenset()
    assert len(both.columns["t"].distinct) == 5
    for tally in both.columns.values():
        assert (tally.n_distinct, tally.n_compared) == (9, 9)
