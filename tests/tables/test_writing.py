import csv
import gzip

import numpy as np
import pytest

from ffmlp.tables.writing import Output, Predictions, decimals, prediction_writer, renderer

pa = pytest.importorskip("pyarrow")
NAMES = ["id", "class", "p,0", "p1"]
LABELS = np.array(["yes", 'a "b"', "c,d\te"])
BLOCK = Predictions(
    (pa.array(["x", None, "1,5\n"]),), np.array([0, 1, 2]), LABELS, np.array([[0.25, 0.75]] * 3)
)


def write(path, *blocks, **options):
    output = Output(path, **options)
    render = renderer(output, NAMES)
    with prediction_writer(output, NAMES) as write_block:
        for block in blocks:
            write_block(render(block))


def test_decimals_are_those_of_plain_formatting():
    values = np.concatenate([np.random.default_rng(0).random(500), [0, 1, 0.5, 1e-7, 4e-7, 0.9999999]])
    rows = values.reshape(-1, 2)
    assert decimals(rows, ";") == [f";{one:.6f};{two:.6f}".encode() for one, two in rows]


@pytest.mark.parametrize(("name", "delimiter"), [("o.csv", ","), ("o.tsv", "\t"), ("o.txt.gz", ",")])
def test_text_files_are_read_as_they_were_written(tmp_path, name, delimiter):
    path = tmp_path / name
    write(path, BLOCK, BLOCK)
    content = path.read_bytes()
    text = (gzip.decompress(content) if name.endswith("gz") else content).decode()
    header, *rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    assert header == NAMES
    assert [row[:2] for row in rows] == [["x", "yes"], ["", LABELS[1]], ["1,5\n", LABELS[2]]] * 2
    assert all(row[2:] == ["0.250000", "0.750000"] for row in rows)


def test_parquet_files_have_all_digits_and_missing_ids(tmp_path):
    pd = pytest.importorskip("pandas")
    write(tmp_path / "o.parquet", BLOCK, BLOCK)
    frame = pd.read_parquet(tmp_path / "o.parquet")
    assert frame["id"].isna().tolist() == [False, True, False] * 2
    assert frame["class"].tolist() == LABELS.tolist() * 2
    assert frame["p,0"].tolist() == [0.25] * 6


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_an_error_leaves_no_file(tmp_path, name):
    output = Output(tmp_path / name)

    def interrupted():
        write_block(renderer(output, NAMES)(BLOCK))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), prediction_writer(output, NAMES) as write_block:
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_other_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"o\.xlsx: unknown file type"):
        write(tmp_path / "o.xlsx", BLOCK)
    assert list(tmp_path.iterdir()) == []


def test_formulas_are_escaped_on_demand(tmp_path):
    cells = ["=HYPERLINK(0)", "+1+1", "@x", "-1.5", "+2e3", "-x", "\tx", "x=1", "", None, "\r=1"]
    cells += ["＝1", "＋1+1", "－x", "＠x", "\ufeff=1", "\ufeff＝1", "\ufeffx"]
    labels = np.array(["=1", "no"])
    block = Predictions((pa.array(cells),), np.arange(len(cells)) % 2, labels, None)
    plain, escaped = tmp_path / "plain.csv", tmp_path / "escaped.csv"
    write(plain, block)
    write(escaped, block, escape_formulas=True)
    rows = [list(csv.reader(path.open(newline="")))[1:] for path in (plain, escaped)]
    texts = [cell or "" for cell in cells]
    assert rows[0] == [[text, labels[row % 2]] for row, text in enumerate(texts)]
    formulas = {"=HYPERLINK(0)", "+1+1", "@x", "-x", "\tx", "\r=1", *cells[-7:-1]}
    assert rows[1] == [
        [f"'{text}" if text in formulas else text, ["'=1", "no"][row % 2]]
        for row, text in enumerate(texts)
    ]
