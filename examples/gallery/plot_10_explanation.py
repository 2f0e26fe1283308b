"""
Why a row got its class
=======================

An explanation compares a row with the nearest blob of the next class. What the columns add sums exactly to
the difference of the two leads. (Needs pandas.)
"""

# sphinx_gallery_alternative_text = "A waterfall of bars from the lead at the reference to the lead of the row: each bar is what one column adds."

from ffmlp import FFMLPClassifier
from ffmlp.datasets import make_loans
from ffmlp.plots import ExplanationDisplay

loans = make_loans()
X, y = loans.drop(columns=["application", "approved"]), loans.approved
clf = FFMLPClassifier(max_neurons=30, random_state=0).fit(X, y)
ExplanationDisplay.from_estimator(clf, X, row=5)

# %%
# The same as text, and as numbers: the sum is exact.

explanations = clf.explain(X.iloc[[5]])
print(explanations)
print(explanations.attributions.sum().round(9))
print((explanations.leads - explanations.reference_leads).round(9))
