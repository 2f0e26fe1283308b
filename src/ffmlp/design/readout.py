"""Stages 2 and 3 of the readout design: all hyperplanes, or the most informative, or few half-spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.special import expit, logsumexp, softmax
from sklearn.neighbors import NearestNeighbors

from ffmlp.arrays import AnyFloats, Floats, Indices, without_rounding
from ffmlp.design.least_squares import Readout, fit_readout, mean_and_spread
from ffmlp.design.mixtures import principal_axes
from ffmlp.design.problem import Plan, Progress, Samples, UpperLayers
from ffmlp.design.pruning import PruningPath
from ffmlp.design.scaling import Scaling
from ffmlp.inputs.rows import GOLDEN_RATIO, evenly, weighted_subsample
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes, both_sides
from ffmlp.network.readout import ReadoutStages

# With more samples, hyperplanes are selected by a subsample.
MAX_SAMPLES = 3000
# If this many hyperplanes do not reach the error threshold, all are kept.
MAX_TAKEN = 150
# A regressor of unit variance whose remaining variance is below this is left out.
_SMALLEST_VARIANCE = 1e-4
_LARGEST_LEVERAGE = 0.999


def prune_readout(
    planes: Hyperplanes, X: AnyFloats, y: Indices, weight: Floats, n_classes: int, error_threshold: float
) -> PruningPath:
    """Keep the first hyperplanes taken whose leave-one-out error rate is below a threshold.

    Takes O(n·L) time for each hyperplane taken. The path deletes the others all at once, so that every
    deletion has the final error rate. The error rate of all hyperplanes is not known.
    """
    rows, weight = weighted_subsample(X, y, weight, MAX_SAMPLES)
    h, y = planes.signed_responses(X[rows]), y[rows]
    root = np.sqrt(weight / weight.mean())[:, None]
    targets = np.eye(n_classes)[y]
    residual = root * (targets - weight @ targets / weight.sum())
    bends, lines = (_standardised(columns, weight, root) for columns in (np.abs(h), h))
    leverage = np.full(len(y), 1.0 / weight.sum())
    taken: list[int] = []
    error_rate = np.inf
    while len(taken) < min(h.shape[1], MAX_TAKEN) and error_rate >= error_threshold:
        gain = _gains(bends, lines, residual)
        gain[taken] = -1.0
        best = int(np.argmax(without_rounding(gain / gain.max()) if gain.max() > 0 else gain))
        taken.append(best)
        axes, triangle = np.linalg.qr(np.column_stack([bends[:, best], lines[:, best]]))
        axes = axes[:, np.diag(triangle) ** 2 > _SMALLEST_VARIANCE * len(y)]
        for columns in (residual, bends, lines):
            columns -= axes @ (axes.T @ columns)
        leverage += np.sum((axes / root) ** 2, axis=1) * (len(y) / weight.sum())
        left_out = residual / root / (1.0 - np.minimum(leverage, _LARGEST_LEVERAGE))[:, None]
        wrong = (targets - left_out).argmax(axis=1) != y
        error_rate = float(weight @ wrong / weight.sum())
    every = np.arange(len(planes))
    kept = every if error_rate >= error_threshold else np.sort(taken)
    deleted = np.setdiff1d(every, kept)
    return PruningPath(deleted, np.full(len(deleted), error_rate), np.nan, kept)


def _standardised(columns: Floats, weight: Floats, root: Floats) -> Floats:
    """Columns of weighted mean 0 and variance 1 (0 if constant), times the root of the weights."""
    mean, spread = mean_and_spread(columns, weight)
    return root * (columns - mean) / np.where(spread > 0, spread, 1.0)


def _gains(bends: Floats, lines: Floats, residual: Floats) -> Floats:
    """The part (L,) of the squared residual that each pair of regressors explains."""
    ridge = _SMALLEST_VARIANCE * len(residual)
    a, b = np.sum(bends**2, axis=0) + ridge, np.sum(lines**2, axis=0) + ridge
    mixed = np.sum(bends * lines, axis=0)
    with_bend, with_line = bends.T @ residual, lines.T @ residual
    explained = b[:, None] * with_bend**2 + a[:, None] * with_line**2
    explained -= 2 * mixed[:, None] * with_bend * with_line
    return explained.sum(axis=1) / (a * b - mixed**2)


# Samples and points between them. More samples are subsampled.
N_POINTS = 6000
# Half-spaces are selected by this many of these points, evenly spaced.
_N_SELECTION_POINTS = 3000
# Points between one sample and its nearest neighbours.
_MAX_NEIGHBOURS = 100
_N_SWEEPS = 3
# Fractions of a least squares step, tried until one lowers the loss.
_STEPS = (1.0, 0.5, 0.25, 0.125)
# Penalties: on the squared weights of responses of unit variance, and on how far a hyperplane is moved,
# relative to the curvature of the loss.
_RIDGE = 1e-4
_DAMPING = 1e-2
# A response of unit length whose remaining square is below this repeats others.
_SMALLEST_SQUARE = 1e-3
# Lower bound of the probabilities that the evidence starts from, which are arbitrary between distant
# samples, and of a point's curvature (at most 1/4), without which steps could be arbitrarily long.
_SMALLEST_PROBABILITY = 1e-3
# A half-space with fewer points is not moved.
_FEWEST_POINTS = 5
# Hyperplanes are moved along this many principal axes at most.
_MAX_AXES = 100


@dataclass(frozen=True, eq=False)
class _Points:
    """Distinct samples, then points between them: standardised scores, share, target probabilities."""

    Z: Floats
    share: Floats
    target: Floats

    def loss(self, evidence: Floats) -> float:
        """The log-loss of evidence (n, C)."""
        return float(self.share @ (logsumexp(evidence, axis=1) - np.sum(self.target * evidence, axis=1)))


def fit_small_readout(
    planes: Hyperplanes, whole: Readout, X: AnyFloats, y: Indices, weight: Floats, n_neurons: int
) -> tuple[Hyperplanes, ReadoutStages, Indices, float]:
    """A readout of at most ``n_neurons`` half-spaces that approximates the whole readout.

    Also the hyperplanes (m,) that these were made from, ascending, and the training error rate.
    Deterministic. Takes O(n·L) time for each half-space taken and O(n·N²) for each one moved, with n
    limited to `N_POINTS`, and a prediction of all samples for the error rate.
    """
    rows, mass = weighted_subsample(X, y, weight, N_POINTS)
    scores = planes.mapped(X[rows])
    scaling = Scaling.of(scores, mass)
    standard = scaling.standardised_planes(planes)

    def evidence_of(Z: Floats) -> Floats:
        h = Z @ standard.weights.T + standard.biases
        return whole.temperature * (np.abs(h) @ whole.even + h @ whole.odd + whole.bias)

    points = _points(scores, y[rows], mass, scaling, evidence_of)
    some = evenly(len(points.Z), _N_SELECTION_POINTS)
    h = points.Z[some] @ standard.weights.T + standard.biases
    kept, sides = taken_half_spaces(h, evidence_of(points.Z[some]), points.share[some], n_neurons)
    if len(kept) == 0:  # nothing varies
        kept, sides = np.zeros(1, np.intp), np.ones(1, np.intp)
    few = standard.select(kept).one_sided_by(sides)
    start = np.log(np.maximum(points.target, _SMALLEST_PROBABILITY))
    weights, bias = _fitted(points, _responses(points, few), start)
    few = _moved(points, few, weights, bias)
    responses = _responses(points, few)
    weights, bias = _fitted(points, responses, responses @ weights + bias)
    few = scaling.unscaled_planes(few)
    l_1 = np.maximum(few.signed_responses(X), 0.0)
    wrong = (l_1 @ weights + bias).argmax(axis=1) != y
    half = 0.5 * weights
    stages = ReadoutStages(half, half, bias, 1.0, one_sided=True)
    return few, stages, kept, float(weight @ wrong / weight.sum())


def _points(
    scores: AnyFloats,
    y: Indices,
    weight: Floats,
    scaling: Scaling,
    evidence_of: Callable[[Floats], Floats],
) -> _Points:
    """The target of a sample is halfway between its class and the whole readout's probabilities."""
    distinct, which = np.unique(scores, axis=0, return_inverse=True)
    which = which.ravel()
    mass = np.bincount(which, weight)
    samples = scaling.apply(distinct)
    between, start = _between_neighbours(samples)
    Z = np.vstack([samples, between])
    target = softmax(evidence_of(Z), axis=1)
    target[: len(samples)] *= 0.5
    np.add.at(target, (which, y), 0.5 * weight / mass[which])
    share = np.concatenate([mass, mass[start]])
    return _Points(Z, share / share.sum(), target)


def _between_neighbours(Z: Floats) -> tuple[Floats, Indices]:
    """Points on the lines from each sample to its nearest neighbours, and the samples they start from.

    Each is at another fraction of its line; multiples of the golden ratio spread the fractions evenly.
    """
    n_each = min(len(Z) - 1, N_POINTS // len(Z) - 1, _MAX_NEIGHBOURS)
    if n_each < 1:
        return np.empty((0, Z.shape[1])), np.zeros(0, np.intp)
    rounded = without_rounding(Z)  # rounding must not decide ties
    search = NearestNeighbors(n_neighbors=n_each).fit(rounded)
    end = search.kneighbors(return_distance=False).ravel()
    start = np.repeat(np.arange(len(Z)), n_each)
    part = np.arange(1, len(start) + 1) * GOLDEN_RATIO % 1.0
    return Z[start] + part[:, None] * (Z[end] - Z[start]), start


def taken_half_spaces(
    h: Floats, targets: Floats, share: Floats, n_taken: int
) -> tuple[Indices, Indices]:
    """Hyperplanes, ascending, and a side of each (1 or -1), by orthogonal matching pursuit.

    The side whose response explains most of the squared targets (n, C), beside the responses taken
    before, is taken next. Only the squares and products of the responses' residuals are updated, not the
    responses: a step takes one product of all responses with a vector.
    """
    root = np.sqrt(share / share.sum())
    constant = root[:, None]
    responses = constant * np.maximum(both_sides(h), 0.0)
    responses -= constant * (root @ responses)
    length = np.linalg.norm(responses, axis=0)
    # A side on which no point lies has responses of rounding errors.
    varies = length > 1e-9 * np.tile(np.linalg.norm(constant * h, axis=0), 2)
    responses /= np.where(varies, length, 1.0)
    residual = constant * (targets - share @ targets / share.sum())
    squares, products = np.sum(responses**2, axis=0), responses.T @ residual
    axes = np.empty((len(h), 0))
    left = varies.copy()
    taken: list[int] = []
    while len(taken) < n_taken and left.any():
        gain = np.where(left, np.sum(products**2, axis=1) / np.where(left, squares, 1.0), 0.0)
        relative = without_rounding(gain / max(gain.max(), np.finfo(np.float64).tiny))
        best = int(np.argmax(np.where(left, relative, -1.0)))
        taken.append(best)
        axis = responses[:, best] - axes @ (axes.T @ responses[:, best])
        axis /= np.linalg.norm(axis)
        axes = np.column_stack([axes, axis])
        along = responses.T @ axis
        squares, products = squares - along**2, products - np.outer(along, axis @ residual)
        left &= squares > _SMALLEST_SQUARE
        left[[best % h.shape[1], best % h.shape[1] + h.shape[1]]] = False
    planes = np.array(taken, np.intp) % h.shape[1]
    order = np.argsort(planes)
    return planes[order], np.where(np.array(taken)[order] < h.shape[1], 1, -1)


def _responses(points: _Points, planes: Hyperplanes) -> Floats:
    return np.maximum(points.Z @ planes.weights.T + planes.biases, 0.0)


def _fitted(points: _Points, responses: Floats, evidence: Floats) -> tuple[Floats, Floats]:
    """Weights (m, C) and bias (C,) of the evidence whose softmax is closest to the targets.

    Starts with least squares to the given evidence, then fits each class in turn against all others.
    """
    share, target = points.share, points.target
    mean = share @ responses
    scale = np.sqrt(share @ (responses - mean) ** 2)
    scale = np.where(scale > 1e-12 * mean, scale, 1.0)
    F = np.column_stack([(responses - mean) / scale, np.ones(len(responses))])
    ridge = np.append(np.full(len(mean), _RIDGE), 1e-9)
    gram = (F * share[:, None]).T @ F + np.diag(ridge)
    coefficients = np.asarray(np.linalg.solve(gram, F.T @ (share[:, None] * evidence)), np.float64)
    evidence = F @ coefficients
    for label in np.tile(np.arange(evidence.shape[1]), _N_SWEEPS):
        others = logsumexp(np.delete(evidence, label, axis=1), axis=1)
        start = coefficients[:, label]
        coefficients[:, label] = _regressed(F, share, target[:, label], others, ridge, start)
        evidence[:, label] = F @ coefficients[:, label]
    weights = coefficients[:-1] / scale[:, None]
    return weights, coefficients[-1] - mean @ weights


def _regressed(
    F: Floats, share: Floats, target: Floats, others: Floats, ridge: Floats, start: Floats
) -> Floats:
    """One step of the logistic regression of one class against the evidence of all others together."""

    def loss(coefficients: Floats) -> float:
        z = F @ coefficients
        return float(share @ (np.logaddexp(z, others) - target * z) + 0.5 * ridge @ coefficients**2)

    p = expit(F @ start - others)
    curvature = np.maximum(p * (1.0 - p), _SMALLEST_PROBABILITY)
    gram = (F * (share * curvature)[:, None]).T @ F + np.diag(ridge)
    return _improved(start, np.linalg.solve(gram, F.T @ (share * (target - p)) - ridge * start), loss)


def _moved(points: _Points, planes: Hyperplanes, weights: Floats, bias: Floats) -> Hyperplanes:
    """The hyperplanes, moved one after the other to lower the log-loss of the evidence.

    A threshold of one feature remains one: only its offset is moved.
    """
    inputs = np.column_stack([points.Z, np.ones(len(points.Z))])
    every = _directions(points)
    moved = np.column_stack([planes.weights, planes.biases])
    evidence = _responses(points, planes) @ weights + bias
    for neuron, weight in enumerate(weights):
        h = inputs @ moved[neuron]
        inside = np.flatnonzero(without_rounding(h) > 0)  # a threshold goes through samples
        if len(inside) < _FEWEST_POINTS:
            continue
        rest = evidence - np.outer(np.maximum(h, 0.0), weight)

        def loss(plane: Floats, rest: Floats = rest, weight: Floats = weight) -> float:
            return points.loss(rest + np.outer(np.maximum(inputs @ plane, 0.0), weight))

        basis = every[:, -1:] if planes.pairs[neuron, 0] == NO_BLOB else every
        step = basis @ _step(points, inputs[inside] @ basis, inside, evidence[inside], weight)
        moved[neuron] = _improved(moved[neuron], step, loss)
        evidence = rest + np.outer(np.maximum(inputs @ moved[neuron], 0.0), weight)
    return replace(planes, weights=moved[:, :-1], biases=moved[:, -1])


def _directions(points: _Points) -> Floats:
    """Directions in which a hyperplane (normal and offset) may move; the last column is the offset."""
    n_features = points.Z.shape[1]
    if n_features <= _MAX_AXES:
        return np.eye(n_features + 1)
    return block_diag(principal_axes(points.Z, points.share, _MAX_AXES), 1.0)


def _step(points: _Points, inputs: Floats, inside: Indices, evidence: Floats, weight: Floats) -> Floats:
    """The weighted least squares step of a neuron with weights ``weight`` (C,), from points inside."""
    p, share = softmax(evidence, axis=1), points.share[inside]
    spread = np.maximum(p @ weight**2 - (p @ weight) ** 2, _SMALLEST_PROBABILITY * np.ptp(weight) ** 2)
    gram = (inputs * (share * spread)[:, None]).T @ inputs
    gram += np.eye(len(gram)) * (_DAMPING * np.trace(gram) / len(gram) + 1e-12)
    return np.linalg.solve(gram, inputs.T @ (share * ((points.target[inside] - p) @ weight)))


def _improved(parameters: Floats, step: Floats, loss: Callable[[Floats], float]) -> Floats:
    """The parameters after the largest fraction of the step that lowers the loss, if one does."""
    before = loss(parameters)
    for part in _STEPS:
        if without_rounding(np.array(before - loss(parameters + part * step))) > 0:
            return parameters + part * step
    return parameters


def readout_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """One l_2 neuron per class: its evidence."""
    n_classes, data = len(samples.labels), (samples.X, samples.y, samples.importance)
    path = None
    if plan.error_threshold is not None:
        with progress.step("boundaries"):
            path = prune_readout(planes, *data, n_classes, plan.error_threshold)
            planes = planes.select(path.kept)
            progress.say(f"{len(planes)} hyperplanes left")
    with progress.step("readout"):
        readout = fit_readout(planes, samples, leave_out=plan.max_leaves > 0)
        progress.say(f"ridge {readout.ridge:.2g}, leave-one-out error {readout.error_rate:.2%}")
    if path is None or not len(path.deleted):
        path = PruningPath(np.zeros(0, np.intp), np.zeros(0), readout.error_rate, np.arange(len(planes)))
    if plan.max_neurons is not None:
        n_allowed = plan.max_neurons - 2 * n_classes  # l_2 and l_out have a neuron for each class
        if 2 * len(planes) > n_allowed:
            with progress.step("readout"):
                few, stages, rows, rate = fit_small_readout(planes, readout, *data, n_allowed)
                progress.say(f"{len(few)} half-spaces, training error {rate:.2%}")
            with progress.step("classes"):
                kept = path.kept[rows]
                deleted = np.concatenate([path.deleted, np.setdiff1d(path.kept, kept)])
                path = PruningPath(deleted, np.full(len(deleted), rate), np.nan, kept)
            return UpperLayers(few, path, stages)
    with progress.step("classes"):
        stages = ReadoutStages(readout.even, readout.odd, readout.bias, readout.temperature)
    return UpperLayers(planes, path, stages, readout.left_out)
