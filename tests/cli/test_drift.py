import json
from pathlib import Path

import pytest
from commands import refused

from ffmlp.cli import main

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("name", "start"), [("d.html", b"<!doctype html>"), ("d.png", b"\x89PNG"), ("d.svg", b"<?xml")]
)
def test_two_files_are_compared(trained, here, capsys, name, start):
    model, frame = trained
    frame[::2].to_csv("before.csv", index=False)
    frame[1::2].assign(c=9.0).to_parquet("after.parquet")
    arguments = ["drift", str(model), "before.csv", "after.parquet", "-o", name]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        f"{name}: 100.0% of the samples would have to move to another blob; by chance"
    )
    assert said.endswith("100.0% after.\n")
    assert Path(name).read_bytes().startswith(start)
    assert main([*arguments, "--force", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == [75, 75]
    assert found["p_value"] == 0.001
    assert found["unfamiliar"][1] == 1.0
    assert sum(blob["before"] for blob in found["blobs"]) + found["unfamiliar"][0] == pytest.approx(1.0)


def test_mistakes(trained, here, capsys):
    model, frame = trained
    frame.to_csv("rows.csv", index=False)
    frame[:0].to_csv("none.csv", index=False)
    frame.drop(columns="c").to_csv("lacks.csv", index=False)
    for names, message in {
        ("none.csv", "d.html"): "none.csv has a header but no rows.",
        ("lacks.csv", "d.html"): "lacks.csv lacks column 'c' of the model.",
        ("rows.csv", "d.txt"): "d.txt: the file name must end with .html or .png or .svg.",
    }.items():
        after, output = names
        assert message in refused(capsys, "drift", model, "rows.csv", after, "-o", output)
    assert not list(here.glob("d.*"))
