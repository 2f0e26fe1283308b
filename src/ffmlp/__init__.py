"""Multilayer perceptrons that are designed in one feedforward pass instead of trained."""

from ffmlp.blobs import Blobs
from ffmlp.classifier import FFMLPClassifier
from ffmlp.distance import Robustness, robustness
from ffmlp.export import from_torch
from ffmlp.hyperplanes import Hyperplanes, two_class_lda
from ffmlp.network import Network
from ffmlp.persistence import load, save
from ffmlp.pruning import PruningPath
from ffmlp.regions import Regions

__version__ = "0.1.0"

__all__ = [
    "Blobs",
    "FFMLPClassifier",
    "Hyperplanes",
    "Network",
    "PruningPath",
    "Regions",
    "Robustness",
    "from_torch",
    "load",
    "robustness",
    "save",
    "two_class_lda",
]
