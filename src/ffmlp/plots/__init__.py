"""Figures of samples, decision regions, responses, explanations, networks and comparisons.

The displays work like those of scikit-learn. ``from_estimator(estimator, X, y, ...)`` computes what is
shown, keeps it as attributes and draws it; ``plot`` draws it again and sets ``figure_``, and ``ax_`` or
``axes_``. Every option is given by name; the last ones are ``title`` and ``ax`` (or ``figure``). A title
of None gives the default title, an empty one gives none. Without ``ax`` or ``figure``, a new figure is
made. Legends are outside of the axes: a figure with ``layout="constrained"`` leaves space for them.
"""

from ffmlp.plots.comparisons import (
    AccuracyCurvesDisplay,
    AccuracyIntervalsDisplay,
    AccuracyTimeDisplay,
    PruningPathDisplay,
    RobustAccuracyDisplay,
)
from ffmlp.plots.explanations import (
    ChangeDisplay,
    CounterfactualsDisplay,
    DriftDisplay,
    EffectsDisplay,
    ExplanationDisplay,
    FamiliarityDisplay,
)
from ffmlp.plots.networks import NetworkDisplay, ResponsesDisplay, TwoNeuronDisplay
from ffmlp.plots.samples import (
    DecisionRegionsDisplay,
    DecisionSliceDisplay,
    HyperplanesDisplay,
    SamplesDisplay,
)
from ffmlp.plots.view import View

__all__ = [
    "AccuracyCurvesDisplay",
    "AccuracyIntervalsDisplay",
    "AccuracyTimeDisplay",
    "ChangeDisplay",
    "CounterfactualsDisplay",
    "DecisionRegionsDisplay",
    "DecisionSliceDisplay",
    "DriftDisplay",
    "EffectsDisplay",
    "ExplanationDisplay",
    "FamiliarityDisplay",
    "HyperplanesDisplay",
    "NetworkDisplay",
    "PruningPathDisplay",
    "ResponsesDisplay",
    "RobustAccuracyDisplay",
    "SamplesDisplay",
    "TwoNeuronDisplay",
    "View",
]
