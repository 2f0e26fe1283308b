"""Draw the decision regions of the three designs for scikit-learn's two moons."""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier
from ffmlp.plots import DecisionRegionsDisplay

DESIGNS = {
    "region: one neuron per occupied region": FFMLPClassifier(
        2, design="region", error_threshold=0.05, random_state=0
    ),
    "blob: one neuron per blob": FFMLPClassifier(3, design="blob", gaussianise=False, random_state=0),
    "readout: the evidence for each class": FFMLPClassifier(design="readout", max_leaves=0),
}


def main(path: Path) -> None:
    X, y = make_moons(600, noise=0.25, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    figure = Figure((15, 4.6), layout="constrained")
    for ax, (title, clf) in zip(figure.subplots(1, 3), DESIGNS.items(), strict=True):
        accuracy = clf.fit(X_train, y_train).score(X_test, y_test)
        sizes = " → ".join(map(str, clf.network_.layer_sizes))
        DecisionRegionsDisplay.from_estimator(
            clf, X_train, y_train, title=f"{title}\n{sizes}, test accuracy {100 * accuracy:.1f} %", ax=ax
        )
    figure.savefig(path, dpi=60)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "three_designs.png"))
