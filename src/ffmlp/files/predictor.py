"""A model of a data file for prediction alone.

It is read without scikit-learn and skops: to import these takes longer than to predict a million rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.files.interface import Interface
from ffmlp.files.preparation import Preparation
from ffmlp.model_files import Node, check_part, checked_payload, damaged
from ffmlp.network import Network
from ffmlp.prediction import class_probabilities, most_probable_classes
from ffmlp.regions import Regions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Predictor(Interface):
    """What a model that ``ffmlp fit`` made says of rows."""

    preparation: Preparation
    network: Network
    regions: Regions | None

    @property
    def labels(self) -> NDArray:
        """The classes."""
        return self.network.labels

    def check(self) -> None:
        """Raise an error if the parts do not fit together."""
        kinds = (self.preparation.medians, self.numbers), (self.preparation.encodings, self.categories)
        for parts, columns in kinds:
            if len(parts) != len(columns):
                raise ValueError(f"{len(parts)} preparations of {len(columns)} columns")
        probe = np.zeros((1, self.preparation.n_inputs))
        probability = class_probabilities(self.network, self.regions, probe)
        if probability.shape != (1, len(self.labels)):
            raise ValueError(f"{probability.shape[1]} outputs for {len(self.labels)} classes")

    def probabilities(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """The probability of each class, for rows of features."""
        return class_probabilities(self.network, self.regions, self.preparation.inputs(features))

    def classes(self, features: pd.DataFrame) -> NDArray[np.intp]:
        """The most probable class of each row of features, as an index into the labels."""
        return most_probable_classes(self.network, self.regions, self.preparation.inputs(features))


def read_predictor(path: Path) -> Predictor | None:
    """Read a model file; None if it is of another kind, which ``TableModel.load`` may be able to read.

    Raises
    ------
    ValueError
        If it is no model file, was cut short or changed, or has a newer format.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file.")
    payload = checked_payload(path)
    try:
        return _predictor(payload)
    except Exception as error:
        raise damaged(path, error) from error


def _predictor(payload: bytes) -> Predictor | None:
    root = Node.root(payload)
    if root is None:
        return None
    metadata = json.loads(root["metadata"].value())
    interface = Interface.of_metadata(metadata)
    if interface is None or "preparation" not in metadata["table"]:
        return None
    classifier = root["estimator"]["steps"][-1][1]
    predictor = Predictor(
        **vars(interface),
        preparation=Preparation.of_json(metadata["table"]["preparation"]),
        network=classifier["network_"].value(),
        regions=classifier["regions_"].value(),
    )
    check_part(predictor, Predictor, "the model")
    predictor.check()
    return predictor
