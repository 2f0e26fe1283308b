"""Before the classifier of a data file: medians for missing numbers, inputs for categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.files.tables import pandas

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.files.tables import Rows

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
    def _index(self) -> pd.Index:
        return pandas().Index(self.known, dtype=object)

    def places(self, cells: pd.Series) -> NDArray[np.intp]:
        """The place of each cell among the known categories, -1 if it is unknown."""
        places: NDArray[np.intp] = self._index.get_indexer(cells)
        return places

    def inputs(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """The inputs of categories that are given by their places."""
        n_frequent = len(self.frequent)
        one_each = np.eye(n_frequent + 1)[:, : self.n_inputs]
        return one_each[np.where((places >= 0) & (places < n_frequent), places, n_frequent)]


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

    def inputs(self, features: Rows) -> NDArray[np.float64]:
        """What the classifier takes in, for columns of numbers and then of categories."""
        if isinstance(features, np.ndarray):
            return self._numbers(features)
        n_numbers = len(self.medians)
        parts = [self._numbers(features.iloc[:, :n_numbers].to_numpy(float))] if n_numbers else []
        for place, encoding in enumerate(self.encodings, start=n_numbers):
            cells = features.iloc[:, place].fillna(MISSING_CATEGORY)
            parts.append(encoding.inputs(encoding.places(cells)))
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def _numbers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        missing = np.isnan(values)
        return np.where(missing, self.medians, values) if missing.any() else values
