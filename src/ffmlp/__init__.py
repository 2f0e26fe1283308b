"""Multilayer perceptrons that are designed in one feedforward pass instead of trained."""

from ffmlp.blobs import Blobs
from ffmlp.classifier import FFMLPClassifier
from ffmlp.explanations.describe import export_text, hyperplane_meaning
from ffmlp.explanations.explain import Explanations
from ffmlp.explanations.explanation import Explanation
from ffmlp.explanations.importance import FeatureImportance, feature_importance
from ffmlp.export import from_torch
from ffmlp.hyperplanes import Hyperplanes, two_class_lda
from ffmlp.network import Network
from ffmlp.persistence import load, save
from ffmlp.pruning import PruningPath
from ffmlp.regions import Regions
from ffmlp.robust.distance import Robustness, robustness

__version__ = "0.1.0"

__all__ = [
    "Blobs",
    "Explanation",
    "Explanations",
    "FFMLPClassifier",
    "FeatureImportance",
    "Hyperplanes",
    "Network",
    "PruningPath",
    "Regions",
    "Robustness",
    "export_text",
    "feature_importance",
    "from_torch",
    "hyperplane_meaning",
    "load",
    "robustness",
    "save",
    "two_class_lda",
]
