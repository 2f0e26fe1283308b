import pytest

from ffmlp import datasets
from ffmlp.reports.records import read_records, write_records
from ffmlp.reproduction import experiments
from ffmlp.reproduction.experiments import Run, Settings, n_runs, reproduce, run_row
from ffmlp.reproduction.paper import ROWS, ROWS_BY_KEY

pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")

TINY = Settings(n_splits=2, n_trained_splits=1, optimal_seconds=5.0, sweep_components=(1,))


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch):
    monkeypatch.setattr(experiments, "N_EPOCHS", 3)
    monkeypatch.setattr(experiments, "FEW_EPOCHS", 1)


@pytest.fixture(scope="module")
def iris_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "N_EPOCHS", 3)
        patch.setattr(experiments, "FEW_EPOCHS", 1)
        return list(run_row(ROWS_BY_KEY["iris"], TINY))


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


def test_a_row_runs_every_method_on_every_split(iris_runs):
    assert len(iris_runs) == n_runs(ROWS_BY_KEY["iris"], TINY)
    methods = {run.method for run in iris_runs}
    assert {"ff", "ff_heteroscedastic", "ff_optimal", "bp_ff_3", "bp_random_1", "sweep_bp_ff"} <= methods
    assert set(experiments.PEERS) <= methods
    designed = [run for run in iris_runs if run.method == "ff"]
    assert [run.split for run in designed] == [0, 1]
    assert all(run.test_accuracy > 0.85 for run in designed)
    assert all(run.gmm + run.boundaries + run.regions + run.classes < run.seconds for run in designed)


def test_the_same_seed_gives_the_same_accuracies(iris_runs):
    again = list(run_row(ROWS_BY_KEY["iris"], TINY))
    assert [run.test_accuracy for run in again] == [run.test_accuracy for run in iris_runs]


def test_runs_survive_the_file(iris_runs, tmp_path):
    write_records(tmp_path / "runs.csv", iris_runs, Run)
    assert read_records(tmp_path / "runs.csv", Run) == iris_runs
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    rows = [ROWS_BY_KEY["iris"], ROWS_BY_KEY["wine"]]

    def interrupt(run):
        if run.row == "wine":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(rows, TINY, tmp_path, interrupt)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["iris.csv"]
    finished = read_records(tmp_path / "runs" / "iris.csv", Run)
    seen = []
    runs, missing = reproduce(rows, TINY, tmp_path, seen.append)
    assert missing == {}
    assert {run.row for run in seen} == {"wine"}
    assert runs[: len(finished)] == finished
    assert read_records(tmp_path / "runs.csv", Run) == runs


def test_a_folder_of_other_settings_is_refused(tmp_path):
    reproduce([], TINY, tmp_path, print)
    with pytest.raises(ValueError, match="holds runs with other settings"):
        reproduce([], Settings(), tmp_path, print)


def test_a_set_that_is_not_available_is_reported(tmp_path):
    settings = Settings(n_splits=1, pima_path=str(tmp_path / "nowhere.csv"))
    runs, missing = reproduce([ROWS_BY_KEY["pima"]], settings, tmp_path, print)
    assert runs == []
    assert "nowhere.csv" in missing["pima"]
