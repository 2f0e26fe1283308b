"""What happens to a row before the classifier: medians for missing numbers, one-hot categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.tables.blocks import Block, Texts

# The category of missing cells.
MISSING_CATEGORY = "missing"


@dataclass(frozen=True)
class Encoding:
    """The categories of a column. Each frequent one has an input; the rare ones, if any, share the last.

    An unseen category is treated as a rare one, or has no input if there are no rare ones.
    """

    frequent: tuple[str, ...]
    rare: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """All categories."""
        return self.frequent + self.rare

    @property
    def n_inputs(self) -> int:
        """The number of their inputs."""
        return len(self.frequent) + (1 if self.rare else 0)

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {category: index for index, category in enumerate(self.known)}

    def indices(self, cells: Texts) -> NDArray[np.intp]:
        """The index of each cell among the known categories, -1 if it is not one of them."""
        own = [self._index_of.get(text, -1) for text in (*cells.distinct, MISSING_CATEGORY)]
        return np.array(own)[cells.indices]  # -1, of missing cells, is the last one

    def inputs(self, indices: NDArray[np.intp]) -> Floats:
        """The inputs of categories, given by their indices."""
        n_frequent = len(self.frequent)
        own = np.where((indices >= 0) & (indices < n_frequent), indices, n_frequent)
        return np.eye(n_frequent + 1)[: self.n_inputs].take(own, axis=1).T


@dataclass(frozen=True, eq=False)
class Preparation:
    """The median of each numeric column and the encoding of each categorical one."""

    medians: Floats
    encodings: tuple[Encoding, ...]

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Preparation:
        """From what `to_json` returned; an error of any kind if it was changed."""
        encodings = [Encoding(*map(tuple, categories)) for categories in values["encodings"]]
        if any(len(set(encoding.known)) < len(encoding.known) for encoding in encodings):
            raise ValueError("a category occurs twice")
        medians = np.array(values["medians"], np.float64)
        if not np.isfinite(medians).all():
            raise ValueError("a median is not a finite number")
        return cls(medians, tuple(encodings))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        encodings = [[list(one.frequent), list(one.rare)] for one in self.encodings]
        return {"medians": self.medians.tolist(), "encodings": encodings}

    @property
    def n_inputs(self) -> int:
        """The number of features of the classifier."""
        return len(self.medians) + sum(encoding.n_inputs for encoding in self.encodings)

    def inputs(self, block: Block) -> Floats:
        """The features of the classifier."""
        missing = np.isnan(block.numbers)
        numbers = np.where(missing, self.medians, block.numbers) if missing.any() else block.numbers
        if not self.encodings:
            return numbers
        encoded = [
            encoding.inputs(encoding.indices(texts))
            for encoding, texts in zip(self.encodings, block.texts, strict=True)
        ]
        # Column by column, as the classifier maps them.
        return np.vstack([part.T for part in (numbers, *encoded)]).T
