"""
How a column acts
=================

An effect curve is the mean lead of a class while one column takes another value, with the quartiles over
the rows: what a curve hides by its mean, the band shows.
"""

# sphinx_gallery_alternative_text = "One curve for each of the four most important columns of the wine data: the lead of the first class against the value of the column, with a band of quartiles."

from sklearn.datasets import load_wine

from ffmlp import FFMLPClassifier, feature_importance
from ffmlp.plots import EffectsDisplay

wine = load_wine(as_frame=True)
clf = FFMLPClassifier(max_neurons=50, random_state=0).fit(wine.data, wine.target)
EffectsDisplay.from_estimator(clf, wine.data, label=0, max_columns=4)

# %%
# Which columns matter at all? The share of predictions that change if a column takes the value of another row.

print(feature_importance(clf, wine.data))
