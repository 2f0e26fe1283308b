"""Write the stored models of the present format: one of each design, and what it predicts.

    python tests/data/make_models.py

Files of a format that was released are never written again: later versions must read them as they are.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from ffmlp import FFMLPClassifier
from ffmlp.persistence import FORMAT_VERSION

PARAMETERS = {
    "region": {"n_components": 2, "gaussianise": False, "error_threshold": 0.05},
    "blob": {"n_components": 2, "gaussianise": False, "error_threshold": 0.05},
    "readout": {"gaussianise": True},
}


def main():
    iris = load_iris()
    samples = np.vstack(
        [iris.data[::15], 3 * iris.data[::30] - 8, np.zeros((1, 4)), [[1e6, -1e6, 1, 1]]]
    )
    for design, parameters in PARAMETERS.items():
        clf = FFMLPClassifier(design=design, random_state=0, **parameters)
        clf.fit(iris.data, iris.target_names[iris.target])
        path = Path(__file__).parent / f"{design}-{FORMAT_VERSION}.model"
        clf.save(path)
        expected = {
            "samples": samples.tolist(),
            "labels": clf.predict(samples).tolist(),
            "probabilities": clf.predict_proba(samples).tolist(),
            "first_neuron": clf.network_.meaning(1, 0),
        }
        path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
