import bz2
import gzip
import lzma
import subprocess
import sys

import pytest
from data_files import columns_and_rows

from ffmlp.tables.opening import open_table

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files(file, suffix, compress):
    content = compress(b"a\tb\n1\t2\n3\t4\n")
    assert columns_and_rows(file(content, f"t.tsv.{suffix}"))[1] == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError, match=rf"c\.tsv\.{suffix} cannot be decompressed"):
        columns_and_rows(file(content[: len(content) // 2], f"c.tsv.{suffix}"))


def test_a_row_of_empty_cells_is_a_row_wherever_it_is(file):
    table = open_table(file(b"a\tb\n\t\n1\tx\n\t\n2\ty\n", "t.tsv"))
    kinds = {"a": "number", "b": "text"}
    sections = [*table.sections(1), table]
    n_rows = [sum(len(part()) for part in section.parts(1, kinds)) for section in sections]
    assert n_rows == [1, 1, 1, 1, 4]


@pytest.fixture
def short_rows(monkeypatch):
    monkeypatch.setattr("ffmlp.tables.text_files.LONGEST_ROW", 100)


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("a,b\n" + "1,2\n" * 50, None, None),
        ("a,b\n1,2\n" + "x" * 99 + "\n", None, "the header has 2 columns"),
        ("a,b\n1,2\n" + "x" * 101 + "\n", "line 3", "longer than 100 characters"),
        ("a,b\n1,2\n" + "x" * 500, "line 3", "longer than 100 characters"),
        ("x" * 200 + ",b\n1,2\n", "line 1", "longer than 100 characters"),
        ('a,b\n1,"2\n' + "x\n" * 40 + '"\n', None, None),
        ('a,b\n1,2\n1,"2\n' + "x\n" * 60 + '"\n', "line 3", "not closed within 100 characters"),
        ('a,"b\n' + "x\n" * 60, "line 1", "not closed within 100 characters"),
    ],
)
def test_rows_are_not_longer_than_memory_allows(short_rows, tmp_path, content, place, problem):
    """Of a compressed file: a few kilobytes may be a line of gigabytes."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(content.encode()))
    kinds = {"a": "number", "b": "text"}

    def rows():
        return sum(len(part()) for part in open_table(path).parts(3, kinds))

    if problem is None:
        assert rows() == content.count("\n1,")
        return
    with pytest.raises(ValueError, match=f"t.csv.gz, {place or 'line 3'}: .*{problem}"):
        rows()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in another unit")
@pytest.mark.parametrize("beginning", ["a,b\n1,", 'a,b\n1,"', ""])
def test_a_long_row_takes_little_memory(tmp_path, beginning):
    path, piece = tmp_path / "t.csv.gz", b"x\n" * 500_000 if '"' in beginning else b"x" * 1_000_000
    with gzip.open(path, "wb", 1) as file:
        file.write(beginning.encode())
        for _ in range(300):
            file.write(piece)
    program = """
import resource, sys
from pathlib import Path
from ffmlp.tables.opening import open_table
import pyarrow.csv
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    [part() for part in open_table(Path(sys.argv[1])).parts(1000, {"a": "number"})]
except ValueError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    arguments = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300


def test_a_damaged_file_that_is_not_text_either_is_one_line(file):
    content = bytearray(gzip.compress("a,b\n1,\xe9\n".encode("latin-1"), mtime=0))
    content[-8] ^= 1  # the checksum
    with pytest.raises(ValueError, match=r"t\.csv\.gz cannot be decompressed"):
        open_table(file(bytes(content), "t.csv.gz"))
