from importlib.metadata import version
from inspect import signature

import numpy as np
import pytest
from problems import region_design
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss as sklearn_log_loss

from ffmlp.benchmark import peers
from ffmlp.benchmark.runs import BenchmarkRun, Settings, at_most, benchmark, log_loss, parts, run_one
from ffmlp.benchmark.sets import checksum, labelled
from ffmlp.report.records import read_records

# New in scikit-learn 1.8.
QDA_HAS_SOLVERS = "solver" in signature(QuadraticDiscriminantAnalysis).parameters
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
    return Settings.of([IRIS, TWO], seed, n_splits)


def benchmark_of(models, folder, sizes=("3000",), **options):
    return benchmark([IRIS, TWO], models, settings(), folder, sizes, **options)


def test_every_model_runs_on_every_split_of_every_set(models, tmp_path):
    seen = []
    runs = benchmark_of(models, tmp_path, on_run=seen.append)
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
    run = run_one(TWO, 0, "picky", seed=0, train_rows="3000")
    assert run.error == "ValueError: two classes are too few"
    assert run.accuracy is run.log_loss is run.fit_seconds is None
    assert (run.n_train, run.n_classes) == (60, 2)


def test_splits_are_those_of_the_seed_and_differ():
    accuracies = [run_one(IRIS, split, "ffmlp-region", 3, "20").accuracy for split in (0, 1, 2, 0)]
    assert accuracies[0] == accuracies[3]
    assert len(set(accuracies)) > 1


def test_the_same_runs_in_two_processes(tmp_path):
    alone = benchmark_of(["ffmlp", "lda"], tmp_path / "1")
    both = benchmark_of(["ffmlp", "lda"], tmp_path / "2", n_jobs=2)
    assert [run.accuracy for run in both] == [run.accuracy for run in alone]
    assert [run.model for run in both] == [run.model for run in alone]


def test_an_interrupted_benchmark_goes_on_where_it_stopped(models, tmp_path, monkeypatch):
    seen = []

    def interrupt(run):
        seen.append(run)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        benchmark_of(models, tmp_path, on_run=interrupt)
    finished = read_records(tmp_path / "runs.csv", BenchmarkRun)
    assert len(finished) == 5
    again = benchmark_of(models, tmp_path)
    assert len(again) == 12
    # Equal times show that nothing was run twice.
    assert [run for run in again if run in finished] == finished

    def never(seed):
        raise AssertionError

    monkeypatch.setitem(peers.MODELS, "lda", never)
    assert benchmark_of(["lda"], tmp_path) == again


def test_a_folder_of_other_settings_or_sets_is_refused(tmp_path):
    benchmark_of([], tmp_path)
    other = labelled("two", TWO.X + 1e-9, TWO.y)
    assert checksum(other) != checksum(TWO)
    for changed in (settings(seed=1), settings(3), Settings.of([IRIS, other], 0, 2)):
        with pytest.raises(ValueError, match="holds runs with other settings"):
            benchmark([IRIS, TWO], [], changed, tmp_path, ["3000"])


def test_runs_with_other_columns_are_refused(tmp_path):
    benchmark_of([], tmp_path)
    (tmp_path / "runs.csv").write_text("set,model\niris,lda\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"runs\.csv must have the columns set, train_rows, split, "):
        benchmark_of(["lda"], tmp_path)


def test_every_class_keeps_its_share_of_the_rows():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [6000, 3000, 2]))
    kept = at_most(900, y, seed=1)
    assert len(kept) == len(set(kept)) == 900
    counts = np.bincount(y[kept])
    assert counts[2] == 1
    assert counts[0] / counts[1] == pytest.approx(2, abs=0.02)
    assert not np.array_equal(kept, at_most(900, y, seed=2))
    np.testing.assert_array_equal(at_most(9002, y, seed=1), np.arange(9002))


def test_too_few_rows_for_the_classes(tmp_path):
    with pytest.raises(ValueError, match="at least 3, the number of classes of iris, got 2"):
        benchmark_of(["lda"], tmp_path / "new", sizes=["all", "2"])
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_training_rows_are_different_runs_the_smallest_first(tmp_path):
    some = benchmark_of(["lda"], tmp_path, sizes=["50"])
    seen = []
    runs = benchmark_of(["lda"], tmp_path, sizes=["all", "50", "30"], on_run=seen.append)
    assert [(run.set, run.train_rows, run.split, run.n_train) for run in runs] == [
        (name, size, split, n_train)
        for name, n_all in (("iris", 90), ("two", 60))
        for size, n_train in (("30", 30), ("50", 50), ("all", n_all))
        for split in (0, 1)
    ]
    assert [run for run in runs if run.train_rows == "50"] == some
    # The finished runs first, then the others; all are counted.
    assert [run.train_rows for run in seen] == ["50"] * 4 + ["30"] * 4 + ["all"] * 4


@pytest.mark.parametrize(("n_rows", "n_train", "n_test"), [(150, 90, 60), (30_000, 20_000, 10_000)])
def test_the_test_part_is_bounded(n_rows, n_train, n_test):
    numbered = labelled("numbered", np.arange(n_rows)[:, None], np.arange(n_rows) % 3)
    train, test = parts(numbered, 1, "all")
    assert (len(train.y), len(test.y)) == (n_train, n_test)
    assert sorted([*train.X[:, 0], *test.X[:, 0]]) == list(range(n_rows))
    for part in (train, test):
        np.testing.assert_array_equal(part.y, part.X[:, 0] % 3)
        assert np.ptp(np.bincount(part.y)) <= 1
    few, same = parts(numbered, 1, "30")
    assert len(few.y) == 30
    assert set(few.X[:, 0]) <= set(train.X[:, 0])
    np.testing.assert_array_equal(same.X, test.X)


def test_log_loss_is_clipped():
    y = np.array([0, 1, 1])
    p = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    assert log_loss(y, p) == pytest.approx(sklearn_log_loss(y, p))
    assert log_loss(y[:1], np.array([[0.0, 1.0]])) == pytest.approx(-np.log(1e-15))


@pytest.mark.parametrize(
    "model", [model for model in peers.MODELS if peers.missing_package(model) is None]
)
def test_every_installed_model_learns_iris(model, tmp_path, monkeypatch):
    if model == "qda" and not QDA_HAS_SOLVERS:
        pytest.skip("needs scikit-learn 1.8")
    if model == "realmlp":
        pytest.skip("takes seconds")
    if model == "ebm":  # takes a minute with all its rounds
        make = peers.MODELS["ebm"]
        monkeypatch.setitem(peers.MODELS, "ebm", lambda seed: make(seed).set_params(max_rounds=20))
    monkeypatch.chdir(tmp_path)
    run = run_one(IRIS, 0, model, seed=0, train_rows="3000")
    assert run.error == ""
    assert run.accuracy > 0.75
    assert (run.log_loss is None) == (model in ("svm", "swim"))
    trees = ("forest", "extratrees", "boosting", "xgboost", "lightgbm", "catboost", "ebm")
    assert (run.parameters is None) == (model in trees)
    package = peers.PACKAGES.get(model, "")
    assert run.package.startswith(package)
    assert run.package.endswith(version(run.package.split()[0]) if package else "")
    assert list(tmp_path.iterdir()) == []  # no model writes files


def test_parameters_are_those_of_the_weights():
    clf = region_design(random_state=0).fit(IRIS.X, IRIS.y)
    layers = (*clf.network_.weights, *clf.network_.biases)
    assert peers.n_parameters(clf) == sum(part.size for part in layers)
    mlp = peers.MODELS["mlp"](0).set_params(mlpclassifier__max_iter=1)
    with pytest.warns(UserWarning, match="Stochastic Optimizer"):
        mlp.fit(IRIS.X, IRIS.y)
    assert peers.n_parameters(mlp) == (4 + 1) * 100 + (100 + 1) * 3


@pytest.mark.skipif(not QDA_HAS_SOLVERS, reason="needs scikit-learn 1.8")
def test_parameters_of_qda_are_priors_means_and_symmetric_covariances():
    qda = peers.MODELS["qda"](0).fit(IRIS.X, IRIS.y)
    assert peers.n_parameters(qda) == 3 * (1 + 4 + 10)


def test_models_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(peers.PACKAGES, "lda", "no_such_package")
    models, missing = peers.select_models(None)
    assert "lda" not in models
    assert missing["lda"] == (
        "no_such_package is required for the model 'lda'. Install it with: pip install no_such_package"
    )
    with pytest.raises(ImportError, match="pip install no_such_package"):
        peers.select_models(["svm", "lda"])
    with pytest.raises(ValueError, match=r"Unknown model 'mars'. Available: ffmlp, ffmlp-smooth, "):
        peers.select_models(["svm", "mars"])
    assert peers.select_models(["svm", "qda", "svm"]) == (["svm", "qda"], {})
