import datetime
from pathlib import Path

import numpy as np
import pytest
from commands import refused
from hypothesis import given
from hypothesis import strategies as st

from ffmlp.cli import main
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import NUMBER, LocatedError
from ffmlp.tabular.dates import DMY, MDY, PARTS, YMD, DateError, derived, parsed, with_dates
from ffmlp.tabular.predictor import read_predictor

WRITTEN = {
    YMD: ["%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S+01:00"],
    DMY: ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%d-%m-%Y %I:%M:%S %p"],
    MDY: ["%m/%d/%Y", "%m/%d/%Y %I:%M %p", "%m-%d-%Y"],
}
FORMATS = [(order, written) for order, formats in WRITTEN.items() for written in formats]


@given(
    st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 12, 31)),
    st.sampled_from(FORMATS),
    st.sampled_from([DMY, MDY]),
)
def test_dates_are_read_as_they_were_written(moment, written, other):
    order, form = written
    text = moment.strftime(form)
    moment = datetime.datetime.strptime(text, form)  # without what the format leaves out
    expected = (
        moment.year,
        moment.month,
        moment.isoweekday(),
        moment.timetuple().tm_yday,
        moment.hour + moment.minute / 60 + moment.second / 3600,
    )
    assert parsed(text, order) == expected
    if order == YMD:
        assert parsed(text, other) == expected  # the year comes first in any order


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "2023-02-29", "31.04.2024", "0000-01-01", "2024-1", "1.2.24", "2024-01-31x",
        "2024-01/31", "24:00", "2024-01-31 24:00", "2024-01-31 10:60", "31.01.2024 13:00 PM",
        "12024-01-01", "\u0661.1.2024", "",
    ],
)  # fmt: skip
def test_other_texts_are_no_dates(text):
    assert parsed(text, DMY) is None


def test_noon_and_midnight():
    hours = [
        parsed(f"2024-01-31 {text}", YMD)[4] for text in ("12:00 AM", "12:30 pm", "1:00 PM", "0:15")
    ]
    assert hours == [0, 12.5, 13, 0.25]


def test_missing_cells_have_no_parts():
    found = derived(IndexedColumn(np.array([1, -1, 0]), ["2024-12-31", "2023-01-02 06:00"]), YMD)
    assert found.shape == (3, len(PARTS))
    np.testing.assert_array_equal(found, [[2023, 1, 1, 2, 6], [np.nan] * 5, [2024, 12, 2, 366, 0]])
    assert derived(IndexedColumn(np.array([-1, -1]), []), YMD).shape == (2, len(PARTS))
    with pytest.raises(DateError, match="'soon' is not a date"):
        derived(IndexedColumn(np.array([0]), ["soon"]), YMD)


@pytest.fixture(scope="module")
def dated(tmp_path_factory):
    """A folder with a table whose class depends on the month and on the time, and a model of it."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("tqdm")
    folder = tmp_path_factory.mktemp("dated")
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 24, 400), "h")
    frame = pd.DataFrame({"x": rng.normal(size=400), "when": moments, "c": rng.choice(["u", "v"], 400)})
    frame["y"] = np.where(frame["when"].dt.month < 6, "early", np.where(moments.hour > 12, "pm", "am"))
    frame.loc[5, "when"] = pd.NaT
    frame.to_csv(folder / "t.csv", index=False, date_format="%d.%m.%Y %H:%M")
    arguments = ["--target", "y", "--design", "blob", "-o", str(folder / "t.model"), "--quiet"]
    assert main(["fit", str(folder / "t.csv"), *arguments]) == 0
    return folder, frame


def test_a_model_of_dates_predicts_alike_from_csv_and_parquet(dated, here):
    pytest.importorskip("pyarrow")
    folder, frame = dated
    frame.to_parquet("t.parquet")
    outputs = []
    for source in (folder / "t.csv", "t.parquet"):
        command = ["predict", str(folder / "t.model"), str(source), "-o", "o.csv", "--force", "--proba"]
        assert main([*command, "--block-rows", "64"]) == 0
        outputs.append((here / "o.csv").read_text())
    assert outputs[0] == outputs[1]
    predicted = [line.split(",")[0] for line in outputs[0].splitlines()[1:]]
    assert np.mean(np.array(predicted) == frame["y"]) > 0.8


@pytest.mark.parametrize("command", [["predict", "-o", "o.csv"], ["explain", "--row", "1"]])
def test_a_cell_that_is_not_a_date_is_reported_with_its_place(dated, here, capsys, command):
    (here / "new.csv").write_text("x,when,c\n1,31.01.2024,u\n2,,v\n3,02/30/2024,u\n")
    name, *options = command
    assert refused(capsys, name, dated[0] / "t.model", "new.csv", *options) == (
        "ffmlp: new.csv, line 4, column 2 ('when'): expected a date such as 31.01.2024, got '02/30/"
        "2024'. If it stands for a missing value, add --missing '02/30/2024'."
    )
    assert not (here / "o.csv").exists()


def test_a_missing_column_of_dates_is_reported_by_its_own_name(dated, here, capsys):
    (here / "new.csv").write_text("x,When,c\n1,31.01.2024,u\n")
    assert refused(capsys, "predict", dated[0] / "t.model", "new.csv", "-o", "o.csv") == (
        "ffmlp: new.csv lacks column 'when' of the model. Did you mean 'When' for 'when'? It has 'x', "
        "'When', 'c'."
    )


def test_other_commands_take_dates(dated, here, capsys):
    pytest.importorskip("matplotlib")
    folder, _ = dated
    files = [str(folder / "t.model"), str(folder / "t.csv")]
    assert main(["explain", *files, "--row", "3"]) == 0
    assert main(["report", *files, "-o", "r.html"]) == 0
    assert "when (month)" in (here / "r.html").read_text(encoding="utf-8")
    assert main(["inspect", files[0]]) == 0
    assert "when (hour)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_the_place_of_a_cell_in_a_section_is_that_in_the_file(dated, here, name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": 1.0, "when": [*["31.01.2024"] * 9, "soon"], "c": "u"})
    if name == "new.csv":
        frame.to_csv(name, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(name, row_group_size=4)
    dates = read_predictor(dated[0] / "t.model").dates
    kinds = dict.fromkeys(dates[0].names, NUMBER)
    *_, last = open_table(Path(name)).sections(4)
    place = "line 11" if name == "new.csv" else "row 10"
    with pytest.raises(LocatedError, match=rf"{name}, {place}, column 2 \('when'\): expected a date"):
        list(with_dates(last, dates).blocks(10, kinds))
