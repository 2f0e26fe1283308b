import numpy as np
from numpy.typing import NDArray

def grow(
    ranks: NDArray[np.int16],
    targets: NDArray[np.int32],
    rows: NDArray[np.int32],
    nodes: NDArray[np.int32],
    totals: NDArray[np.int32],
    n_features: int,
    seed: int,
    fewest: int,
    prior: float,
    is_random: bool,
    /,
) -> int: ...
def subtract(
    rows: NDArray[np.int32],
    nodes: NDArray[np.int32],
    values: NDArray[np.float64],
    targets: NDArray[np.int32],
    /,
) -> None: ...
def descend(
    ranks: NDArray[np.int16],
    rows: NDArray[np.int32],
    nodes: NDArray[np.int32],
    found: NDArray[np.int32],
    /,
) -> None: ...
