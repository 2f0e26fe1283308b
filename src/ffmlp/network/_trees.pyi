import numpy as np
from numpy.typing import NDArray

def leaves(
    places: NDArray[np.int32],
    leaves: NDArray[np.int32],
    starts: NDArray[np.int32],
    responses: NDArray[np.float32],
    found: NDArray[np.int32],
) -> None: ...
def add_values(
    places: NDArray[np.int32],
    leaves: NDArray[np.int32],
    starts: NDArray[np.int32],
    responses: NDArray[np.float32],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None: ...
def decide(
    places: NDArray[np.int32],
    leaves: NDArray[np.int32],
    starts: NDArray[np.int32],
    responses: NDArray[np.float32],
    order: NDArray[np.int32],
    values: NDArray[np.float32],
    least: NDArray[np.float32],
    most: NDArray[np.float32],
    margin: float,
    sums: NDArray[np.float32],
    classes: NDArray[np.int32],
) -> None: ...
def shapley_values(
    places: NDArray[np.int32],
    leaves: NDArray[np.int32],
    starts: NDArray[np.int32],
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    values: NDArray[np.float64],
    winner: NDArray[np.int32],
    rival: NDArray[np.int32],
    shapley: NDArray[np.float64],
) -> None: ...
