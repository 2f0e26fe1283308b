"""What a network says of samples: the probability of each class, and the most probable one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.network import Network
from ffmlp.model.regions import Regions, find_regions
from ffmlp.model.single_precision import readout_classes
from ffmlp.model.stages import ReadoutStages


def class_probabilities(
    network: Network, regions: Regions | None, X: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The probability (n, C) of each class: the network's, or the frequencies of a sample's region."""
    if regions is None:
        # The shares of a class's blobs may add up to more than 1 by a rounding error.
        return np.minimum(network.outputs(X), 1.0)
    return regions.frequencies[find_regions(network.hyperplanes, regions, X)]


def most_probable_classes(
    network: Network, regions: Regions | None, X: NDArray[np.floating]
) -> NDArray[np.intp]:
    """The argmax (n,) of `class_probabilities`; with regions, in memory that C does not enter."""
    if isinstance(network.stages, ReadoutStages):
        return readout_classes(network, network.stages, X)
    if regions is None:
        return network.outputs(X).argmax(axis=1)
    return regions.classes[find_regions(network.hyperplanes, regions, X)]
