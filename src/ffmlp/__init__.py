"""Multilayer perceptrons that are designed in one feedforward pass instead of trained."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.design.discriminants import two_class_lda
    from ffmlp.design.pruning import PruningPath
    from ffmlp.explanations.describe import export_text, hyperplane_meaning
    from ffmlp.explanations.effects import EffectCurve, effect_curves
    from ffmlp.explanations.explain import Explanations
    from ffmlp.explanations.explanation import Explanation
    from ffmlp.explanations.importance import FeatureImportance, feature_importance
    from ffmlp.export import from_torch
    from ffmlp.merging import merge
    from ffmlp.model.blobs import Blobs
    from ffmlp.model.hyperplanes import Hyperplanes
    from ffmlp.model.network import Network
    from ffmlp.model.regions import Regions
    from ffmlp.robustness.distance import Robustness
    from ffmlp.storage.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "Blobs",
    "EffectCurve",
    "Explanation",
    "Explanations",
    "FFMLPClassifier",
    "FeatureImportance",
    "Hyperplanes",
    "Network",
    "PruningPath",
    "Regions",
    "Robustness",
    "effect_curves",
    "export_text",
    "feature_importance",
    "from_torch",
    "hyperplane_meaning",
    "load",
    "merge",
    "register_skl2onnx_converter",
    "save",
    "two_class_lda",
]

# Imported when first used: scikit-learn takes a second to import, and ``ffmlp --help`` does not need it.
_HOMES = {
    "Blobs": "model.blobs",
    "EffectCurve": "explanations.effects",
    "Explanation": "explanations.explanation",
    "Explanations": "explanations.explain",
    "FFMLPClassifier": "classifier",
    "FeatureImportance": "explanations.importance",
    "Hyperplanes": "model.hyperplanes",
    "Network": "model.network",
    "PruningPath": "design.pruning",
    "Regions": "model.regions",
    "Robustness": "robustness.distance",
    "effect_curves": "explanations.effects",
    "export_text": "explanations.describe",
    "feature_importance": "explanations.importance",
    "from_torch": "export",
    "hyperplane_meaning": "explanations.describe",
    "load": "storage.persistence",
    "merge": "merging",
    "register_skl2onnx_converter": "onnx_converter",
    "save": "storage.persistence",
    "two_class_lda": "design.discriminants",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"ffmlp.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
