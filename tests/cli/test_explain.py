import json

import numpy as np
import pytest
from commands import refused

from ffmlp.cli import main
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
    pytest.importorskip(package)


def test_explain_prints_the_page_of_a_row(iris, here, capsys):
    files = [str(iris / "iris.model"), str(iris / "iris.csv")]
    assert main(["explain", *files, "--row", "71", "1"]) == 0
    out = capsys.readouterr().out
    model = TableModel.load(iris / "iris.model")
    frame = pd.read_csv(iris / "iris.csv")[model.features]
    pages = model.classifier.explain(frame.iloc[[70, 0]])
    assert out == "\n".join(
        f"Row {row} of {files[1]}\n\n{page}\n" for row, page in zip((71, 1), pages, strict=True)
    )
    assert main(["explain", *files, "--row", "71", "--counterfactual", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["row"] == 71
    assert row["label"] != row["counterfactual"]["label"]
    error = refused(capsys, "explain", *files, "--row", "151")
    assert "iris.csv has 150 rows, so there is no row 151." in error
    assert "--row counts from 1, got 0." in refused(capsys, "explain", *files, "--row", "0")


def test_explain_says_what_is_used_instead_of_cells(here, capsys):
    rng = np.random.default_rng(0)
    towns = [f"town {number}" for number in np.minimum(rng.geometric(0.06, 300), 60)]
    colours = np.where(np.arange(300) % 9, np.where(np.arange(300) % 2, "red", "green"), "")
    frame = pd.DataFrame({"age": np.arange(300.0), "town": towns, "size": "s", "colour": colours})
    frame.loc[1::2, "size"] = "l"
    frame["class"] = np.where(frame["age"] + 100 * (frame["size"] == "s") > 150, "yes", "no")
    frame.to_csv("t.csv", index=False)
    arguments = ["--target", "class", "--design", "blob", "--categorical", "town", "--quiet"]
    assert main(["fit", "t.csv", "-o", "t.model", *arguments]) == 0
    (here / "new.csv").write_text("age,town,size,colour\n,nowhere,,\n3,town 1,s,red\n4,,huge,green\n")
    assert main(["explain", "t.model", "new.csv", "--row", "1", "2"]) == 0
    first, second = capsys.readouterr().out.split("Row 2 of new.csv\n\n")
    assert first.startswith(
        "Row 1 of new.csv\n\n"
        "age is missing: 149 is used, the median.\n"
        "town is 'nowhere', which the model has not seen: the class shares of all training rows are "
        "used.\n"
        "size is missing: the class shares of all training rows are used.\n\nClass "
    )
    assert second.startswith("Class ")
    assert main(["explain", "t.model", "new.csv", "--row", "3", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["substitutes"] == [
        {"column": "town", "cell": None, "used": None, "average": ""},
        {"column": "size", "cell": "huge", "used": None, "average": ""},
    ]
    age = {"column": "age", "cell": None, "used": 149.0, "average": "median"}
    assert rows[1]["substitutes"][0] == age


def test_a_counterfactual_changes_numbers_only(here, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=100), "colour": rng.choice(["red", "blue"], 100)})
    frame["y"] = np.where((frame["x"] > 0) & (frame["colour"] == "red"), "a", "b")
    frame.to_csv("t.csv", index=False)
    row = str(1 + int(np.flatnonzero(frame["y"] == "a")[0]))
    assert main(["fit", "t.csv", "--target", "y", "-o", "t.model", "--quiet"]) == 0
    assert main(["explain", "t.model", "t.csv", "--row", row, "--counterfactual", "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["rows"][0]["counterfactual"]["changes"]
    assert [name for name, *_ in changes] == ["x"]
    frame[["colour", "y"]].to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "y", "-o", "t.model", "--quiet", "--force"]) == 0
    error = refused(capsys, "explain", "t.model", "t.csv", "--row", "1", "--counterfactual")
    assert "--counterfactual needs numeric features, and the model has none" in error


def test_a_missing_number_is_its_mean_given_the_other_columns(iris, here, capsys):
    (here / "new.csv").write_text(
        "sepal length,sepal width,petal length,petal width,size\n5.1,3.5,1.4,,small\n"
    )
    assert main(["explain", str(iris / "iris.model"), "new.csv", "--row", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    (width,) = row["substitutes"]
    assert (width["column"], width["average"]) == ("petal width", "mean given the other columns")
    assert 0.1 <= width["used"] < 0.5  # as narrow as those of other setosas
    assert main(["explain", str(iris / "iris.model"), "new.csv", "--row", "1"]) == 0
    said = f"petal width is missing: {width['used']:.4g} is used, the mean given the other columns."
    assert said in capsys.readouterr().out
