import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from ffmlp.benchmark.leaderboard import (
    GROWTH,
    MARK,
    TITLE,
    accuracy_and_time,
    all_results,
    growth,
    introduction,
    is_best,
    ranks,
    summary,
    summary_title,
    tables,
    to_text,
    wins,
    write_pages,
)
from ffmlp.benchmark.runs import BenchmarkRun, Settings

SETTINGS = Settings(0, 2, {"iris": "a", "two": "b"}, {"ffmlp": "0.1.0", "numpy": "2.4.6"})
SUMMARY = "Summary, 3000 training rows at most"


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


def test_the_best_are_the_largest_and_never_nan():
    scores = np.array([[1.0, 3.0, 3.0], [np.nan, -1.0, -2.0], [np.nan] * 3])
    assert is_best(scores).tolist() == [[False, True, True], [False, True, False], [False] * 3]


def some_runs():
    """Three models, of which one fails on a set and one has no probabilities, and one with one run."""
    runs = []
    for name in ("iris", "two"):
        for split, accuracy in enumerate((0.8, 0.9)):
            where, sizes = (name, "3000", split), (90, 60, 4, 3)
            runs.append(BenchmarkRun(*where, "ffmlp", *sizes, accuracy, 0.5, 1.0, 0.01, 0.001, 7))
            runs.append(BenchmarkRun(*where, "svm", *sizes, 0.95, 0.6, None, 0.02, 0.002, 2550))
            failed = {"error": "ValueError: a < b"} if name == "two" else {"accuracy": 1.0}
            runs.append(BenchmarkRun(*where, "qda", *sizes, fit_seconds=0.5, **failed))
    return [*runs, BenchmarkRun("iris", "3000", 0, "lda", *sizes, 0.9, package="lda-maker 1.2")]


def with_all_rows(runs):
    """The runs, and those of two models with all rows, half a point better."""
    more = [replace(run, train_rows="all", n_train=900) for run in runs if run.model in ("svm", "ffmlp")]
    return [*runs, *(replace(run, accuracy=run.accuracy + 0.005) for run in more)]


def tables_of(runs, missing):
    return {table.title: table for table in tables(all_results(runs, SETTINGS), missing)}


def test_tables():
    made = tables_of(some_runs(), {"swim": "not here"})
    assert made[SUMMARY].lines == [
        ["svm", "95.00 ± 0.00", "1.50", "1", "60.00 ± 0.00", "–", "0.0200", "0.0020", "2,550"],
        [f"qda {MARK}", "100.00", "2.00", "1", "–", "–", "0.5000", "–", "–"],
        ["ffmlp", "85.00 ± 5.00", "2.50", "0", "50.00 ± 0.00", "1.000 ± 0.000", "0.0100", "0.0010", "7"],
    ]
    by_set = made["Accuracy (%) by set, 3000 training rows at most"]
    assert by_set.header == ["set", "ffmlp", "svm", "qda"]
    assert by_set.lines[1] == ["two", "85.00 ± 5.00", "95.00 ± 0.00", "failed (2 of 2)"]
    losses = made["Log-loss by set, 3000 training rows at most"]
    assert losses.lines[0] == ["iris", "1.000 ± 0.000", "–", "–"]
    assert made["Failed runs"].lines == [["two", "3000", "qda", "0, 1", "ValueError: a < b"]]
    assert made["Missing"].lines == [
        ["lda, 3000 training rows at most", "Not all of its runs are finished."],
        ["swim", "not here"],
    ]
    assert GROWTH not in made


def test_the_best_values_are_bold_but_not_those_of_a_model_that_failed():
    made = tables_of(some_runs(), {})
    best = dict.fromkeys(("accuracy (%)", "rank", "wins", "balanced accuracy (%)"), "svm")
    best |= dict.fromkeys(("log-loss", "fit (s)", "predict (s)"), "ffmlp")
    table = made[SUMMARY]
    assert {table.header[column]: table.lines[line][0] for line, column in table.bold} == best
    assert made["Accuracy (%) by set, 3000 training rows at most"].bold == {(0, 3), (1, 2)}


def test_values_that_look_equal_are_all_bold():
    runs = [run for run in some_runs() if run.model in ("svm", "ffmlp")]
    runs = [replace(run, accuracy=0.95 + (run.model == "svm") * 1e-5) for run in runs]
    table = tables_of(runs, {})[SUMMARY]
    assert {line for line, column in table.bold if table.header[column] == "accuracy (%)"} == {0, 1}
    assert [line for line, column in table.bold if table.header[column] == "rank"] == [0]


def test_numbers_of_training_rows_are_compared():
    made = tables_of(with_all_rows(some_runs()), {})
    titles = [title for title in made if title.startswith(("Summary", GROWTH))]
    assert titles == [GROWTH, SUMMARY, "Summary, all training rows"]
    table = made[GROWTH]
    measured = ["accuracy (%), 3000", "accuracy (%), all", "fit (s), 3000", "fit (s), all"]
    assert table.header == ["model", *measured]
    assert table.lines == [
        ["ffmlp", "85.00 ± 5.00", "85.50 ± 5.00", "0.0100", "0.0100"],
        ["svm", "95.00 ± 0.00", "95.50 ± 0.00", "0.0200", "0.0200"],
        [f"qda {MARK}", "100.00", "–", "0.5000", "–"],
    ]


def test_one_split_has_no_spread():
    runs = [run for run in some_runs() if run.split == 0]
    one_split = replace(SETTINGS, n_splits=1)
    text = str([table.lines for table in tables(all_results(runs, one_split), {})])
    assert "80.00" in text
    assert "±" not in text


def test_the_introduction_has_versions_of_all_packages():
    runs = some_runs()
    first, second = introduction(all_results(runs, SETTINGS), runs, SETTINGS)
    assert first.startswith(
        "2 sets, 2 stratified splits of each: 40 % of the rows for testing, 10000 at"
    )
    assert first.endswith("Versions: ffmlp 0.1.0, numpy 2.4.6, lda-maker 1.2.")
    assert f"{MARK}: the model failed on some sets" in second
    runs = [run for run in runs if run.model != "qda"]
    assert MARK not in introduction(all_results(runs, SETTINGS), runs, SETTINGS)[1]


def test_nothing_finished():
    runs = some_runs()[-1:]
    assert list(tables_of(runs, {})) == ["Missing"]
    assert list(tables_of([], {})) == []


def test_text_for_the_terminal():
    text = to_text(summary(all_results(some_runs(), SETTINGS)[0])).splitlines()
    assert re.split("  +", text[0])[:4] == ["model", "accuracy (%)", "rank", "wins"]
    assert text[1].startswith("svm    95.00 ± 0.00  1.50     1")


def test_pages(tmp_path):
    pytest.importorskip("matplotlib")
    runs = with_all_rows(some_runs())
    results = all_results(runs, SETTINGS)
    write_pages(results, runs, SETTINGS, {}, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<title>{TITLE}</title>" in page
    assert f"<h1>{TITLE}</h1>" in page
    assert "ValueError: a &lt; b" in page
    assert "<b>95.00&nbsp;±&nbsp;0.00</b>" in page
    assert "http" not in page  # nothing is fetched when it is opened
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert markdown.startswith(f"# {TITLE}\n")
    assert "| **95.00 ± 0.00** |" in markdown
    names = ["training_rows.png", "accuracy_time_3000.png", "accuracy_time_all.png"]
    assert page.count('src="data:image/png;base64,') == len(names)
    assert re.findall(r"\(figures/(.+?)\)", markdown) == names
    assert {path.name for path in (tmp_path / "figures").iterdir()} == set(names)
    for name in names:
        assert (tmp_path / "figures" / name).read_bytes().startswith(b"\x89PNG")
    sections = markdown.split("\n## ")
    for one in results:
        section = next(text for text in sections if text.startswith(summary_title(one)))
        assert f"(figures/accuracy_time_{one.train_rows}.png)" in section


def points(container):
    return container.lines[0].get_xydata().astype(float)


def bars(container):
    return [segment.tolist() for segment in container.lines[2][0].get_segments()]


def test_accuracies_have_error_bars():
    pytest.importorskip("matplotlib")
    (axes,) = accuracy_and_time(all_results(some_runs(), SETTINGS)[0]).axes
    first, second, *_ = bars(axes.containers[0])
    np.testing.assert_allclose(first, [[0.01, 0.8], [0.01, 0.9]])
    np.testing.assert_allclose(second, [[0.02, 0.95], [0.02, 0.95]])


def test_accuracy_and_time_are_drawn_over_training_rows():
    pytest.importorskip("matplotlib")
    accuracy, time = growth(all_results(with_all_rows(some_runs()), SETTINGS)).axes
    ffmlp, svm, qda = accuracy.containers
    assert [model.get_label() for model in (ffmlp, svm, qda)] == ["ffmlp", "svm", f"qda {MARK}"]
    np.testing.assert_allclose(points(ffmlp), [[90, 0.85], [900, 0.855]])
    np.testing.assert_allclose(bars(ffmlp)[1], [[900, 0.805], [900, 0.905]])
    np.testing.assert_allclose(points(svm), [[90, 0.95], [900, 0.955]])
    np.testing.assert_allclose(points(qda), [[90, 1.0]])
    np.testing.assert_allclose(points(time.containers[0]), [[90, 0.01], [900, 0.01]])


def test_pages_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    runs = some_runs()
    write_pages(all_results(runs, SETTINGS), runs, SETTINGS, {}, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.md"}
    assert "pip install 'ffmlp[plots]'" in (tmp_path / "report.md").read_text(encoding="utf-8")
