from dataclasses import replace

import numpy as np
import pytest
from iris_files import fit_incomplete_iris

from ffmlp.network.network import Network
from ffmlp.report import assessment
from ffmlp.report.assessment import (
    HyperplaneEffects,
    Importance,
    Outcome,
    read_rows,
    standard_deviations,
)
from ffmlp.report.model_report import outcome, seen_text
from ffmlp.tables.opening import open_table
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")


def test_assessment_against_plain_counting(tmp_path):
    pytest.importorskip("tqdm")
    iris = fit_incomplete_iris(tmp_path)
    model = TableModel.load(iris / "iris.model")
    rows = read_rows(model, open_table(iris / "iris.csv"))
    predicted = [model.classifier.classes_[number] for number in rows.predicted]
    truth = pd.read_csv(iris / "iris.csv")["species"].tolist()
    assert rows.seen == 1.0
    counts = Outcome.of_rows(rows).confusion.counts
    for i, true_class in enumerate(model.classifier.classes_):
        for j, predicted_class in enumerate(model.classifier.classes_):
            pairs = zip(truth, predicted, strict=True)
            assert counts[i, j] == sum(pair == (true_class, predicted_class) for pair in pairs)
    effects = HyperplaneEffects.of(model, rows)
    importance = Importance.of(model, rows, effects.attributions)
    assert set(importance.columns[:2]) == {"petal length", "petal width"}
    assert (np.diff(importance.losses) <= 0).all()
    assert effects.slopes.shape == model.classifier.hyperplanes_.weights.shape


@pytest.mark.parametrize(
    ("seen", "about"),
    [(1.0, "these"), (0.9996, "about 99% of these"), (0.5, "about 50% of these"), (1e-5, "about 1%")],
)
def test_rows_that_were_nearly_all_seen_are_not_those_of_the_accuracy(tmp_path, seen, about):
    pytest.importorskip("tqdm")
    iris = fit_incomplete_iris(tmp_path)
    model = TableModel.load(iris / "iris.model")
    rows = replace(read_rows(model, open_table(iris / "iris.csv")), seen=seen)
    assert f"The model was fitted to {about}" in seen_text(rows)
    n_rows = outcome(model, rows).confusion.counts.sum()
    assert n_rows == (model.facts["evaluation"]["n_rows"] if seen > 0.9 else len(rows.X))


def test_of_many_columns_only_those_with_the_largest_attributions_are_shuffled(tmp_path, monkeypatch):
    pytest.importorskip("tqdm")
    iris = fit_incomplete_iris(tmp_path)
    model = TableModel.load(iris / "iris.model")
    rows = read_rows(model, open_table(iris / "iris.csv"))
    attributions = HyperplaneEffects.of(model, rows).attributions
    whole, asked, classes = Importance.of(model, rows, attributions), [], Network.classes
    monkeypatch.setattr(Network, "classes", lambda *given: asked.append(0) or classes(*given))
    monkeypatch.setattr(assessment, "_MAX_COLUMNS_PERMUTED", 2)
    importance = Importance.of(model, rows, attributions)
    largest = np.argsort(-attributions)[:2]
    assert set(importance.columns) == {model.network.table.names[column] for column in largest}
    assert len(asked) == 1 + 2 * 5
    for name, loss in zip(importance.columns, importance.losses, strict=True):
        assert loss == whole.losses[whole.columns.index(name)]


@pytest.mark.filterwarnings("error")
def test_deviations_of_huge_columns_are_numbers():
    inputs = np.random.default_rng(0).normal(size=(50, 3))
    plain = inputs.std(axis=0)
    np.testing.assert_array_equal(standard_deviations(inputs), plain)
    np.testing.assert_allclose(
        standard_deviations(inputs * [1e200, 1e307, 0.0]) / [1e200, 1e307, 1], plain * [1, 1, 0]
    )
