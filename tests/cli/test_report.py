import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from commands import refused
from sklearn.datasets import load_iris

import ffmlp
from ffmlp.cli import main
from ffmlp.report import explorer
from ffmlp.storage.model_files import load_with_metadata

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
    pytest.importorskip(package)


class _Page(HTMLParser):
    """Whatever a browser would fetch, which elements are left open, and the data of the page."""

    def __init__(self, path):
        super().__init__()
        self.fetched, self.open, self.data = [], [], None
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        self.fetched += [
            value for name, value in attributes if name in ("src", "href", "srcset", "data")
        ]
        if tag not in ("meta", "img", "br", "line", "circle", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag in ("circle", "rect"):
            return
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.data is None and self.open[-1:] == ["script"]:
            self.data = json.loads(text)


def ffmlp_evaluation(path):
    return load_with_metadata(path).metadata["evaluation"]


def test_report_is_one_page_that_fetches_nothing(iris, here, capsys):
    files = [str(iris / "iris.model"), str(iris / "iris.csv")]
    assert main(["report", *files, "-o", "r.html", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    held_out = "38 held-out rows"
    assert (found["rows"], found["share_fitted"], found["accuracy_of"]) == (150, 1.0, held_out)
    assert captured.err.endswith(
        f"note: {iris / 'iris.csv'}: The model was fitted to these rows. The accuracy in the report is "
        f"on {held_out}.\n"
    )
    page = _Page(here / "r.html")
    assert page.open == []
    assert page.fetched == ["#main"]
    assert not re.search(r"@import|url\(|<link|<img", page.text)
    data = page.data
    assert [card["name"] for card in data["cards"]] == [
        "Accuracy", "Majority baseline", "Calibration error", "Unfamiliar rows", "Neurons",
    ]  # fmt: skip
    groups = Counter(row["group"].partition(" of ")[0] for row in data["rows"])
    assert groups["Least certain"] == 10
    assert groups["Typical"] == 3
    assert [table["title"] for table in data["tables"]] == [
        "Data", "Network design", "What the neurons mean",
    ]  # fmt: skip
    assert "large & <wide>" in json.dumps(data["tables"])
    assert "<wide>" not in page.text
    assert "150 rows of iris.csv. The model was fitted to these rows." in data["tables"][0]["text"]
    accuracy = ffmlp_evaluation(iris / "iris.model")["accuracy"]
    assert found["accuracy"] == accuracy
    assert f"The accuracy on {held_out} is {accuracy:.1%}" in data["accuracy"]
    assert re.search(
        r"The model was fitted to these rows. Its accuracy on them, [0-9.]+%, says little about new "
        "rows. Accuracy, confusion matrix and calibration are therefore of held-out rows: each row was "
        "predicted by a model fitted without it.",
        "".join(data["alerts"]),
    )
    assert "r.html already exists" in refused(capsys, "report", *files, "-o", "r.html")
    error = refused(capsys, "report", *files, "-o", "r.pdf")
    assert "r.pdf: the file name must end with .html or .htm." in error


@pytest.mark.parametrize("options", [[], ["--test-size", "0"], ["--cv", "3"]])
def test_report_says_which_rows_its_numbers_are_about(iris, here, capsys, options):
    frame = pd.read_csv(iris / "iris.csv").drop_duplicates()
    frame[::2].to_csv("half.csv", index=False)
    frame[1::2].to_csv("rest.csv", index=False)
    frame.to_csv("both.csv", index=False)
    arguments = ["--target", "species", "--design", "blob", "--n-components", "1", "-o", "half.model"]
    assert main(["fit", "half.csv", "--quiet", *arguments, *options]) == 0
    texts = {}
    for name in ("half", "rest", "both"):
        assert main(["report", "half.model", f"{name}.csv", "-o", f"{name}.html"]) == 0
        texts[name] = (here / f"{name}.html").read_text(encoding="utf-8")
    seen, likely = (
        "The model was fitted to these rows.",
        "Its accuracy on new rows is likely to be lower.",
    )
    assert seen in texts["half"]
    assert _Page(here / "rest.html").data["seen"] == ""
    assert f"The model was fitted to about 50% of these rows. {likely}" in texts["both"]
    if "0" in options:
        assert f"{seen} {likely}" in texts["half"]
        assert f"The accuracy on {len(frame[::2])} rows is" in texts["half"]
    else:
        evaluation = ffmlp_evaluation("half.model")
        method = " (3-fold cross-validation)" if "--cv" in options else ""
        about = f"{evaluation['n_rows']} held-out rows{method}"
        assert f"The accuracy on {about} is" in texts["half"]
        assert f"Its accuracy on {about} is" in texts["both"]
    assert f"The accuracy on {len(frame[1::2])} rows is" in texts["rest"]
    assert f"The accuracy on {len(frame)} rows is" in texts["both"]


def test_report_without_the_truth_says_so(iris, here):
    pd.read_csv(iris / "iris.csv").drop(columns="species").to_csv("new.csv", index=False)
    assert main(["report", str(iris / "iris.model"), "new.csv", "-o", "r.html"]) == 0
    data = _Page(here / "r.html").data
    assert [card["name"] for card in data["cards"]][:2] == ["Rows", "Mean probability"]
    assert (data["accuracy"], data["confusion"], data["calibration"], data["curves"]) == (
        "",
        None,
        None,
        [],
    )
    assert "It has no 'species' to compare with" in data["tables"][0]["text"]
    (here / "empty.csv").write_text("sepal length,sepal width,petal length,petal width,size\n")
    assert main(["report", str(iris / "iris.model"), "empty.csv", "-o", "s.html"]) == 2
    assert not (here / "s.html").exists()


def test_report_and_inspect_of_a_model_without_a_table(here, capsys):
    data = load_iris(as_frame=True)
    clf = ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(data.data, data.target)
    ffmlp.save(clf, "m.model", {"file": 3, "evaluation": "good", "table": "none"})
    data.data.assign(**{"class": data.target}).to_csv("iris.csv", index=False)
    assert main(["report", "m.model", "iris.csv", "-o", "r.html"]) == 0
    assert "The model m.model predicts class (0, 1, 2) from 4 columns." in (here / "r.html").read_text(
        "utf-8"
    )
    capsys.readouterr()
    assert main(["inspect", "m.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["evaluation"] == "good"
    assert main(["inspect", "m.model"]) == 0
    assert "fitted to" not in capsys.readouterr().out


def test_report_of_rows_without_numbers(iris, here):
    (here / "new.csv").write_text("sepal length,sepal width,petal length,petal width,size\n,,,,small\n")
    assert main(["report", str(iris / "iris.model"), "new.csv", "-o", "r.html", "--quiet"]) == 0
    assert _Page(here / "r.html").data["model"] is not None


def test_report_of_a_large_network_says_how_to_make_it_smaller(here, monkeypatch):
    monkeypatch.setattr(explorer, "_MAX_CHARACTERS", 1000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    frame["y"] = np.where(np.sin(3 * frame["a"]) > frame["b"] ** 2 - 1, "in", "out")
    frame.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "--target", "y", "-o", "t.model", "--design", "readout", "--quiet"]
    assert main(fit) == 0
    assert main(["report", "t.model", "t.csv", "-o", "r.html", "--quiet"]) == 0
    data = _Page(here / "r.html").data
    assert data["model"] is None
    assert re.search(r"too large .* at most \d+ leaves .*--max-leaves \d+\)", data["unavailable"])


def test_names_with_a_dollar_are_drawn_as_they_are(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"cost_$_per_$": rng.normal(size=60)})
    frame["price"] = rng.choice(["$", "$$", "$$$"], 60)
    frame["y"] = np.where(frame["cost_$_per_$"] > 0, "<$50K", "$50K-$100K")
    frame.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "y", "-o", "t.model", "--quiet"]) == 0
    assert main(["report", "t.model", "t.csv", "-o", "t.html", "--quiet"]) == 0


def test_rows_of_classes_that_the_model_does_not_know_are_reported(iris, here):
    lines = (iris / "iris.csv").read_text(encoding="utf-8").replace("setosa", "iris").splitlines()
    for n_rows, has_accuracy in ((150, True), (40, False)):
        (here / "other.csv").write_text("\n".join(lines[: n_rows + 1]) + "\n", encoding="utf-8")
        files = [str(iris / "iris.model"), "other.csv", "-o", "r.html", "--force"]
        assert main(["report", *files]) == 0
        data = _Page(here / "r.html").data
        n_unseen = min(n_rows, 50)
        assert any(text.startswith(f"{n_unseen} rows with a species") for text in data["alerts"])
        notes = [card["note"] for card in data["cards"]]
        assert ("without species that the model knows: no accuracy" in notes) == (not has_accuracy)
