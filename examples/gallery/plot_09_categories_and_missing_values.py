"""
Categories and missing values
=============================

A data frame is taken as it is. A category becomes the shares of the classes among its rows, a missing number
its mean given the other columns. Both are part of the network. (Needs pandas.)
"""

# sphinx_gallery_alternative_text = "The effect of each column of the loan table on the lead of the class yes: it rises with the income, falls with the amount, and differs by housing and purpose."

from ffmlp import FFMLPClassifier
from ffmlp.datasets import make_loans
from ffmlp.plots import EffectsDisplay

loans = make_loans()
X, y = loans.drop(columns=["application", "approved"]), loans.approved
print(X.isna().sum()[lambda missing: missing > 0])

clf = FFMLPClassifier(max_neurons=30, random_state=0).fit(X, y)
EffectsDisplay.from_estimator(clf, X, label="yes")

# %%
# A category that was never seen, and a row with nothing but an income and an amount.

odd = X.iloc[:2].copy()
odd.loc[odd.index[0], "housing"] = "houseboat"
odd.loc[odd.index[1], ["years_employed", "housing", "purpose"]] = None
print(odd)
print(clf.predict_proba(odd).round(3))
