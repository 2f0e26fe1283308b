"""The time of explanations and distances on B.C.W., the gap between bounds, and attacks.

python benchmarks/explanations.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer

from ffmlp import FFMLPClassifier
from ffmlp.reproduction.experiments import Settings, design, split_of, trained
from ffmlp.reproduction.reported import ROWS_BY_KEY
from ffmlp.robustness.attacks import fgsm, hop_skip_jump, pgd, random_search

DESIGNS = {
    "region": FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0),
    "region, all hyperplanes": FFMLPClassifier(2, design="region", error_threshold=None, random_state=0),
    "blob": FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0),
    "blob, gaussianised": FFMLPClassifier(2, design="blob", gaussianise=True, random_state=0),
    "readout": FFMLPClassifier(design="readout", gaussianise=False, max_leaves=0),
    "readout, gaussianised": FFMLPClassifier(design="readout", gaussianise=True, max_leaves=0),
}


RADIUS = 0.2
N_ATTACKED = 100


def main() -> None:
    times()
    attacked()


def attacked() -> None:
    """The number of samples of 4-new-moons whose class each attack changes."""
    train, test = split_of(ROWS_BY_KEY["four_moons"], Settings(), 0)
    clf = design(ROWS_BY_KEY["four_moons"], train, 0)
    X = test.X[:N_ATTACKED]
    models = {"FF-MLP": clf}
    for start, name in (("ff", "BP from FF-MLP"), ("random", "BP")):
        models[name] = trained(clf, start, train, test, 0)
    print(f"\n4-new-moons: predictions of {N_ATTACKED} test samples that change within {RADIUS}")
    print("\n| network | FGSM | PGD | random search | HopSkipJump | exact |")
    print("|---|---|---|---|---|---|")
    for name, model in models.items():
        attacks = [attack(model, X, RADIUS, 2) for attack in (fgsm, pgd, random_search)]
        distances = [attack.distance for attack in attacks] + [hop_skip_jump(model, X).distance]
        # A step of this length is rounded.
        reached = RADIUS * (1 + 1e-9)
        cells = [f"{np.count_nonzero(distance <= reached)}" for distance in distances]
        exact = clf.robustness(X).distance if model is clf else None
        cells.append("–" if exact is None else f"{np.count_nonzero(exact <= RADIUS)}")
        print(f"| {name} | {' | '.join(cells)} |")


def times() -> None:
    """Seconds for explanations and distances of each design."""
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
            nearest = clf.robustness(X, norm, scale=X.std(axis=0))
            cells.append(f"{perf_counter() - start:.2f}")
            if norm == 2:
                gap = np.median(nearest.lower / nearest.distance)
                ratio = "exact" if nearest.exact.all() else f"{gap:.2f}"
        print(f"| {name} | {' | '.join(cells)} | {ratio} |")


if __name__ == "__main__":
    main()
