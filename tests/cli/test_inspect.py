import json

import ffmlp
from ffmlp.cli import main


def test_inspect_shows_what_a_model_contains(iris, capsys):
    path = iris / "iris.model"
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "target:      species" in out
    assert "classes:     setosa (50 rows), versicolor (50 rows), virginica (50 rows)" in out
    assert "numeric:     sepal length, sepal width, petal length, petal width" in out
    assert "categorical: size" in out
    assert out.rstrip().endswith(str(ffmlp.load(path).selection_))
    assert main(["inspect", str(path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["layers"] == list(ffmlp.load(path).network_.layer_sizes)
    assert values["labels"] == ["setosa", "versicolor", "virginica"]
    assert len(values["plans"]) == len(ffmlp.load(path).selection_.plans)
