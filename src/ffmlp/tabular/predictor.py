"""A model of a data file for prediction alone.

It is read without scikit-learn and skops: to import these takes longer than to predict a million rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats
from ffmlp.inputs.columns import CategoryColumn, Columns
from ffmlp.network.blobs import Familiarity
from ffmlp.network.network import Network
from ffmlp.storage.checks import check_network
from ffmlp.storage.contents import open_model
from ffmlp.storage.model_files import is_json, usable
from ffmlp.tables.blocks import Block
from ffmlp.tabular.interface import Interface, check_columns, interface_of


@dataclass(frozen=True, eq=False)
class Predictor(Interface):
    """What a model that ``ffmlp fit`` made says of rows; ``labels`` are the classes."""

    labels: NDArray
    network: Network

    @property
    def n_inputs(self) -> int:
        """The number of inputs of the network."""
        return self.network.layer_sizes[0]

    @property
    def table(self) -> Columns:
        """The columns as the network knows them."""
        return self.network.table

    def probabilities(self, block: Block) -> NDArray[np.float64]:
        """The probability of each class, for rows of features."""
        return self.network.probabilities(self._inputs(block))

    def classes(self, block: Block) -> NDArray[np.intp]:
        """The most probable class of each row of features, as an index into the labels."""
        return self.network.classes(self._inputs(block))

    def familiarity(self, block: Block, keep: float) -> Familiarity:
        """How familiar each row of features is."""
        return self.network.familiarity(self._inputs(block), keep)

    def _inputs(self, block: Block) -> AnyFloats:
        """The inputs of the network for the cells of a block, whose numbers come first."""
        numbers = dict(zip(self.numbers, block.numbers.T, strict=True))
        texts = dict(zip(self.categories, block.texts, strict=True))
        cells = [
            texts[part.name].cells(part.categories)
            if isinstance(part, CategoryColumn)
            else numbers[part.name]
            for part in self.table.parts
        ]
        return self.table.inputs(np.vstack(cells).T)


def read_predictor(path: Path) -> Predictor | None:
    """Read a model file; None if that takes scikit-learn: a pipeline, a model without a table, JSON.

    A ValueError says what is wrong with the file, as `TableModel.load` would.
    """
    if is_json(path):
        return None
    root = open_model(path)
    with usable(path):
        interface = interface_of(json.loads(root["metadata"].value()))
    classifier = root["estimator"]
    if not root.is_known or interface is None or classifier.kind != "classifier":
        return None
    with usable(path):
        parts = classifier.attributes
        network, labels = parts["network_"].value(), parts["classes_"].value()
        names = parts["feature_names_in_"].value() if "feature_names_in_" in parts else None
        check_network(network, parts["n_features_in_"].value(), labels, names)
        check_columns(interface, network)
    return Predictor(**vars(interface), labels=labels, network=network)
