"""The page of a fitted model that one can use: what is measured, and the network itself."""

from __future__ import annotations

from typing import Any

from ffmlp.classifier import FFMLPClassifier
from ffmlp.storage.json_form import json_form


def blobs_form(clf: FFMLPClassifier) -> dict[str, Any]:
    """What explanations read of the blobs, as JSON values."""
    blobs = clf.blobs_
    parts = {"classes": blobs.classes, "means": blobs.means, "spreads": blobs.feature_spreads}
    return {name: json_form(part) for name, part in parts.items()}
