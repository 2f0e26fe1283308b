"""How long explanations and distances take on B.C.W., and how far bounds are apart.

python benchmarks/explanations.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer

from ffmlp import FFMLPClassifier, robustness

DESIGNS = {
    "region": FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0),
    "region, all hyperplanes": FFMLPClassifier(2, design="region", error_threshold=None, random_state=0),
    "blob": FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0),
    "blob, gaussianised": FFMLPClassifier(2, design="blob", gaussianise=True, random_state=0),
    "readout": FFMLPClassifier(design="readout", gaussianise=False),
    "readout, gaussianised": FFMLPClassifier(design="readout", gaussianise=True),
}


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    thousand = np.vstack([X, X])[:1000]
    print(
        "| design | explain 1000 samples, s | distance, s (569 samples): L2 | L1 | L∞ | lower / found |"
    )
    print("|---|---|---|---|---|---|")
    for name, clf in DESIGNS.items():
        clf.fit(X, y)
        start = perf_counter()
        clf.explain(thousand)
        cells = [f"{perf_counter() - start:.3f}"]
        ratio = ""
        for norm in (2, 1, "inf"):
            start = perf_counter()
            found = robustness(clf, X, norm, scale=X.std(axis=0))
            cells.append(f"{perf_counter() - start:.2f}")
            if norm == 2:
                ratio = (
                    "exact" if found.exact.all() else f"{np.median(found.lower / found.distance):.2f}"
                )
        print(f"| {name} | {' | '.join(cells)} | {ratio} |")


if __name__ == "__main__":
    main()
