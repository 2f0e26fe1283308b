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
from ffmlp.model.columns import CategoryColumn, Columns
from ffmlp.model.familiarity import Familiarity
from ffmlp.model.network import Network
from ffmlp.storage.checks import check_network, check_part
from ffmlp.storage.model_files import Content, read_content
from ffmlp.storage.schema import Node
from ffmlp.tables.blocks import Block
from ffmlp.tabular.interface import Interface, interface_of


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
            part.coded(texts[part.name].indices, texts[part.name].distinct)
            if isinstance(part, CategoryColumn)
            else numbers[part.name]
            for part in self.table.parts
        ]
        return self.table.inputs(np.vstack(cells).T)


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
    classifier = root["estimator"]
    if interface is None or classifier.kind != "classifier":  # a pipeline
        return None
    predictor = Predictor(
        **vars(interface), labels=classifier["classes_"].value(), network=classifier["network_"].value()
    )
    check_part(predictor.network, Network, "network")
    check_network(predictor.network, len(predictor.features), predictor.labels)
    of_network = {part.name: isinstance(part, CategoryColumn) for part in predictor.table.parts}
    if of_network != {name: name in predictor.categories for name in predictor.features}:
        raise ValueError("the columns of the network are not those of the table")
    return predictor
