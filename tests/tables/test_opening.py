import pytest

from ffmlp.tables.opening import open_table

pytest.importorskip("pyarrow")


def test_other_files_are_refused(file, tmp_path):
    with pytest.raises(ValueError, match=r"t\.xlsx: unknown file type\. Use \.csv, \.tsv"):
        open_table(file(b"x", "t.xlsx"))
    with pytest.raises(ValueError, match=r"gone\.csv does not exist\."):
        open_table(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"folder\.csv is a folder\."):
        open_table(tmp_path / "folder.csv")
