"""Write the stored models of the present format, one of each design and of a table, and what they say.

    python tests/data/make_models.py

Files of a format that was released are never written again: later versions must read them as they are.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_iris

from ffmlp import FFMLPClassifier, save
from ffmlp.cli import main as cli
from ffmlp.storage.model_files import FORMAT_VERSION
from ffmlp.tabular.table_model import TableModel

PARAMETERS = {
    "paper": {"n_components": 2, "gaussianise": False, "error_threshold": 0.05},
    "region": {"n_components": 2, "gaussianise": False, "error_threshold": 0.05},
    "blob": {"n_components": 2, "gaussianise": False, "error_threshold": 0.05},
    "readout": {"gaussianise": True, "max_leaves": 0},
    "regions": {"design": "readout", "gaussianise": True, "max_leaves": 500},
}


HERE = Path(__file__).parent


def main():
    write_classifiers()
    write_table()


def write_classifiers():
    iris = load_iris()
    samples = np.vstack(
        [iris.data[::15], 3 * iris.data[::30] - 8, np.zeros((1, 4)), [[1e6, -1e6, 1, 1]]]
    )
    for design, parameters in PARAMETERS.items():
        clf = FFMLPClassifier(**{"design": design, "random_state": 0} | parameters)
        clf.fit(iris.data, iris.target_names[iris.target])
        path = HERE / f"{design}-{FORMAT_VERSION}.model"
        save(clf, path)
        expected = {
            "samples": samples.tolist(),
            "labels": clf.predict(samples).tolist(),
            "probabilities": clf.predict_proba(samples).tolist(),
            "first_neuron": clf.network_.meaning(1, 0),
        }
        write_expected(path, expected)


def write_table():
    """What ``ffmlp fit`` makes of numbers and categories, some of them missing and some rare.

    Earlier versions made pipelines of them: ``table-1`` and ``table-2``.
    """
    import pandas as pd  # collecting the tests should not need it

    iris, rng = load_iris(), np.random.default_rng(0)
    rows = pd.DataFrame(iris.data, columns=["a", "b", "c", "d"]).round(1).astype(object)
    rows["town"] = [f"town {number}" for number in rng.geometric(0.04, len(rows))]
    rows = rows.mask(rng.random(rows.shape) < 0.05)
    path = HERE / f"columns-{FORMAT_VERSION}.model"
    with TemporaryDirectory() as folder:
        data = f"{folder}/iris.csv"
        rows.assign(species=iris.target_names[iris.target]).to_csv(data, index=False)
        if cli(["fit", data, "--target", "species", "-o", str(path), "--force", "--quiet"]):
            raise SystemExit("fit failed")
    new = rows.iloc[::10].reset_index(drop=True)
    new.loc[0, "town"] = "elsewhere"
    model = TableModel.load(path)
    expected = {
        "rows": json.loads(new.to_json(orient="records")),
        "labels": model.labels[model.classes(new)].tolist(),
        "probabilities": model.probabilities(new).tolist(),
    }
    write_expected(path, expected)


def write_expected(path, expected):
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
