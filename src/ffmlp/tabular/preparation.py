"""Before the classifier of a data file: medians for missing numbers, inputs for categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.tables.blocks import Block, Texts

# What a missing category is called.
MISSING_CATEGORY = "missing"


@dataclass(frozen=True)
class Encoding:
    """The categories of a column. Each frequent one has an input; the rare ones, if any, share the last.

    A category that is not known counts as a rare one, or has no input where there are none.
    """

    frequent: tuple[str, ...]
    rare: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """All categories."""
        return self.frequent + self.rare

    @property
    def n_inputs(self) -> int:
        """How many inputs they have."""
        return len(self.frequent) + (1 if self.rare else 0)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {category: place for place, category in enumerate(self.known)}

    def places(self, cells: Texts) -> NDArray[np.intp]:
        """The place of each cell among the known categories, -1 if it is unknown."""
        own = [self._places.get(text, -1) for text in (*cells.distinct, MISSING_CATEGORY)]
        return np.array(own)[cells.places]  # the last one is that of missing cells

    def inputs(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """The inputs of categories that are given by their places."""
        n_frequent = len(self.frequent)
        own = np.where((places >= 0) & (places < n_frequent), places, n_frequent)
        return np.eye(n_frequent + 1)[: self.n_inputs].take(own, axis=1).T


@dataclass(frozen=True, eq=False)
class Preparation:
    """The median of each column of numbers and the encoding of each one of categories."""

    medians: NDArray[np.float64]
    encodings: tuple[Encoding, ...]

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Preparation:
        """What `to_json` gave; an error of any kind if it was changed."""
        encodings = [Encoding(*map(tuple, categories)) for categories in values["encodings"]]
        if any(len(set(encoding.known)) < len(encoding.known) for encoding in encodings):
            raise ValueError("a category is there twice")
        medians = np.array(values["medians"], np.float64)
        if not np.isfinite(medians).all():
            raise ValueError("a median is no number")
        return cls(medians, tuple(encodings))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        encodings = [[list(one.frequent), list(one.rare)] for one in self.encodings]
        return {"medians": self.medians.tolist(), "encodings": encodings}

    @property
    def n_inputs(self) -> int:
        """How many features the classifier has."""
        return len(self.medians) + sum(encoding.n_inputs for encoding in self.encodings)

    def inputs(self, block: Block) -> NDArray[np.float64]:
        """What the classifier takes in."""
        missing = np.isnan(block.numbers)
        numbers = np.where(missing, self.medians, block.numbers) if missing.any() else block.numbers
        if not self.encodings:
            return numbers
        encoded = [
            encoding.inputs(encoding.places(texts))
            for encoding, texts in zip(self.encodings, block.texts, strict=True)
        ]
        # Column by column, as the classifier maps them.
        return np.vstack([part.T for part in (numbers, *encoded)]).T
