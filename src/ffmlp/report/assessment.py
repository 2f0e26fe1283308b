"""How a model performs on a data file: predictions, confusion, calibration, curves, rows to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.inputs.columns import NumberColumn
from ffmlp.inputs.rows import evenly
from ffmlp.network.blobs import Familiarity, feature_units
from ffmlp.network.network import Network
from ffmlp.parameters import checked_cells
from ffmlp.robustness.bent_leads import MOST_BENDS
from ffmlp.tables.tables import TEXT, DataTable
from ffmlp.tabular.scores import HELD_OUT, Confusion, Reliability, hashes_of, log_loss, share_seen
from ffmlp.tabular.table_model import TableModel
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd

# Enough rows to describe a model.
MAX_ROWS = 20_000
# A row is unfamiliar if it is farther from all blobs than this share of the training rows.
KEEP = 0.99
# The quantile of a Gaussian for intervals of 95 %.
_QUANTILE = 1.959963984540054
# If a model was fitted to more rows than this share, the accuracy on them says little about new rows.
_NEARLY_ALL = 0.9


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file, their predicted probabilities and, where the file has it, the true class.

    ``truth`` has indices of classes, -1 where the label is missing or is not a class of the model;
    ``whole`` is whether these are all rows of the file. ``seen`` is the share of the labelled rows that
    the model was fitted to, None if it is not known. ``n_unseen`` counts rows with a label that is not a
    class of the model.
    """

    X: pd.DataFrame
    probability: Floats
    truth: NDArray[np.intp]
    whole: bool
    seen: float | None
    n_unseen: int = 0

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of each row."""
        return self.probability.argmax(axis=1)

    @property
    def nearly_all_seen(self) -> bool:
        """Whether the accuracy on these rows says little about new ones."""
        return self.seen is not None and self.seen >= _NEARLY_ALL

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Whether the true class of each row is known."""
        return self.truth >= 0


def read_rows(model: TableModel, table: DataTable) -> Rows:
    """The first `MAX_ROWS` rows of a file, predicted."""
    has_target = model.target in table.columns
    kinds = {**model.kinds, model.target: TEXT} if has_target else model.kinds
    blocks = table.blocks(MAX_ROWS, kinds)
    frame = next(blocks, None)
    if frame is None or frame.empty:
        raise ValueError(f"{table.path} has a header but no rows.")
    whole = next(blocks, None) is None
    X = frame[model.features].reset_index(drop=True)
    truth, n_unseen = np.full(len(X), -1), 0
    if has_target:
        classes = {str(label): number for number, label in enumerate(model.labels.tolist())}
        truth = np.array([classes.get(str(cell), -1) for cell in frame[model.target]])
        n_unseen = int(frame[model.target].notna().to_numpy()[truth < 0].sum())
    seen, labelled, hashes = None, truth >= 0, model.facts.get("row_hashes")
    if hashes and labelled.any():
        seen = share_seen(hashes_of(X[labelled], model.labels[truth[labelled]]), hashes)
    return Rows(X, model.probabilities(X), truth, whole, seen, n_unseen)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions compared with the truth; ``about`` says for which rows."""

    about: str
    confusion: Confusion
    reliability: Reliability
    log_loss: float
    majority: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy lies with 95 % confidence."""
        counts = self.confusion.counts
        low, high = wilson(np.array([self.confusion.accuracy]), np.array([counts.sum()]))
        return float(low[0]), float(high[0])

    @classmethod
    def of_rows(cls, rows: Rows) -> Outcome | None:
        """On the rows with a label; None without such rows."""
        truth, probability = rows.truth[rows.labelled], rows.probability[rows.labelled]
        if not len(truth):
            return None
        confusion = Confusion.of(truth, probability.argmax(axis=1), probability.shape[1])
        majority = float(confusion.n_rows.max() / len(truth))
        reliability, loss = Reliability.of(truth, probability), log_loss(truth, probability)
        return cls(counted(len(truth), "row"), confusion, reliability, loss, majority)

    @classmethod
    def of_held_out(cls, model: TableModel) -> Outcome | None:
        """The evaluation by ``ffmlp fit``, on rows held out; None without one."""
        stored = model.facts.get("evaluation")
        if not stored or "confusion" not in stored:
            return None
        confusion = Confusion.of_json(stored["confusion"], len(model.labels))
        reliability = Reliability.of_json(stored["reliability"])
        about = held_out_rows(stored)
        return cls(about, confusion, reliability, stored["log_loss"], stored["majority"])


def held_out_rows(evaluation: dict[str, Any]) -> str:
    """The rows of an evaluation of ``ffmlp fit``, in words."""
    method = "" if evaluation["method"] == HELD_OUT else f" ({evaluation['method']})"
    return counted(evaluation["n_rows"], "held-out row") + method


def wilson(share: Floats, n: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Wilson's score intervals of shares of n rows, with 95 % confidence."""
    square = _QUANTILE**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = _QUANTILE / (1 + square / n) * np.sqrt(share * (1 - share) / n + square / (4 * n**2))
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


# More points of a curve are not visible on a screen.
_MAX_POINTS = 120


@dataclass(frozen=True, eq=False)
class ClassCurves:
    """The curves of one class.

    ``roc`` (2, K) are false and true positive rates, ``recall`` (2, K) recall and precision.
    """

    label: int
    n_rows: int
    area: float
    average_precision: float
    roc: Floats
    recall: Floats


def class_curves(truth: NDArray[np.intp], probability: Floats) -> list[ClassCurves]:
    """The curves of every class that some rows have and some have not."""
    curves = []
    for label in np.unique(truth).tolist():
        positive, score = truth == label, probability[:, label]
        if positive.all():
            continue
        false_rate, true_rate, _ = roc_curve(positive, score)
        precision, recall, _ = precision_recall_curve(positive, score, drop_intermediate=True)
        curves.append(
            ClassCurves(
                label, int(positive.sum()), float(roc_auc_score(positive, score)),
                float(average_precision_score(positive, score)),
                _thinned(np.array([false_rate, true_rate])), _thinned(np.array([recall, precision])),
            )
        )  # fmt: skip
    return curves


def _thinned(points: Floats) -> Floats:
    """Points of a curve at even steps of its length, with both ends."""
    n = points.shape[1]
    if n <= _MAX_POINTS:
        return points
    way = np.append(0.0, np.cumsum(np.abs(np.diff(points, axis=1)).sum(axis=0)))
    steps = np.searchsorted(way, np.linspace(0.0, way[-1], _MAX_POINTS))
    return points[:, np.unique(np.concatenate([[0], np.minimum(steps, n - 1), [n - 1]]))]


LEAST_CERTAIN, WRONG = "Least certain", "Confident and wrong"
_N_LEAST_CERTAIN, _N_WRONG, _MOST_CLASSES = 10, 5, 20
# Seconds for the proof of one change, and linear pieces that are few enough for it.
_SECONDS, _MOST_PIECES = 0.2, 1000


@dataclass(frozen=True)
class ShownRow:
    """A row of the file, by its number from 0, and why it is shown."""

    number: int
    group: str


def shown_rows(rows: Rows, labels: NDArray, familiarity: Familiarity | None) -> list[ShownRow]:
    """All rows to begin with; a row may be shown for several reasons."""
    ordered, predicted = np.sort(rows.probability, axis=1), rows.predicted
    top, second = ordered[:, -1], ordered[:, -2]
    closest = _distinct(rows.X, np.argsort(top - second, kind="stable"), _N_LEAST_CERTAIN)
    shown = [ShownRow(row, LEAST_CERTAIN) for row in closest]
    wrong = np.flatnonzero(rows.labelled & (predicted != rows.truth))
    worst = _distinct(rows.X, wrong[np.argsort(-top[wrong], kind="stable")], _N_WRONG)
    shown += [ShownRow(row, WRONG) for row in worst]
    strange = -top if familiarity is None else familiarity.scores
    right = (predicted == rows.truth) | ~rows.labelled.any()
    for number, label in enumerate(labels.tolist()[:_MOST_CLASSES]):
        members = np.flatnonzero(right & (predicted == number))
        if len(members):
            # The most familiar of the more certain half.
            members = members[top[members] >= np.median(top[members])]
            shown.append(ShownRow(int(members[strange[members].argmin()]), f"Typical of {label}"))
    return shown


def _distinct(X: pd.DataFrame, order: NDArray[np.intp], n: int) -> list[int]:
    """The first n distinct rows in an order."""
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
    nearest = clf.robustness(X.iloc[movable], 1, scale=scale, time_limit=_SECONDS)
    for number, row in enumerate(movable.tolist()):
        if nearest.exact[number] and np.isfinite(nearest.distance[number]):
            changes[row] = nearest.points[number].tolist()
    return changes


def _is_provable(network: Network) -> bool:
    """Whether distances of the network can be exact, and soon."""
    planes, stages = network.hyperplanes, network.stages
    if len(planes) > MOST_BENDS:
        return False
    pieces = stages.linear_pieces
    if pieces is not None:
        return planes.gaussianisation is None and len(pieces.classes) <= _MOST_PIECES
    return stages.bends(0, 1) is not None


# Rows to permute, and their cells: with many columns, there are fewer rows.
_MAX_ROWS_PERMUTED, _MAX_CELLS_PERMUTED = 2_000, 60_000
_N_PERMUTATIONS = 5
# Columns to permute: each takes predictions that read all columns. A report shows fewer.
_MAX_COLUMNS_PERMUTED = 40
_MAX_ROWS_EXPLAINED = 500


@dataclass(frozen=True, eq=False)
class Importance:
    """Permutation importance: the loss of accuracy when a column is shuffled, largest first.

    Of many columns, only those with the largest mean attributions are shuffled.
    """

    columns: list[str]
    losses: Floats
    deviations: Floats

    @classmethod
    def of(cls, model: TableModel, rows: Rows, attributions: Floats) -> Importance:
        """From the true classes, or from the predictions if no true class is known.

        ``attributions`` (M,) are of the classifier's columns. Takes O(n·M·min(M, 40)) time for each
        hyperplane.
        """
        known = np.flatnonzero(rows.labelled)
        truth = rows.truth if len(known) else rows.predicted
        candidates = known if len(known) else np.arange(len(rows.X))
        n_rows = min(_MAX_ROWS_PERMUTED, _MAX_CELLS_PERMUTED // len(model.features) + 1)
        chosen = candidates[evenly(len(candidates), n_rows)]
        network, names = model.network, model.network.table.names
        cells = checked_cells(model.classifier, model.classified(rows.X.iloc[chosen]))
        cells = np.asarray(cells, np.float64)
        largest = np.argsort(-attributions, kind="stable")[:_MAX_COLUMNS_PERMUTED]
        shuffled = np.sort(largest)

        def accuracy(_: Any, X: NDArray, truth: NDArray[np.intp]) -> float:
            changed = cells.copy()
            changed[:, shuffled] = X
            return float(np.mean(network.classes(network.inputs(changed)) == truth))

        importances = permutation_importance(
            model.classifier, cells[:, shuffled], truth[chosen],
            n_repeats=_N_PERMUTATIONS, random_state=0, scoring=accuracy,
        )  # fmt: skip
        order = np.argsort(-importances.importances_mean, kind="stable")
        columns = [names[column] for column in shuffled[order]]
        return cls(columns, importances.importances_mean[order], importances.importances_std[order])


def standard_deviations(inputs: Floats) -> Floats:
    """The standard deviation (N,) of each column.

    Powers of two, which change no digit, keep the squares within the range of floats.
    """
    _, powers = np.frexp(np.abs(inputs).max(axis=0))
    return np.ldexp(np.ldexp(inputs, -powers).std(axis=0), powers)


@dataclass(frozen=True, eq=False)
class HyperplaneEffects:
    """What the hyperplanes do to the decision, on average over some rows.

    ``effects`` (L,) are the mean absolute effects on the lead, compared with the reference. ``slopes``
    (L, N) are the changes of each response per standard deviation of each input. ``attributions`` (M,)
    are the mean absolute attributions of the columns.
    """

    effects: Floats
    slopes: Floats
    attributions: Floats

    @classmethod
    def of(cls, model: TableModel, rows: Rows) -> HyperplaneEffects:
        """From the explanations of evenly spaced rows."""
        clf = model.classifier
        shown = rows.X.iloc[evenly(len(rows.X), _MAX_ROWS_EXPLAINED)]
        explanations, planes = clf.explain(model.classified(shown)), clf.hyperplanes_
        effects = np.abs(explanations.effects).mean(axis=0)
        spread = standard_deviations(planes.mapped(explanations.samples))
        attributions = np.abs(explanations.attributions).mean(axis=0)
        return cls(effects, planes.weights * spread, attributions)
