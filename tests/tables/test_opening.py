import bz2
import gzip
import io
import lzma
import os
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
    assert table.location(1, "b").startswith("standard input, ")


PROGRAM = """
import sys
from ffmlp.tables.opening import *
table = open_table(STANDARD_INPUT)
print(table.source, flush=True)
[part() for part in table.parts(9, {"b": "number"})]
"""


def read_as_input(content, folder):
    """The output and the errors of a process that keeps temporary files in a folder."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=content, capture_output=True, env=environment
    )
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("written", [bytes, gzip.compress])
def test_errors_name_standard_input_and_the_copy_is_removed(tmp_path, written):
    copy, errors = read_as_input(written(b"a,b\n1,x\n"), tmp_path)
    assert "standard input, line 2, column 2 ('b'): expected a number, got 'x'." in errors
    assert not Path(copy.strip()).exists()
    assert list(tmp_path.iterdir()) == []


def test_input_that_cannot_be_decompressed_leaves_nothing(tmp_path):
    _, errors = read_as_input(gzip.compress(b"a,b\n1,2\n" * 100)[:-20], tmp_path)
    assert "ValueError: standard input cannot be decompressed: " in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
def test_input_that_does_not_fit_on_the_disk_is_reported(tmp_path, monkeypatch):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))"
    monkeypatch.setattr(sys.modules[__name__], "PROGRAM", limit + PROGRAM)
    _, errors = read_as_input(b"a,b\n1,2\n" * 100, tmp_path)
    message = f"standard input cannot be copied to {tmp_path}: File too large. Name a folder with more"
    assert message in errors
    assert list(tmp_path.iterdir()) == []
