"""Rows that a reader begins with: the least certain, the worst errors, a typical one of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.classifier import FFMLPClassifier
from ffmlp.inputs.columns import NumberColumn
from ffmlp.network.blobs import feature_units
from ffmlp.network.familiarity import Familiarity
from ffmlp.network.network import Network
from ffmlp.report.assessment import Rows
from ffmlp.robustness.limits import MOST_BENDS

if TYPE_CHECKING:
    import pandas as pd

LEAST_CERTAIN, WRONG = "Least certain", "Confident and wrong"
_N_LEAST_CERTAIN, _N_WRONG, _MOST_CLASSES = 10, 5, 20
# Seconds for the proof of one change, and regions that are few enough for it.
_SECONDS, _MOST_REGIONS = 0.2, 1000


@dataclass(frozen=True)
class ShownRow:
    """A row of the file, by its number from 0, and why it is shown."""

    number: int
    group: str


def shown_rows(rows: Rows, labels: NDArray, familiarity: Familiarity | None) -> list[ShownRow]:
    """All of them; a row may be there for several reasons."""
    shown = [ShownRow(row, LEAST_CERTAIN) for row in least_certain(rows, _N_LEAST_CERTAIN)]
    predicted, top = rows.predicted, rows.probability.max(axis=1)
    wrong = np.flatnonzero(rows.labelled & (predicted != rows.truth))
    worst = _distinct(rows.X, wrong[np.argsort(-top[wrong], kind="stable")], _N_WRONG)
    shown += [ShownRow(row, WRONG) for row in worst]
    strange = -top if familiarity is None else familiarity.scores
    right = (predicted == rows.truth) | ~rows.labelled.any()
    for number, label in enumerate(labels.tolist()[:_MOST_CLASSES]):
        own = np.flatnonzero(right & (predicted == number))
        if len(own):
            # The most familiar of the more certain half.
            own = own[top[own] >= np.median(top[own])]
            shown.append(ShownRow(int(own[strange[own].argmin()]), f"Typical of {label}"))
    return shown


def least_certain(rows: Rows, n: int) -> list[int]:
    """The distinct rows whose two most probable classes are closest."""
    ordered = np.sort(rows.probability, axis=1)
    order = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")
    return _distinct(rows.X, order, n)


def _distinct(X: pd.DataFrame, order: NDArray[np.intp], n: int) -> list[int]:
    """The first n rows in an order, without those whose cells are those of an earlier one."""
    return order[~X.iloc[order].duplicated().to_numpy()][:n].tolist()


def proved_changes(clf: FFMLPClassifier, X: pd.DataFrame) -> list[list[float] | None]:
    """The nearest point of another class of each row if it is proved that none is nearer, else None.

    Only the first rows, the least certain, are worth the time. Near is the least sum of changes in
    standard deviations. Points are inputs of the network.
    """
    changes: list[list[float] | None] = [None] * len(X)
    numbers = [part.name for part in clf.network_.table.parts if isinstance(part, NumberColumn)]
    movable = np.flatnonzero(X[numbers].notna().any(axis=1))[:_N_LEAST_CERTAIN]
    if not len(movable) or not _is_provable(clf.network_):
        return changes
    scale = feature_units(clf.blobs_, clf.network_.hyperplanes)[clf.network_.table.firsts]
    found = clf.robustness(X.iloc[movable], 1, scale=scale, time_limit=_SECONDS)
    for place, row in enumerate(movable.tolist()):
        if found.exact[place] and np.isfinite(found.distance[place]):
            changes[row] = found.points[place].tolist()
    return changes


def _is_provable(network: Network) -> bool:
    """Whether distances of the network can be exact, and soon."""
    planes, stages = network.hyperplanes, network.stages
    if len(planes) > MOST_BENDS:
        return False
    if stages.linear_pieces is not None:
        return planes.gaussianisation is None and stages.n_regions <= _MOST_REGIONS
    return stages.bends(0, 1) is not None
