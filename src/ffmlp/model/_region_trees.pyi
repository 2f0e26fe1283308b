import numpy as np
from numpy.typing import NDArray

def regions(
    responses: NDArray[np.float32],
    places: NDArray[np.int32],
    n_nodes: NDArray[np.int32],
    found: NDArray[np.int32],
) -> None: ...
def add_values(
    responses: NDArray[np.float32],
    places: NDArray[np.int32],
    n_nodes: NDArray[np.int32],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None: ...
def shapley_values(
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    places: NDArray[np.int32],
    n_trees: int,
    values: NDArray[np.float64],
    winner: NDArray[np.int32],
    rival: NDArray[np.int32],
    shapley: NDArray[np.float64],
) -> None: ...
