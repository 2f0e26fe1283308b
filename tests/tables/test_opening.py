import bz2
import gzip
import io
import lzma
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from data_files import rows_of_parts

from ffmlp.tables.opening import STANDARD_INPUT, open_table

pytest.importorskip("pyarrow")


def test_other_files_are_refused(file, tmp_path):
    with pytest.raises(ValueError, match=r"t\.xlsx: unknown file type\. Use \.csv, \.tsv"):
        open_table(file(b"x", "t.xlsx"))
    with pytest.raises(ValueError, match=r"gone\.csv does not exist\."):
        open_table(tmp_path / "gone.csv")
    for name in ("folder.csv", "folder"):
        (tmp_path / name).mkdir()
        with pytest.raises(ValueError, match=f"{name} is a folder. Give the name of a file"):
            open_table(tmp_path / name)


def parquet(content):
    table = pytest.importorskip("pyarrow.csv").read_csv(io.BytesIO(content))
    file = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize("written", [bytes, gzip.compress, bz2.compress, lzma.compress, parquet])
def test_the_first_bytes_of_standard_input_are_its_type(monkeypatch, written):
    pytest.importorskip("pandas")
    content = written(b"a,b\n1,x\n2,y\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    table = open_table(STANDARD_INPUT)
    assert str(table.path) == "standard input"
    for _ in range(2):  # it can be read twice
        rows = rows_of_parts(table, 10, {"a": "number"}, ["b"])
        assert rows.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    assert table.place(1, "b").startswith("standard input, ")


def test_errors_name_standard_input_and_the_copy_is_removed(tmp_path):
    program = (
        "import sys; from ffmlp.tables.opening import *; table = open_table(STANDARD_INPUT); "
        "print(table.source); [part() for part in table.parts(9, {'b': 'number'})]"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"a,b\n1,x\n", capture_output=True, cwd=tmp_path
    )
    assert b"standard input, line 2, column 2 ('b'): expected a number, got 'x'." in done.stderr
    copy = Path(done.stdout.decode().strip())
    assert copy.name.startswith("ffmlp-")
    assert not copy.exists()
