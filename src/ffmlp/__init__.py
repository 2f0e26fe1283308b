"""Multilayer perceptrons that are designed in one feedforward pass instead of trained."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.design.lda import two_class_lda
    from ffmlp.design.pruning import PruningPath
    from ffmlp.explain.decisions import Explanations
    from ffmlp.explain.explanation import Explanation
    from ffmlp.explain.whole_model import (
        EffectCurve,
        FeatureImportance,
        effect_curves,
        export_text,
        feature_importance,
        hyperplane_meaning,
    )
    from ffmlp.export import from_torch, register_skl2onnx_converter
    from ffmlp.merging import merge
    from ffmlp.network.blobs import Blobs
    from ffmlp.network.hyperplanes import Hyperplanes
    from ffmlp.network.network import Network
    from ffmlp.network.region import Regions
    from ffmlp.robustness.distance import Robustness
    from ffmlp.storage.model_files import load, save

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
    "Blobs": "network.blobs",
    "EffectCurve": "explain.whole_model",
    "Explanation": "explain.explanation",
    "Explanations": "explain.decisions",
    "FFMLPClassifier": "classifier",
    "FeatureImportance": "explain.whole_model",
    "Hyperplanes": "network.hyperplanes",
    "Network": "network.network",
    "PruningPath": "design.pruning",
    "Regions": "network.region",
    "Robustness": "robustness.distance",
    "effect_curves": "explain.whole_model",
    "export_text": "explain.whole_model",
    "feature_importance": "explain.whole_model",
    "from_torch": "export",
    "hyperplane_meaning": "explain.whole_model",
    "load": "storage.model_files",
    "merge": "merging",
    "register_skl2onnx_converter": "export",
    "save": "storage.model_files",
    "two_class_lda": "design.lda",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"ffmlp.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
