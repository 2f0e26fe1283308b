from dataclasses import replace

import numpy as np
import pytest
from problems import four_moons, region_design

from ffmlp import datasets
from ffmlp.backprop import BackpropClassifier
from ffmlp.report.records import read_records
from ffmlp.reproduction import experiments
from ffmlp.reproduction.experiments import Run, Settings
from ffmlp.reproduction.reported import ROWS, ROWS_BY_KEY

pytest.importorskip("daqp")
pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")

IRIS, WINE = ROWS_BY_KEY["iris"], ROWS_BY_KEY["wine"]
ONCE = {"n_robust_splits": 1, "n_sweep_splits": 1, "sweep_components": (1,), "optimal_seconds": 5.0}
TINY = Settings(n_splits=2, n_starts=2, **ONCE)
X, Y = four_moons(300)
TEST = datasets.Dataset("moons", X[::3], Y[::3], None)
TIMES = ("seconds", "gmm", "boundaries", "regions", "classes")


@pytest.fixture(scope="module")
def iris_runs():
    return [run for split in range(2) for run in experiments.run_split(IRIS, TINY, split)]


def untimed(runs):
    return [replace(run, **dict.fromkeys(TIMES)) for run in runs]


def test_the_papers_tables_are_there():
    assert len(ROWS) == 12
    assert {row.dataset for row in ROWS} == set(datasets.NAMES)
    for row in ROWS:
        seconds = dict(row.reported_seconds)
        total = seconds["total"]
        steps = sum(seconds[step] for step in ("gmm", "boundaries", "regions", "classes"))
        assert steps == pytest.approx(total, abs=2e-4)
        for train, test in row.reported.values():
            assert 40 < train <= 100
            assert 40 < test <= 100


def test_every_split_has_every_method_and_every_start(iris_runs):
    for split in range(2):
        methods = [run.method for run in iris_runs if run.split == split]
        assert set(experiments.DESIGNED) | set(experiments.DEVIATIONS) <= set(methods)
        assert {"majority", *experiments.PEERS, "bp_literal_50", "bp_ff_50"} <= set(methods)
        for method in ("bp_random_50", "bp_random_15", "bp_paper_sizes_50"):
            assert methods.count(method) == TINY.n_starts
    once = {run.method for run in iris_runs} - {run.method for run in iris_runs if run.split == 1}
    robust = {"robust_ff", "robust_ff_attacked", "robust_ff_bare", "robust_bp_ff", "robust_bp_random"}
    assert once == {"ff_optimal", "sweep_ff", "sweep_bp_ff", *robust}


def test_runs_of_the_designs_and_of_random_starts(iris_runs):
    designed = [run for run in iris_runs if run.method == "ff"]
    assert all(run.test_accuracy > 0.85 for run in designed)
    assert all(run.gmm + run.boundaries + run.regions + run.classes < run.seconds for run in designed)
    assert all(run.n_blobs == 6 for run in designed)
    starts = [run.train_accuracy for run in iris_runs if run.method == "bp_random_50"]
    assert len(set(starts)) > 1


def test_the_same_seed_gives_the_same_runs_apart_from_times(iris_runs):
    again = experiments.run_split(IRIS, TINY, 1)
    assert untimed(again) == untimed([run for run in iris_runs if run.split == 1])


def test_the_literal_network_answers_as_the_bare_network():
    train, test = experiments.split_of(WINE, TINY, 0)
    literal = experiments.design(WINE, train, 0, design="paper")
    bare = literal.network_.forward(test.X).argmax(axis=1)
    np.testing.assert_array_equal(literal.predict(test.X), literal.classes_[bare])


def test_training_starts_at_the_bare_network_not_at_predict():
    """Wine with four blobs for each class: many test samples are in no region."""
    train, test = experiments.split_of(WINE, TINY, 0)
    clf = experiments.design(WINE, train, 0, n_components=4, error_threshold=None)
    bare = np.mean(clf.network_.forward(test.X).argmax(axis=1) == test.y)
    history = experiments.trained(clf, "design", train, test, 0).history_
    assert history.test_accuracy[0] == pytest.approx(bare)
    assert clf.score(test.X, test.y) > bare + 0.1


def test_parts_in_any_order_and_with_an_interruption_give_the_same_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "PEERS", {})
    rows = [IRIS, WINE]
    for task in experiments.open_parts(rows, TINY, tmp_path / "a"):
        task()
    first, *_, last = experiments.open_parts(rows, TINY, tmp_path / "b")
    last()
    first()
    done = {path: path.read_bytes() for path in (tmp_path / "b" / "runs").iterdir()}
    assert len(done) == 2
    rest = experiments.open_parts(rows, TINY, tmp_path / "b")
    assert len(rest) == 2
    for task in rest:
        task()
    assert all(path.read_bytes() == content for path, content in done.items())
    assert experiments.open_parts(rows, TINY, tmp_path / "b") == []
    runs = [experiments.collected(rows, TINY, tmp_path / name) for name in "ab"]
    assert untimed(runs[0]) == untimed(runs[1])
    assert read_records(tmp_path / "b" / "runs.csv", Run) == runs[1]


def test_a_set_that_is_not_available_is_reported(tmp_path):
    settings = Settings(pima_path=str(tmp_path / "nowhere.csv"))
    rows, missing = experiments.available([IRIS, ROWS_BY_KEY["pima"]], settings)
    assert rows == [IRIS]
    assert "nowhere.csv" in missing["pima"]


def test_attacks_leave_no_less_than_what_is_proved():
    clf = region_design(3, random_state=0).fit(X, Y)
    proved, attacked = experiments.proved_accuracy(clf, TEST), experiments.attacked_accuracy(clf, TEST)
    assert proved[0] == attacked[0] == clf.score(TEST.X, TEST.y)
    assert (attacked >= proved).all()
    assert np.abs(attacked - proved).max() < 0.05  # in the plane the search is dense
    for accuracies in (proved, attacked):
        assert (np.diff(accuracies) <= 0).all()
        assert len(accuracies) == len(experiments.RADII)


def test_where_nothing_is_left_the_rest_is_zero():
    bp = BackpropClassifier((4, 4), n_epochs=1, random_state=0).fit(X, Y)
    accuracies = experiments.attacked_accuracy(bp, TEST, (0.0, 50.0, 60.0))
    assert accuracies[0] == bp.score(TEST.X, TEST.y)
    assert accuracies[-1] <= accuracies[0]
    assert len(accuracies) == 3
