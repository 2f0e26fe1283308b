import numpy as np
from numpy.typing import NDArray

def read_columns(
    lines: bytes,
    delimiter: str,
    decimal: str,
    places: NDArray[np.int32],
    n_rows: int,
    numbers: NDArray[np.float64],
    bounds: NDArray[np.int64],
) -> bool: ...
def count_delimiters(lines: bytes, delimiter: str) -> int: ...
def cut(lines: bytes, bounds: NDArray[np.int64]) -> list[str]: ...
def distinct(lines: bytes, bounds: NDArray[np.int64], places: NDArray[np.int32]) -> list[str] | None: ...
