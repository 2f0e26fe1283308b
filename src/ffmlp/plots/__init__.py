"""Figures of samples, decision regions, responses, explanations, the network itself and comparisons.

Every class computes in a classmethod, keeps what it draws as attributes and draws in ``plot``, as
scikit-learn's displays do; ``plot`` sets ``figure_``, and ``ax_`` or ``axes_``. A title of ``None`` is
replaced by a default, an empty one by none. matplotlib is needed for drawing only. Legends are put
beside the axes, where a figure with ``layout="constrained"`` makes room for them.
"""

from ffmlp.plots.architecture import NetworkDisplay
from ffmlp.plots.curves import AccuracyCurvesDisplay, PruningPathDisplay, RobustAccuracyDisplay
from ffmlp.plots.explanations import CounterfactualsDisplay, ExplanationDisplay
from ffmlp.plots.responses import ResponsesDisplay, TwoNeuronDisplay
from ffmlp.plots.samples import DecisionRegionsDisplay, HyperplanesDisplay, SamplesDisplay
from ffmlp.plots.slices import DecisionSliceDisplay
from ffmlp.plots.tradeoff import AccuracyTimeDisplay
from ffmlp.plots.view import View

__all__ = [
    "AccuracyCurvesDisplay",
    "AccuracyTimeDisplay",
    "CounterfactualsDisplay",
    "DecisionRegionsDisplay",
    "DecisionSliceDisplay",
    "ExplanationDisplay",
    "HyperplanesDisplay",
    "NetworkDisplay",
    "PruningPathDisplay",
    "ResponsesDisplay",
    "RobustAccuracyDisplay",
    "SamplesDisplay",
    "TwoNeuronDisplay",
    "View",
]
