import bz2
import gzip
import lzma
import subprocess
import sys
import tracemalloc

import pytest
from data_files import columns_and_rows

from ffmlp.tables import text_files
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import Dialect
from ffmlp.tables.text_files import MOST_COLUMNS

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def rows(path):
    return sum(len(part()) for part in open_table(path).parts(3, {"a": "text"}))


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
    if problem is None:
        assert rows(path) == content.count("\n1,")
        return
    with pytest.raises(ValueError, match=f"t.csv.gz, {place or 'line 3'}: .*{problem}"):
        rows(path)


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


def written(encoding):
    return "größe,b\n1,2\n3,4\n".encode(encoding)


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (written("utf-16"), "utf-8", "line 1: not valid utf-8. The file is UTF-16: add --encoding utf"),
        (written("utf-32"), "utf-8", "line 1: not valid utf-8. The file is UTF-32: add --encoding utf"),
        (written("utf-16-le"), "utf-8", "The file may be UTF-16: add --encoding utf-16-le."),
        (b"\0a\0,\0b\0\n\0001\0,\0002", "utf-8", "The file may be UTF-16: add --encoding utf-16-be."),
        (written("utf-16-le"), "utf-16", "line 1: not valid utf-16. The file may be UTF-16: add"),
        (written("utf-8"), "utf-16", "line 1: not valid utf-16. Give another --encoding, or none if"),
        (written("utf-16")[:-1], "utf-16", "line 3: not valid utf-16. Give another --encoding"),
        (written("utf-16") + b"\x00\xd8\n\0\n\0", "utf-16", "line 4: not valid utf-16. Give another"),
        (written("utf-8") * 9000 + b"\xff\n", "utf-8", "line 27001: not valid utf-8. Save the file as"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "utf-8", "The file is compressed: its name must end"),
        (b"PK\x03\x04\x14\0\0\0[Content", "utf-8", "The file is a spreadsheet or a zip archive: save"),
        (b"a\0b,c\n1,2\n", "utf-8", "line 1: contains zero bytes. The file is not text, or not in utf"),
    ],
)  # fmt: skip
def test_files_in_another_encoding_are_reported_with_a_remedy(file, content, encoding, message):
    path = file(content)
    with pytest.raises(ValueError) as error:
        columns_and_rows(path, dialect=Dialect(encoding=encoding))
    assert str(error.value).startswith(f"{path}, line ")
    assert message in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_can_be_read(file, encoding):
    assert columns_and_rows(file(written(encoding)), dialect=Dialect(encoding=encoding))[1] == {
        "größe": [1, 3], "b": [2, 4]
    }  # fmt: skip


def test_decimal_commas_in_another_encoding(file):
    path = file("größe;b\n1,5;x\n2,5;y\n".encode("latin-1"))
    columns, rows = columns_and_rows(path, dialect=Dialect(decimal=",", encoding="latin-1"))
    assert columns.numbers == ("größe",)
    assert rows["größe"] == [1.5, 2.5]


@pytest.mark.parametrize("cell", [",", ',""', ", x", '\t"y"'])
def test_a_header_of_millions_of_columns_is_refused_before_its_cells_are_made(file, cell):
    delimiter, n_cells = cell[0], 3 * MOST_COLUMNS
    header = delimiter.join("abc") + n_cells * cell
    path = file(gzip.compress(f"{header}\n1,2,u\n".encode()), "t.csv.gz")
    tracemalloc.start()
    with pytest.raises(
        ValueError, match=r"t\.csv\.gz, line 1: at least \d+ columns, .* 100000"
    ) as error:
        open_table(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    n_columns = int(str(error.value).split("at least ")[1].split()[0])
    assert n_columns == (MOST_COLUMNS + 1 if '"' in cell else n_cells + 3)
    assert peak < 25 * len(header) + 2**20


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a,b\n1,2\n3,4" + ",x" * 100, 3),
        ('a,b\n1,2\n"\n",4' + ",x" * 100, 3),
        ('a,b\n1,2\n3,"\n' + ('",x' + ',"\n') * 60 + '"', 3),
        ("a,b" + ",c" * 100 + "\n1,2\n", 1),
        ('a,b\n1,"' + ",x" * 100 + '"\n', None),
        ('a,b\n1,"' + ",x\n" * 100 + '"\n', None),
        ('a,"b' + "," * 100 + '"\n1,2\n', None),
    ],
)
def test_columns_are_counted_outside_of_quotes(file, content, line, monkeypatch):
    monkeypatch.setattr(text_files, "MOST_COLUMNS", 100)
    if line is None:
        assert rows(file(content.encode())) == 1
        return
    with pytest.raises(ValueError, match=rf"t\.csv, line {line}: at least 10\d columns, .* most 100\. "):
        rows(file(content.encode()))


@pytest.mark.parametrize("blank", ["\r", "\n", " \r\n", "\t\r"])
@pytest.mark.parametrize(
    ("before", "line"), [("", 1), ("a,b\n", 2), ("a,b\n1,2\n", 3), ("a,b\r\n\r\n3,4\n", 4)]
)
def test_many_blank_lines_are_refused_with_the_first(file, monkeypatch, blank, before, line):
    """Nothing else is wrong with most of them, but to skip millions of them takes minutes."""
    monkeypatch.setattr(text_files, "_MOST_BLANK", 1000)
    path = file((before + blank * 1001 + "x\n").encode())  # the last line is wrong
    message = rf"t\.csv, line {line}: more than 1000 characters of blank lines begin here"
    with pytest.raises(ValueError, match=message):
        rows(path)
    between = before + blank * (900 // len(blank))
    assert rows(file((between + "a,b\n" + blank * (900 // len(blank)) + "3,4\n").encode())) > 0


def test_lines_without_a_line_feed_are_too_long_together(file, monkeypatch):
    monkeypatch.setattr("ffmlp.tables.text_files.LONGEST_ROW", 100)
    path = file(b"a,b\n1,2\n" + b"3,4\r" * 40)
    with pytest.raises(ValueError, match=r"t\.csv, line 3: longer than 100 bytes.* a line feed\."):
        rows(path)
