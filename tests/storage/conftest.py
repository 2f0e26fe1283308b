import pytest
from problems import DESIGNS, designed, mixed_table


@pytest.fixture(scope="module")
def models():
    """A classifier of a table for each design."""
    X, y = mixed_table()
    return {design: designed(design, X[["age", "fare", "sex", "town"]], y) for design in DESIGNS}
