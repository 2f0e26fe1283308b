"""A model of a data file for prediction alone.

It is read without scikit-learn and skops: to import these takes longer than to predict a million rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.network import Network
from ffmlp.storage.checks import check_network
from ffmlp.storage.model_files import Content, read_content
from ffmlp.storage.schema import Node
from ffmlp.tables.blocks import Block
from ffmlp.tabular.interface import Interface, interface_of
from ffmlp.tabular.preparation import Preparation


@dataclass(frozen=True, eq=False)
class Predictor(Interface):
    """What a model that ``ffmlp fit`` made says of rows; ``labels`` are the classes."""

    preparation: Preparation
    labels: NDArray
    network: Network

    @property
    def n_inputs(self) -> int:
        """How many features the classifier has."""
        return self.preparation.n_inputs

    def probabilities(self, block: Block) -> NDArray[np.float64]:
        """The probability of each class, for rows of features."""
        return self.network.probabilities(self.preparation.inputs(block))

    def classes(self, block: Block) -> NDArray[np.intp]:
        """The most probable class of each row of features, as an index into the labels."""
        return self.network.classes(self.preparation.inputs(block))


def read_predictor(path: Path) -> Predictor | None:
    """Read a model file; None if that takes scikit-learn, or if there is something wrong with the model.

    `TableModel.load` reads it then, or says what is wrong. A ValueError if it is no model file, was cut
    short or changed, or has a newer format.
    """
    content = read_content(path)
    try:
        return _predictor(content)
    except Exception:  # whatever damaged content makes the readers raise
        return None


def _predictor(content: Content) -> Predictor | None:
    root = Node.root(content)
    if not root.is_known:
        return None
    interface = interface_of(json.loads(root["metadata"].value()))
    if interface is None or interface.preparation is None:
        return None
    classifier = root["estimator"]["steps"][-1][1]
    predictor = Predictor(
        **vars(interface), labels=classifier["classes_"].value(), network=classifier["network_"].value()
    )
    preparation = predictor.preparation
    counts = len(preparation.medians), len(preparation.encodings)
    if counts != (len(predictor.numbers), len(predictor.categories)):
        raise ValueError(f"{counts} preparations of other columns")
    check_network(predictor.network, preparation.n_inputs, predictor.labels)
    return predictor
