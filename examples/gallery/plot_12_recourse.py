"""
What would have to change
=========================

``recourse`` finds the cheapest change of a row that a person can make, and proves that none is cheaper. Here the
years of employment cannot fall, the purpose is fixed, and an application that was refused asks for "yes". (Needs pandas.)
"""

from ffmlp import FFMLPClassifier
from ffmlp.datasets import make_loans
from ffmlp.plots import ChangeDisplay

loans = make_loans()
X, y = loans.drop(columns=["application", "approved"]), loans.approved
clf = FFMLPClassifier(design="readout", max_neurons=30, random_state=0).fit(X, y)
refused = X[(clf.predict(X) == "no") & (clf.predict_proba(X)[:, 1] > 0.2) & (X.amount < 12_000)].iloc[
    [0]
]
print(refused.to_string(index=False))

(found,) = clf.recourse(
    refused,
    wanted="yes",
    frozen=["purpose", "housing"],
    rising=["years_employed"],
    max_changed=1,
    n_answers=2,
)
print(found)

# %%
# Without limits, the smallest change spreads over several columns.

# sphinx_gallery_alternative_text = "Bars of the smallest change of a refused application: how far income, amount and years of employment would have to move."

(explanation,) = clf.explain(refused, counterfactual=True, norm="inf")
ChangeDisplay.from_explanation(explanation)
