"""How far two sets of samples are apart, by the blobs that they lie in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats, Indices
from ffmlp.network.blobs import Familiarity
from ffmlp.network.network import Network

Counts = NDArray[np.int64]

# Random divisions of all samples into two sets, to which the distance is compared.
_N_DIVISIONS = 999


@dataclass(frozen=True, eq=False)
class Drift:
    """The places of two sets of samples: G blobs, and a last place for unfamiliar samples.

    Attributes
    ----------
    names : tuple of str
        The name of each place.
    before, after : ndarray of shape (G + 1,)
        The samples of each set in each place.
    distance : float
        The total variation distance of the two: the share of samples that would have to move to another
        place, from 0 to 1.
    by_chance : float
        The mean distance if all samples are divided at random into two sets of these sizes.
    p_value : float
        The share of such divisions whose distance is at least as large, one more than 999 of them.
    """

    names: tuple[str, ...]
    before: Counts
    after: Counts
    distance: float
    by_chance: float
    p_value: float

    @classmethod
    def between(cls, network: Network, before: Counts, after: Counts) -> Drift:
        """The drift between samples that are counted by `occupancy`. Deterministic."""
        for name, counts in (("before", before), ("after", after)):
            if not counts.sum():
                raise ValueError(f"There are no samples {name}.")
        rng, distance = np.random.default_rng(0), _distances(before, after)
        drawn = rng.multivariate_hypergeometric(
            before + after, before.sum(), _N_DIVISIONS, method="marginals"
        )
        random = _distances(drawn, before + after - drawn)
        # Rounding must not decide between equal distances.
        larger = np.sum(random >= distance - 1e-12)
        labels = network.labels[network.blob_classes].tolist()
        names = (*(f"blob {number} ({label})" for number, label in enumerate(labels)), "unfamiliar")
        p_value = float((1 + larger) / (1 + _N_DIVISIONS))
        return cls(names, before, after, float(distance), float(random.mean()), p_value)

    @property
    def shares(self) -> Floats:
        """The share (2, G + 1) of the samples of each set in each place."""
        return np.stack([self.before / self.before.sum(), self.after / self.after.sum()])

    @property
    def order(self) -> Indices:
        """The places (G + 1,), the most changed first."""
        before, after = self.shares
        return np.argsort(-np.abs(after - before), kind="stable")

    def __str__(self) -> str:
        before, after = self.shares[:, -1]
        return (
            f"{self.distance:.1%} of the samples would have to move to another blob; by chance "
            f"{self.by_chance:.1%} (p = {self.p_value:.3f}). Unfamiliar samples: {before:.1%} before, "
            f"{after:.1%} after."
        )


def occupancy(network: Network, familiarity: Familiarity) -> Counts:
    """The number of samples (G + 1,) in each blob, and of unfamiliar ones."""
    n_blobs = len(network.blob_classes)
    blobs = np.where(familiarity.familiar, familiarity.nearest, n_blobs)
    return np.bincount(blobs, minlength=n_blobs + 1)


def _distances(before: Counts, after: Counts) -> Floats:
    """Total variation distances along the last axis."""
    totals = (part.sum(axis=-1, keepdims=True) for part in (before, after))
    first, second = (part / total for part, total in zip((before, after), totals, strict=True))
    return 0.5 * np.abs(first - second).sum(axis=-1)
