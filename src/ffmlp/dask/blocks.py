"""Dask arrays and data frames as blocks of rows: samples, labels and weights side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed

_FIT_ALL = "Pass collections with the same partitions, for example columns of one data frame."


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: samples (n, M), labels (n,), and weights (n,) or None."""

    X: Any
    y: Any
    weight: Any = None


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return is_dask_collection(X) and hasattr(X, "map_partitions") and X.ndim == 2


def is_array(X: Any) -> bool:
    """Whether X is a two-dimensional Dask array."""
    return isinstance(X, da.Array) and X.ndim == 2


def blocks(X: Any, y: Any, sample_weight: Any = None) -> list[Delayed]:
    """One `Block` for each partition, computed when it is needed.

    Everything that a block consists of is in one graph, so that it is computed once.
    """
    if not (is_frame(X) or is_array(X)):
        raise TypeError(
            f"X must be a Dask data frame or a Dask array of two dimensions, got {_described(X)}. Use "
            "ffmlp.FFMLPClassifier for data in memory."
        )
    others = {"y": y, "sample_weight": sample_weight}
    if sample_weight is None:
        del others["sample_weight"]
    return _of_frame(X, others) if is_frame(X) else _of_array(X, others)


def _of_frame(X: Any, others: dict[str, Any]) -> list[Delayed]:
    if all(hasattr(other, "map_partitions") for other in others.values()):
        for name, other in others.items():
            _require_one_dimension(name, other)
            if other.npartitions != X.npartitions:
                raise ValueError(
                    f"{name} has {other.npartitions} partitions, but X has {X.npartitions}. {_FIT_ALL}"
                )
        # What comes of a partition is a block, of which Dask need not know more.
        joined = X.map_partitions(
            Block,
            *others.values(),
            meta=X._meta,  # noqa: SLF001
            enforce_metadata=False,
            align_dataframes=False,
        )
        return list(joined.to_delayed())
    return _zipped(X.to_delayed(optimize_graph=False), X.npartitions, others)


def _of_array(X: Any, others: dict[str, Any]) -> list[Delayed]:
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if not np.isnan(X.shape[0]):
        for name, other in others.items():
            if isinstance(other, np.ndarray):
                other = da.from_array(other, chunks=-1)
            if isinstance(other, da.Array) and not np.isnan(other.shape[0]):
                _require_one_dimension(name, other)
                if other.shape[0] != X.shape[0]:
                    raise ValueError(
                        f"{name} must have one entry for each of the {X.shape[0]} samples, got shape "
                        f"{other.shape}."
                    )
                others[name] = other.rechunk((X.chunks[0],))
    return _zipped(X.to_delayed(optimize_graph=False).ravel(), X.numblocks[0], others)


def _zipped(samples: Any, n_blocks: int, others: dict[str, Any]) -> list[Delayed]:
    """Blocks of collections that are cut alike; graphs are not optimised, so that they share tasks."""
    columns = []
    for name, other in others.items():
        if not is_dask_collection(other) or not hasattr(other, "to_delayed"):
            raise TypeError(
                f"{name} must be a Dask array or series, got {_described(other)}. {_FIT_ALL}"
            )
        _require_one_dimension(name, other)
        parts = np.ravel(np.array(other.to_delayed(optimize_graph=False), object)).tolist()
        if len(parts) != n_blocks:
            raise ValueError(f"{name} has {len(parts)} blocks, but X has {n_blocks}. {_FIT_ALL}")
        columns.append(parts)
    block = delayed(Block, pure=True)
    return [block(*parts) for parts in zip(samples, *columns, strict=True)]


def _require_one_dimension(name: str, other: Any) -> None:
    if getattr(other, "ndim", 1) != 1:
        raise ValueError(
            f"{name} must have one dimension, got {other.ndim}. Pass a single column of it."
        )


def _described(value: Any) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
