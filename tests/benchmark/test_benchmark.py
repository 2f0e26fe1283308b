import gzip
import sys

import numpy as np
import pytest
from problems import region_design
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss as sklearn_log_loss

from ffmlp.benchmark import peers
from ffmlp.benchmark.report import MARK, TITLE, Results, ranks, tables, to_text, wins, write_pages
from ffmlp.benchmark.runs import BenchmarkRun, Settings, at_most, benchmark, log_loss, run_one
from ffmlp.benchmark.sets import built_in, checksum, from_folder, labelled
from ffmlp.reports.records import read_records

IRIS = labelled("iris", *load_iris(return_X_y=True))
TWO = labelled("two", IRIS.X[:100], IRIS.y[:100])


@pytest.fixture
def models(monkeypatch):
    """Quick models, one of which fails where there are two classes."""

    class Picky(DummyClassifier):
        def fit(self, X, y):
            if len(np.unique(y)) == 2:
                raise ValueError("two classes\nare too few")
            return super().fit(X, y)

    monkeypatch.setitem(peers.MODELS, "picky", lambda seed: Picky())
    return ["ffmlp", "lda", "picky"]


def settings(n_splits=2, seed=0):
    return Settings.of([IRIS, TWO], seed, n_splits, 3000)


def test_every_model_runs_on_every_split_of_every_set(models, tmp_path):
    seen = []
    runs = benchmark([IRIS, TWO], models, settings(), tmp_path, on_run=seen.append)
    assert [(run.set, run.split, run.model) for run in runs] == [
        (name, split, model) for name in ("iris", "two") for split in (0, 1) for model in models
    ]
    assert seen == runs
    assert read_records(tmp_path / "runs.csv", BenchmarkRun) == runs
    by_model = {run.model: run for run in runs if (run.set, run.split) == ("iris", 0)}
    assert by_model["lda"].accuracy > 0.9
    assert by_model["lda"].log_loss < 0.3
    assert (by_model["lda"].n_train, by_model["lda"].n_test) == (90, 60)
    assert by_model["lda"].parameters == 15
    assert by_model["picky"].accuracy == pytest.approx(1 / 3)
    assert by_model["picky"].parameters is None
    assert all(run.fit_seconds > 0 and run.predict_seconds > 0 for run in by_model.values())


def test_a_model_that_fails_is_a_result(models):
    run = run_one(TWO, 0, "picky", seed=0, max_rows=3000)
    assert run.error == "ValueError: two classes are too few"
    assert run.accuracy is run.log_loss is run.fit_seconds is None
    assert (run.n_train, run.n_classes) == (60, 2)


def test_splits_are_those_of_the_seed_and_differ():
    accuracies = [run_one(IRIS, split, "ffmlp-region", 3, 20).accuracy for split in (0, 1, 2, 0)]
    assert accuracies[0] == accuracies[3] == run_one(IRIS, 0, "ffmlp-region", 3, 20).accuracy
    assert len(set(accuracies)) > 1


def test_the_same_runs_in_two_processes(tmp_path):
    alone = benchmark([IRIS, TWO], ["ffmlp", "lda"], settings(), tmp_path / "1")
    both = benchmark([IRIS, TWO], ["ffmlp", "lda"], settings(), tmp_path / "2", n_jobs=2)
    assert [run.accuracy for run in both] == [run.accuracy for run in alone]
    assert [run.model for run in both] == [run.model for run in alone]


def test_an_interrupted_benchmark_goes_on_where_it_stopped(models, tmp_path, monkeypatch):
    seen = []

    def interrupt(run):
        seen.append(run)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        benchmark([IRIS, TWO], models, settings(), tmp_path, on_run=interrupt)
    finished = read_records(tmp_path / "runs.csv", BenchmarkRun)
    assert len(finished) == 5
    again = benchmark([IRIS, TWO], models, settings(), tmp_path)
    assert len(again) == 12
    # Equal times show that nothing was run twice.
    assert [run for run in again if run in finished] == finished

    def never(seed):
        raise AssertionError

    monkeypatch.setitem(peers.MODELS, "lda", never)
    assert benchmark([IRIS, TWO], ["lda"], settings(), tmp_path) == again


def test_a_folder_of_other_settings_or_sets_is_refused(tmp_path):
    benchmark([IRIS, TWO], [], settings(), tmp_path)
    other = labelled("two", TWO.X + 1e-9, TWO.y)
    assert checksum(other) != checksum(TWO)
    for changed in (settings(seed=1), settings(3), Settings.of([IRIS, other], 0, 2, 3000)):
        with pytest.raises(ValueError, match="holds runs with other settings"):
            benchmark([IRIS, TWO], [], changed, tmp_path)


def test_runs_with_other_columns_are_refused(tmp_path):
    benchmark([IRIS, TWO], [], settings(), tmp_path)
    (tmp_path / "runs.csv").write_text("set,model\niris,lda\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"runs\.csv must have the columns set, split, model"):
        benchmark([IRIS, TWO], ["lda"], settings(), tmp_path)


def test_every_class_keeps_its_share_of_the_rows():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [6000, 3000, 2]))
    kept = at_most(900, y, seed=1)
    assert len(kept) == len(set(kept)) == 900
    counts = np.bincount(y[kept])
    assert counts[2] == 1
    assert counts[0] / counts[1] == pytest.approx(2, abs=0.02)
    assert not np.array_equal(kept, at_most(900, y, seed=2))
    np.testing.assert_array_equal(at_most(9002, y, seed=1), np.arange(9002))


def test_too_few_rows_for_the_classes():
    with pytest.raises(ValueError, match="at least 3, the number of classes of iris, got 2"):
        Settings.of([IRIS], 0, 1, 2)


def test_log_loss_is_clipped():
    y = np.array([0, 1, 1])
    p = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    assert log_loss(y, p) == pytest.approx(sklearn_log_loss(y, p))
    assert log_loss(y[:1], np.array([[0.0, 1.0]])) == pytest.approx(-np.log(1e-15))


@pytest.mark.parametrize(
    "model", [model for model in peers.MODELS if peers.missing_package(model) is None]
)
def test_every_installed_model_learns_iris(model):
    if model == "realmlp":
        pytest.skip("takes seconds")
    run = run_one(IRIS, 0, model, seed=0, max_rows=3000)
    assert run.error == ""
    assert run.accuracy > 0.75
    assert (run.log_loss is None) == (model in ("svm", "swim"))
    trees = ("forest", "boosting", "xgboost", "lightgbm")
    assert (run.parameters is None) == (model in trees)


def test_parameters_are_those_of_the_weights():
    clf = region_design(random_state=0).fit(IRIS.X, IRIS.y)
    network = clf.network_
    assert peers.n_parameters(clf) == sum(part.size for part in (*network.weights, *network.biases))
    qda = peers.MODELS["qda"](0).fit(IRIS.X, IRIS.y)
    assert peers.n_parameters(qda) == 3 * (1 + 4 + 10)  # prior, mean, symmetric covariance
    mlp = peers.MODELS["mlp"](0).set_params(mlpclassifier__max_iter=1)
    with pytest.warns(UserWarning, match="Stochastic Optimizer"):
        mlp.fit(IRIS.X, IRIS.y)
    assert peers.n_parameters(mlp) == (4 + 1) * 100 + (100 + 1) * 3


def test_models_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(peers.PACKAGES, "lda", "no_such_package")
    models, missing = peers.select_models(None)
    assert "lda" not in models
    assert missing["lda"] == (
        "no_such_package is required for the model 'lda'. Install it with: pip install no_such_package"
    )
    with pytest.raises(ImportError, match="pip install no_such_package"):
        peers.select_models(["svm", "lda"])
    with pytest.raises(
        ValueError,
        match=r"Unknown model 'mars'. Available: ffmlp, ffmlp-regions, ffmlp-region, ffmlp-paper, ",
    ):
        peers.select_models(["svm", "mars"])
    assert peers.select_models(["svm", "qda", "svm"]) == (["svm", "qda"], {})


def test_built_in_sets():
    sets, missing = built_in(0)
    names = [one.name for one in sets]
    assert len(names) == len(set(names))
    assert {"iris", "digits", "two_moons"} <= set(names)
    assert missing or "ionosphere" in names
    for one in sets:
        assert np.isfinite(one.X).all()
        assert np.bincount(one.y).min() >= 2


def write(path, text):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_a_folder_of_csv_files(tmp_path):
    write(tmp_path / "b.csv", 'f,"g, h",label\n1,2e3,yes\n\n-1.5,0,no\n1,1,yes\n2,2,no\n')
    write(tmp_path / "a.csv.gz", "f,label\n1,0\n2,0\n3,1\n4,1\n")
    write(tmp_path / "notes.txt", "no set")
    first, second = from_folder(tmp_path)
    assert (first.name, second.name) == ("a", "b")
    np.testing.assert_array_equal(first.X, [[1], [2], [3], [4]])
    np.testing.assert_array_equal(second.X, [[1, 2000], [-1.5, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(second.y, [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f,g,label\n1,2,a\n1,x,b\n", r"bad\.csv, line 3, column 2 \('g'\): a finite number .*'x'"),
        ("f,g,label\n1,2,a\n,1,b\n", r"bad\.csv, line 3, column 1 \('f'\): a finite number .*''"),
        ("f,g,label\n1,nan,a\n", r"bad\.csv, line 2, column 2 \('g'\): a finite number .*'nan'"),
        ("f,g,label\n1,2,a\n\n1,b\n", r"bad\.csv, line 4: the header has 3 columns, this line has 2"),
        ("f,label\n1,a\n2,\n", r"bad\.csv, line 3, column 2 \('label'\): the label is missing"),
        ("label\na\nb\n", r"bad\.csv, line 1: the header has one column, 'label'"),
        ("", r"bad\.csv is empty"),
        ("f,g,f,label\n1,2,3,a\n", r"bad\.csv, line 1: columns 1 and 3 are both named 'f'"),
        ("1,2,0\n3,4,1\n", r"bad\.csv, line 1: the column names are all numbers"),
        (",f,label\n0,1,a\n1,2,b\n", r"bad\.csv, line 1: column 1 has no name"),
        ("f,label\n1_0,a\n2,b\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'1_0'"),
        ("f,label\n1,a\n2,?\n", r"bad\.csv, line 3, column 2 \('label'\): the label is missing"),
        ("f;label\n1,5;a\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'1,5'"),
        ("f,label\n1,a\n2,a\n", r"bad\.csv: .* at least 2 classes, got 1"),
        ("f,label\n", r"bad\.csv: .* at least 2 classes, got 0"),
        ("f,label\n1,a\n2,a\n3,b\n", r"bad\.csv: class 'b' has 1 row, but a split needs 2"),
        ("f,label\ninf,a\n2,b\n", r"bad\.csv, line 2, column 1 \('f'\): a finite number .*'inf'"),
    ],
)
def test_bad_csv_is_reported_with_file_line_and_column(tmp_path, text, message):
    write(tmp_path / "bad.csv", text)
    with pytest.raises(ValueError, match=message):
        from_folder(tmp_path)


def test_folders_without_sets(tmp_path):
    with pytest.raises(ValueError, match="must be a folder"):
        from_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"contains no \.csv"):
        from_folder(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"contains no \.csv"):
        from_folder(tmp_path)
    (tmp_path / "a.csv.gz").write_bytes(b"not compressed")
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be decompressed"):
        from_folder(tmp_path)
    for name in ("a.csv", "a.csv.gz"):
        write(tmp_path / name, "f,label\n1,0\n2,0\n3,1\n4,1\n")
    with pytest.raises(ValueError, match="with and without"):
        from_folder(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"f,label\n\xff,1\n")
    (tmp_path / "a.csv.gz").unlink()
    with pytest.raises(ValueError, match=r"a\.csv, line 2: not valid utf-8"):
        from_folder(tmp_path)


def naive_rank(accuracies, model):
    """1 + how many are better + half of the others that are as good; failures are worst."""
    known = [-1.0 if np.isnan(value) else value for value in accuracies]
    better = sum(value > known[model] for value in known)
    equal = sum(value == known[model] for value in known) - 1
    return 1 + better + equal / 2


def test_ranks_and_wins_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    accuracies = rng.integers(0, 5, size=(40, 6)) / 4
    accuracies[rng.random((40, 6)) < 0.2] = np.nan
    accuracies[7] = np.nan
    expected = [[naive_rank(row, model) for model in range(6)] for row in accuracies]
    np.testing.assert_array_equal(ranks(accuracies), expected)
    best = [
        sum(row[model] == np.nanmax(row) for row in np.delete(accuracies, 7, 0)) for model in range(6)
    ]
    np.testing.assert_array_equal(wins(accuracies), best)
    # Sums in another order are ties.
    assert ranks(np.array([[(0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3]])).tolist() == [[1.5, 1.5]]


def some_results():
    runs = []
    for name in ("iris", "two"):
        for split, accuracy in enumerate((0.8, 0.9)):
            common = (name, split)
            sizes = (90, 60, 4, 3)
            runs.append(BenchmarkRun(*common, "ffmlp", *sizes, accuracy, 0.5, 1.0, 0.01, 0.001, 47))
            runs.append(BenchmarkRun(*common, "svm", *sizes, 0.95, 0.6, None, 0.02, 0.002, 255))
            failed = {"error": "ValueError: a < b"} if name == "two" else {"accuracy": 1.0}
            runs.append(BenchmarkRun(*common, "qda", *sizes, fit_seconds=0.5, **failed))
    runs.append(BenchmarkRun("iris", 0, "lda", *sizes, 0.9))
    return Results.of(runs, settings())


def test_tables():
    made = {table.title: table for table in tables(some_results(), settings(), {"swim": "not here"})}
    assert made["Summary"].lines == [
        ["svm", "95.00", "1.50", "1", "60.00", "–", "0.0200", "0.0020", "255"],
        [f"qda {MARK}", "100.00", "2.00", "1", "–", "–", "0.5000", "–", "–"],
        ["ffmlp", "85.00", "2.50", "0", "50.00", "1.000", "0.0100", "0.0010", "47"],
    ]
    assert f"{MARK}: the model failed on some sets" in made["Summary"].text
    by_set = made["Accuracy by set"]
    assert by_set.header == ["set", "ffmlp", "svm", "qda"]
    assert by_set.lines[1] == ["two", "85.00 ± 5.00", "95.00 ± 0.00", "failed (2 of 2)"]
    assert made["Failed runs"].lines == [["two", "qda", "0, 1", "ValueError: a < b"]]
    assert made["Missing"].lines == [["lda", "Not all of its runs are finished."], ["swim", "not here"]]


def test_text_for_the_terminal():
    text = to_text(tables(some_results(), settings(), {})[0]).splitlines()
    assert text[0].startswith("model  accuracy  rank  wins")
    assert text[1].startswith("svm       95.00  1.50     1")


def test_pages(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    write_pages(some_results(), settings(), {}, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<title>{TITLE}</title>" in page
    assert f"<h1>{TITLE}</h1>" in page
    assert "ValueError: a &lt; b" in page
    assert 'src="data:image/png;base64,' in page
    assert "http" not in page  # nothing is fetched when it is opened
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert markdown.startswith(f"# {TITLE}\n")
    assert "(figures/accuracy_time.png)" in markdown
    assert (tmp_path / "figures" / "accuracy_time.png").read_bytes().startswith(b"\x89PNG")


def test_pages_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_pages(some_results(), settings(), {}, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.md"}
    assert "pip install 'ffmlp[plots]'" in (tmp_path / "report.md").read_text(encoding="utf-8")
