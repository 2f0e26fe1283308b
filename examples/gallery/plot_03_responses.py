"""
What each region neuron sees
============================

A neuron of the second layer adds up the half-spaces that contain its region and is pulled below zero
by all others. It responds in its own region and nowhere else.
"""

# sphinx_gallery_alternative_text = "One map of the plane for each neuron of the second layer: each is bright in one region between the lines and dark elsewhere."

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import ResponsesDisplay

xor = load("xor")
clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(xor.X, xor.y)
ResponsesDisplay.from_estimator(clf, xor.X, layer=2)
