"""Whether a model was fitted to some rows: a few hashes of its rows are stored with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.tables.tables import pandas

if TYPE_CHECKING:
    import pandas as pd

# The smallest hashes are a random sample of the rows: of any other rows, those with small hashes tell
# how many are the same.
_MAX_HASHES = 1000
_BITS = 48  # JSON numbers are exact up to 53


def row_hashes(X: pd.DataFrame, labels: NDArray) -> NDArray[np.uint64]:
    """A hash of the values and of the label of each row; it does not depend on the type of the file."""
    columns = {
        number: column if column.dtype == float else column.astype(object)
        for number, (_, column) in enumerate(X.items())
    }
    columns[len(columns)] = pandas().Series(labels.astype(str).astype(object), X.index)
    hashes = pandas().util.hash_pandas_object(pandas().DataFrame(columns), index=False)
    return hashes.to_numpy() >> np.uint64(64 - _BITS)


def stored_hashes(hashes: NDArray[np.uint64]) -> list[int]:
    """The smallest hashes, to be stored with a model."""
    return np.unique(hashes)[:_MAX_HASHES].tolist()


def share_seen(hashes: NDArray[np.uint64], stored: list[int]) -> float | None:
    """The share of rows that a model was fitted to; None if too few can be compared.

    It is exact for models of at most 1000 different rows, otherwise an estimate.
    """
    limit = max(stored) if len(stored) == _MAX_HASHES else 2**_BITS
    compared = hashes[hashes <= limit]
    return float(np.isin(compared, np.array(stored, np.uint64)).mean()) if len(compared) else None
