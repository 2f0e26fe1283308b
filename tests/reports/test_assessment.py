import numpy as np
import pytest
from iris_files import fit_incomplete_iris

from ffmlp.model.network import Network
from ffmlp.reports import assessment
from ffmlp.reports.assessment import HyperplaneEffects, Importance, Outcome, read_rows
from ffmlp.tables.opening import open_table
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")


def test_assessment_against_plain_counting(tmp_path):
    for package in ("tqdm", "skops"):
        pytest.importorskip(package)
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
    assert effects.slopes.shape == (len(model.classifier.hyperplanes_), model.n_inputs)
    assert (np.diff(effects.effects[effects.order]) <= 0).all()


def test_of_many_columns_only_those_with_the_largest_attributions_are_shuffled(tmp_path, monkeypatch):
    for package in ("tqdm", "skops"):
        pytest.importorskip(package)
    iris = fit_incomplete_iris(tmp_path)
    model = TableModel.load(iris / "iris.model")
    rows = read_rows(model, open_table(iris / "iris.csv"))
    attributions = HyperplaneEffects.of(model, rows).attributions
    whole, asked, classes = Importance.of(model, rows, attributions), [], Network.classes
    monkeypatch.setattr(Network, "classes", lambda *given: asked.append(0) or classes(*given))
    monkeypatch.setattr(assessment, "_MAX_COLUMNS_PERMUTED", 2)
    importance = Importance.of(model, rows, attributions)
    largest = np.argsort(-attributions)[:2]
    assert set(importance.columns) == {model.table.names[column] for column in largest}
    assert len(asked) == 1 + 2 * 5
    for name, loss in zip(importance.columns, importance.losses, strict=True):
        assert loss == whole.losses[whole.columns.index(name)]
