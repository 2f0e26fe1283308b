import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ffmlp
from ffmlp.cli import COMMANDS, main
from ffmlp.reports.assessment import Importance, Movers, Reliability, Rows, confusion, read_rows
from ffmlp.tables.tables import open_table
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
pytest.importorskip("tqdm")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """A folder with a table of Iris with a category and some missing cells, and a model of it."""
    folder = tmp_path_factory.mktemp("iris")
    data = load_iris(as_frame=True)
    frame = data.data.set_axis(["sepal length", "sepal width", "petal length", "petal width"], axis=1)
    frame["size"] = np.where(frame["sepal length"] > 5.8, "large & <wide>", "small")
    frame["species"] = data.target_names[data.target]
    frame.loc[[3, 77], "petal width"] = np.nan
    frame.to_csv(folder / "iris.csv", index=False)
    arguments = ["--target", "species", "--design", "blob", "-o", str(folder / "iris.model"), "--quiet"]
    assert main(["fit", str(folder / "iris.csv"), *arguments]) == 0
    return folder


@pytest.fixture
def here(iris, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class _Page(HTMLParser):
    """Whatever a browser would fetch, and which elements are left open."""

    def __init__(self):
        super().__init__()
        self.fetched, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.fetched += [
            value for name, value in attributes if name in ("src", "href", "srcset", "data")
        ]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


SECTIONS = [
    "The data", "What was designed, and why", "What the neurons stand for",
    "Right and wrong predictions", "Are the probabilities right?", "Which columns matter",
    "The least certain rows",
]  # fmt: skip


def test_report_is_one_page_that_fetches_nothing(iris, here, capsys):
    pytest.importorskip("matplotlib")
    files = [str(iris / "iris.model"), str(iris / "iris.csv")]
    assert main(["report", *files, "-o", "r.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 150
    text = (here / "r.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert all(link.startswith(("#part-", "data:image/png;base64,")) for link in page.fetched)
    assert not re.search(r"@import|url\(|<script|<link", text)
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Contents", *SECTIONS]
    assert text.count("<img") == 5
    assert text.count("<details>") == 12  # two on the design, ten on rows
    assert "large &amp; &lt;wide&gt;" in text
    assert "it may know these rows" in text
    assert main(["report", *files, "-o", "r.html"]) == 2
    assert "r.html is there already" in capsys.readouterr().err
    assert main(["report", *files, "-o", "r.pdf"]) == 2
    assert "r.pdf: the name of a page must end with .html or .htm." in capsys.readouterr().err


def test_report_without_the_truth_says_so(iris, here):
    pytest.importorskip("matplotlib")
    pd.read_csv(iris / "iris.csv").drop(columns="species").to_csv("new.csv", index=False)
    assert main(["report", str(iris / "iris.model"), "new.csv", "-o", "r.html"]) == 0
    text = (here / "r.html").read_text(encoding="utf-8")
    shown = [title for title in SECTIONS if title not in (SECTIONS[3], SECTIONS[4])]
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Contents", *shown]
    assert "It has no &#x27;species&#x27; that the model knows" in text
    (here / "empty.csv").write_text("sepal length,sepal width,petal length,petal width,size\n")
    assert main(["report", str(iris / "iris.model"), "empty.csv", "-o", "s.html"]) == 2
    assert not (here / "s.html").exists()


def test_report_and_inspect_of_a_model_without_a_table(here, capsys):
    pytest.importorskip("matplotlib")
    data = load_iris(as_frame=True)
    clf = ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(data.data, data.target)
    ffmlp.save(clf, "m.model", {"file": 3, "evaluation": "good", "table": "none"})
    data.data.assign(**{"class": data.target}).to_csv("iris.csv", index=False)
    assert main(["report", "m.model", "iris.csv", "-o", "r.html"]) == 0
    assert "m.model predicts class (0, 1, 2) from 4 columns." in (here / "r.html").read_text("utf-8")
    capsys.readouterr()
    assert main(["inspect", "m.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["evaluation"] == "good"
    assert main(["inspect", "m.model"]) == 0
    assert "made from" not in capsys.readouterr().out


def test_report_of_rows_without_numbers(iris, here):
    pytest.importorskip("matplotlib")
    (here / "new.csv").write_text("sepal length,sepal width,petal length,petal width,size\n,,,,small\n")
    assert main(["report", str(iris / "iris.model"), "new.csv", "-o", "r.html", "--quiet"]) == 0
    assert "<h2>Which columns matter" in (here / "r.html").read_text(encoding="utf-8")
    assert "Decision view" not in (here / "r.html").read_text(encoding="utf-8")


def test_assessment_against_plain_counting(iris):
    model = TableModel.load(iris / "iris.model")
    rows = read_rows(model, open_table(iris / "iris.csv"))
    predicted = [model.classifier.classes_[number] for number in rows.predicted]
    truth = pd.read_csv(iris / "iris.csv")["species"].tolist()
    counts = confusion(rows)
    for i, true_class in enumerate(model.classifier.classes_):
        for j, said in enumerate(model.classifier.classes_):
            pairs = zip(truth, predicted, strict=True)
            assert counts[i, j] == sum(pair == (true_class, said) for pair in pairs)
    importance = Importance.of(model, rows)
    assert set(importance.columns[:2]) == {"petal length", "petal width"}
    assert (np.diff(importance.losses) <= 0).all()
    movers = Movers.of(model, rows)
    assert movers.effects.shape == (len(model.classifier.hyperplanes_), 6)
    assert (np.diff(movers.moves[movers.order]) <= 0).all()


def test_reliability_of_known_bins():
    top = np.array([0.55, 0.55, 0.95, 0.95, 0.95, 0.6])
    truth = np.array([0, 1, 0, 0, 1, -1])
    rows = Rows(pd.DataFrame({"x": top}), np.column_stack([top, 1 - top]), truth, True)
    found = Reliability.of(rows)
    np.testing.assert_allclose(found.confidence, [0.55, 0.95])
    np.testing.assert_allclose(found.accuracy, [1 / 2, 2 / 3])
    assert found.counts.tolist() == [2, 3]
    assert found.error == pytest.approx((2 * 0.05 + 3 * (0.95 - 2 / 3)) / 5)


def test_explain_prints_the_page_of_a_row(iris, here, capsys):
    files = [str(iris / "iris.model"), str(iris / "iris.csv")]
    assert main(["explain", *files, "--row", "71", "1"]) == 0
    out = capsys.readouterr().out
    model = TableModel.load(iris / "iris.model")
    frame = pd.read_csv(iris / "iris.csv")[model.features]
    pages = model.classifier.explain(model.inputs(frame.iloc[[70, 0]]))
    assert out == "\n".join(
        f"Row {row} of {files[1]}\n\n{page}\n" for row, page in zip((71, 1), pages, strict=True)
    )
    assert main(["explain", *files, "--row", "71", "--counterfactual", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["row"] == 71
    assert row["label"] != row["counterfactual"]["label"]
    assert main(["explain", *files, "--row", "151"]) == 2
    assert "iris.csv has 150 rows, there is no row 151." in capsys.readouterr().err
    assert main(["explain", *files, "--row", "0"]) == 2
    assert "--row counts from 1, got 0." in capsys.readouterr().err


def test_explain_and_report_tell_what_was_taken_for_cells(here, capsys):
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
        "age was missing; the median 149.5 was taken.\n"
        "town was 'nowhere', which the model does not know; it counts as a rare category.\n"
        "size was missing; it counts as none of its categories.\n"
        "colour was missing, which counts as a category of its own.\n\nClass "
    )
    assert second.startswith("Class ")
    assert main(["explain", "t.model", "new.csv", "--row", "3", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["substitutes"] == [
        {"column": "town", "cell": None, "taken": "rare"},
        {"column": "size", "cell": "huge", "taken": None},
    ]
    assert rows[1]["substitutes"][0] == {"column": "age", "cell": None, "taken": 149.5}
    pytest.importorskip("matplotlib")
    assert main(["report", "t.model", "new.csv", "-o", "r.html", "--quiet"]) == 0
    page = (here / "r.html").read_text(encoding="utf-8")
    assert "<pre>age was missing; the median 149.5 was taken.\ntown was" in page


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
    assert main(["explain", "t.model", "t.csv", "--row", "1", "--counterfactual"]) == 2
    assert "--counterfactual changes numbers, and the model has none" in capsys.readouterr().err


def test_inspect_tells_what_a_model_is(iris, capsys):
    path = iris / "iris.model"
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "target:     species" in out
    assert "classes:    setosa (50 rows), versicolor (50 rows), virginica (50 rows)" in out
    assert "numbers:    sepal length, sepal width, petal length, petal width" in out
    assert "categories: size" in out
    assert out.rstrip().endswith(str(ffmlp.load(path)[-1].selection_))
    assert main(["inspect", str(path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["layers"] == list(ffmlp.load(path)[-1].network_.layer_sizes)
    assert values["labels"] == ["setosa", "versicolor", "virginica"]
    assert len(values["tried"]) == len(ffmlp.load(path)[-1].selection_.plans)


def test_help_shows_every_command_with_an_example_and_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    assert done.value.code == 0
    page = capsys.readouterr().out
    for modules in COMMANDS.values():
        for name, module in modules.items():
            assert f"  {name} " in page
            assert f"$ ffmlp {name} " in page
            with pytest.raises(SystemExit):
                main([name, "--help"])
            assert module.EXAMPLE in " ".join(capsys.readouterr().out.split())
    assert all(code in page for code in ("  0    ", "  2    ", "  130  "))
    assert max(map(len, page.splitlines())) <= 90


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND must be given. See ffmlp --help."),
        (["mars"], "there is no command 'mars'. See ffmlp --help."),
        (["fit"], "DATA, --target, -o/--output must be given. See ffmlp fit --help."),
        (["predict", "m"], "DATA, -o/--output must be given. See ffmlp predict --help."),
        (["fit", "t.csv", "--taget", "y", "-o", "m"], "there is no option '--taget' (is it --target?)."),
        (["inspect", "m", "--row=3"], "there is no option '--row'. See ffmlp inspect --help."),
        (["inspect", "m", "-z"], "there is no option '-z'. See ffmlp inspect --help."),
        (["inspect", "m", "n"], "'n' is too much. See ffmlp inspect --help."),
        (["export", "m", "--to", "xml", "-o", "x"], "--to must be one of onnx, torch, text, got xml."),
        (["fit", "t.csv", "--cv", "many"], "--cv must be a whole number, got many."),
        (["fit", "t.csv", "--test-size", "few"], "--test-size must be a number, got few."),
        (
            ["fit", "t.csv", "--n-components", "2.5"],
            "--n-components must be auto or a whole number, got",
        ),
        (["fit", "t.csv", "-o"], "-o/--output needs a value."),
        (["fit", "t.csv", "--ignore", "--json"], "--ignore needs at least one value."),
        (["fit", "t.csv", "--cv", "2", "--test-size", ".2"], "--test-size and --cv exclude each other."),
    ],
)
def test_wrong_options_are_told_in_a_line_with_exit_code_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("ffmlp: ")
    # Whether argparse quotes values depends on its version.
    assert message.replace("'", "") in error.replace("'", "")
    assert error.count("\n") == 1


def test_a_column_may_be_named_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{row},{'ab'[row > 30]}" for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,--the label", *lines]))
    assert main(["fit", "t.csv", "--target", "--the label", "-o", "m.model", "--quiet"]) == 0


def test_a_small_network_is_drawn_as_it_is(iris, here):
    fit = ["fit", str(iris / "iris.csv"), "--target", "species", "--max-neurons", "20", "--quiet"]
    assert main([*fit, "-o", "small.model"]) == 0
    assert main(["report", "small.model", str(iris / "iris.csv"), "-o", "r.html", "--quiet"]) == 0
    assert "half-spaces" in (here / "r.html").read_text()


def test_names_with_a_dollar_are_drawn_as_they_are(here):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"cost_$_per_$": rng.normal(size=60)})
    frame["price"] = rng.choice(["$", "$$", "$$$"], 60)
    frame["y"] = np.where(frame["cost_$_per_$"] > 0, "<$50K", "$50K-$100K")
    frame.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "y", "-o", "t.model", "--quiet"]) == 0
    assert main(["report", "t.model", "t.csv", "-o", "t.html", "--quiet"]) == 0
