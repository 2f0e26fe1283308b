"""A model of a data file for prediction alone.

It is read without scikit-learn: to import it takes longer than to predict a million rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats
from ffmlp.inputs.columns import CategoryColumn
from ffmlp.network.blobs import Familiarity
from ffmlp.network.network import Network
from ffmlp.storage.model_files import read_network
from ffmlp.tables.blocks import Block
from ffmlp.tabular.interface import Interface, interface_of


@dataclass(frozen=True, eq=False)
class Predictor(Interface):
    """What a model says of the rows of a table."""

    network: Network

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
            for part in self.network.table.parts
        ]
        return self.network.table.inputs(np.vstack(cells).T)


def read_predictor(path: Path) -> Predictor:
    """Read a model file.

    A ValueError says what is wrong with the file, as `TableModel.load` would.
    """
    saved = read_network(path)
    return Predictor(**vars(interface_of(saved, path)), network=saved.network)
