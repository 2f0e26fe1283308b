import numpy as np
from numpy.typing import NDArray

def interpolate(
    values: NDArray[np.float64],
    knots: NDArray[np.float64],
    scores: NDArray[np.float64],
    results: NDArray[np.float64],
) -> None: ...
