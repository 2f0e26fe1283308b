import gzip
import tracemalloc

import pytest

from ffmlp.tables import text_files
from ffmlp.tables.opening import open_table
from ffmlp.tables.text_files import MOST_COLUMNS

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def rows(path):
    return sum(len(part()) for part in open_table(path).parts(3, {"a": "text"}))


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
