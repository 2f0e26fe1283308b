"""
Designed or trained
===================

The same architecture, trained by backpropagation: from random weights, and from the designed ones. The design
is where random weights do not get in fifty epochs.
"""

# sphinx_gallery_alternative_text = "Accuracy against epochs: the curve from random weights climbs slowly, the curve from the designed weights begins high and jumps below its start in some epochs."

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from ffmlp import FFMLPClassifier
from ffmlp.backprop import BackpropClassifier
from ffmlp.datasets import load
from ffmlp.plots import AccuracyCurvesDisplay

train, test = load("four_moons").split(0)
scaler = StandardScaler().fit(train.X)
X, X_test = scaler.transform(train.X), scaler.transform(test.X)
clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X, train.y)
sizes = clf.network_.layer_sizes[1:3]
starts = {
    f"from random weights, {sizes[0]} and {sizes[1]} neurons": BackpropClassifier(sizes, random_state=0),
    "from the design": BackpropClassifier(initial_network=clf.network_, random_state=0),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, (title, trained) in zip(axes, starts.items(), strict=True):
    trained.fit(X, train.y, X_test, test.y)
    AccuracyCurvesDisplay.from_estimator(trained, title=title, ax=ax)

# %%
print(f"designed in {1e3 * sum(clf.timings_.values()):.0f} ms: {clf.score(X_test, test.y):.4f}")
for title, trained in starts.items():
    seconds = trained.history_.seconds[-1]
    print(f"{title}, {1e3 * seconds:.0f} ms: {trained.history_.test_accuracy[-1]:.4f}")
