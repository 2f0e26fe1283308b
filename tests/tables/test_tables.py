import pytest

from ffmlp.tables.tables import Dialect, file_type


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t.csv", ".csv"),
        ("t.2024.TSV.gz", ".tsv"),
        ("t.txt.xz", ".txt"),
        ("t.pq", ".parquet"),
        ("t.csv.parquet", ".parquet"),
        ("t.parquet.gz", None),
        ("t.gz", None),
        ("csv", None),
    ],
)
def test_the_end_of_the_name_is_the_type_of_a_file(tmp_path, name, kind):
    if kind is None:
        with pytest.raises(ValueError, match="unknown file type"):
            file_type(tmp_path / name)
    else:
        assert file_type(tmp_path / name) == kind


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("-2.5e1", ".", -25.0),
        (" 7 ", ".", 7.0),
        ("1,5", ",", 1.5),
        ("1.5", ",", None),
        ("1,5", ".", None),
        ("1_000", ".", None),
        ("many", ".", None),
    ],
)
def test_a_cell_is_a_number_in_its_dialect(cell, decimal, number):
    dialect = Dialect(decimal=decimal)
    assert dialect.is_number(cell) == (number is not None)
    if number is None:
        with pytest.raises(ValueError):
            dialect.number(cell)
    else:
        assert dialect.number(cell) == number


@pytest.mark.parametrize(
    ("cell", "decimal", "remedy"),
    [
        ("1,000", ".", "Remove the thousands separators. For decimal commas, add --decimal ','."),
        ("1.000", ",", "Remove the thousands separators."),
        ("1,5", ".", "For decimal commas, add --decimal ','."),
        ("many", ".", "If it stands for a missing value, add --missing 'many'."),
    ],
)
def test_the_remedy_fits_the_cell(cell, decimal, remedy):
    assert Dialect(decimal=decimal).remedy(cell) == remedy
