"""Adversarial attacks: searches for a small change of a sample that changes its class.

FGSM and PGD follow gradients. Random search and HopSkipJump (extra ``attacks``) use predictions only. A
successful attack gives an upper bound of the distance to another class. A failed attack proves nothing;
`FFMLPClassifier.robustness` proves lower bounds for designed networks.

Gradients are of the margin between the predicted class and the best other class. Cross-entropy would
be flat where a network is confident. For designed networks the margin is a difference of scores
(`ffmlp.network.stages`), because the output of the literal region network is zero, without a gradient,
wherever there are no training samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.extras import imported
from ffmlp.robustness.polyhedra import length, steepest_step

if TYPE_CHECKING:
    from ffmlp.backprop import BackpropClassifier
    from ffmlp.classifier import FFMLPClassifier

# Points around each sample that a random search predicts at once.
_POINTS_AT_ONCE = 32
_NORMS = {2: 2.0, np.inf: np.inf, "inf": np.inf}


@dataclass(frozen=True, eq=False)
class Attack:
    """The result of an attack.

    Attributes
    ----------
    points : ndarray of shape (n, N)
        Points of another class; NaN where none was found.
    distance : ndarray of shape (n,)
        Their distance from the samples; infinite where none was found.
    """

    points: Floats
    distance: Floats

    @property
    def succeeded(self) -> Flags:
        """Whether another class was found (n,)."""
        return np.isfinite(self.distance)


def fgsm(
    model: FFMLPClassifier | BackpropClassifier,
    X: ArrayLike,
    radius: float | ArrayLike,
    norm: float | str = "inf",
) -> Attack:
    """The fast gradient sign method: one step of length ``radius`` against the margin's gradient.

    Parameters and result are as in `pgd`.
    """
    return pgd(model, X, radius, norm, n_steps=1, n_restarts=1, step=1.0)


def pgd(
    model: FFMLPClassifier | BackpropClassifier,
    X: ArrayLike,
    radius: float | ArrayLike,
    norm: float | str = 2,
    *,
    n_steps: int = 40,
    n_restarts: int = 3,
    step: float = 0.1,
    random_state: int = 0,
) -> Attack:
    """Projected gradient descent on the margin, from the sample and from random points around it.

    Parameters
    ----------
    model : FFMLPClassifier or BackpropClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
    radius : float or array-like of shape (n_samples,)
        The largest change that is allowed.
    norm : {2, "inf"}, default=2
    n_steps, n_restarts : int
        The first start is the sample itself.
    step : float, default=0.1
        Length of a step, as a share of the radius.
    random_state : int, default=0

    Returns
    -------
    Attack
    """
    check_is_fitted(model)
    samples: Floats = validate_data(model, X, reset=False, dtype=np.float64)
    order, reach = _checked_norm(norm), _checked_radius(radius, len(samples))[:, None]
    rng = np.random.default_rng(random_state)
    predicted = model.predict(samples)
    winner = np.searchsorted(model.classes_, predicted)
    best, distance = np.full(samples.shape, np.nan), np.full(len(samples), np.inf)
    for restart in range(n_restarts):
        points = samples.copy()
        if restart:
            start = rng.normal(size=samples.shape)
            start /= length(start, order)[:, None]
            points += reach * start * rng.uniform(size=(len(samples), 1))
        for _ in range(n_steps):
            ascent = steepest_step(_margin_gradient(model, points, winner), order)
            points = samples + _projected(points - step * reach * ascent - samples, reach, order)
            away = length(points - samples, order)
            nearer = (model.predict(points) != predicted) & (away < distance)
            best[nearer], distance[nearer] = points[nearer], away[nearer]
    return Attack(best, distance)


def _projected(change: Floats, reach: Floats, norm: float) -> Floats:
    """Changes projected onto the ball of radius ``reach`` (n, 1)."""
    if norm != 2:
        return np.clip(change, -reach, reach)
    size = length(change, norm)[:, None]
    return change * np.minimum(reach / np.where(size > 0, size, 1.0), 1.0)


def _margin_gradient(model: Any, points: Floats, winner: Indices) -> Floats:
    """The gradient (n, N) of the margin between the winner and the best other class."""
    rows = np.arange(len(points))
    if hasattr(model, "network_"):
        lead, gradient = model.network_.leads(points, winner)
        gradient = model.network_.hyperplanes.by_features(gradient, points)
        return gradient[rows, lead.argmin(axis=1)]
    responses = [points]
    for weight, bias in zip(model.weights_[:-1], model.biases_[:-1], strict=True):
        responses.append(np.maximum(responses[-1] @ weight.T + bias, 0.0))
    out = responses[-1] @ model.weights_[-1].T + model.biases_[-1]
    out[rows, winner] = -np.inf
    gradient = model.weights_[-1][winner] - model.weights_[-1][out.argmax(axis=1)]
    for weight, response in zip(model.weights_[-2::-1], responses[:0:-1], strict=True):
        gradient = (gradient * (response > 0)) @ weight
    return gradient


def random_search(
    model: Any,
    X: ArrayLike,
    radius: float | ArrayLike,
    norm: float | str = 2,
    *,
    n_points: int = 256,
    random_state: int = 0,
) -> Attack:
    """Predictions at random points within the radius: dense with two features, sparse with many.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict``.
    X : array-like of shape (n_samples, n_features)
    radius : float or array-like of shape (n_samples,)
    norm : {2, "inf"}, default=2
    n_points : int, default=256
        For each sample.
    random_state : int, default=0

    Returns
    -------
    Attack
    """
    samples, rng = np.asarray(X, np.float64), np.random.default_rng(random_state)
    order, reach = _checked_norm(norm), _checked_radius(radius, len(samples))
    predicted = model.predict(samples)
    best, distance = np.full(samples.shape, np.nan), np.full(len(samples), np.inf)
    shares = ((np.arange(n_points) + 1.0) / n_points) ** (1 / samples.shape[1])
    for some in np.array_split(shares, -(-n_points // _POINTS_AT_ONCE)):
        steps = rng.normal(size=(len(some), *samples.shape))
        steps /= length(steps, order)[:, :, None]
        lengths = some[:, None] * reach
        points = samples + lengths[:, :, None] * steps
        reached = model.predict(points.reshape(-1, samples.shape[1])).reshape(lengths.shape)
        lengths[reached == predicted] = np.inf
        first = lengths.argmin(axis=0), np.arange(len(samples))
        nearer = lengths[first] < distance
        best[nearer], distance[nearer] = points[first][nearer], lengths[first][nearer]
    return Attack(best, distance)


def hop_skip_jump(
    model: Any, X: ArrayLike, norm: float | str = 2, *, n_iterations: int = 20, random_state: int = 0
) -> Attack:
    """HopSkipJump, an attack that uses predictions only (Adversarial Robustness Toolbox).

    It starts from the nearest sample that is predicted to be of another class, so the samples must be
    predicted to be of at least two classes.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict`` and ``classes_``.
    X : array-like of shape (n_samples, n_features)
    norm : {2, "inf"}, default=2
    n_iterations : int, default=20
    random_state : int, default=0

    Returns
    -------
    Attack
    """
    order = _checked_norm(norm)
    evasion = imported("art.attacks.evasion", "hop_skip_jump")
    estimators = imported("art.estimators.classification", "hop_skip_jump")
    samples = np.asarray(X, np.float64)
    predicted = model.predict(samples)
    if (predicted == predicted[0]).all():
        raise ValueError(
            f"All samples are predicted to be of class {predicted.tolist()[0]!r}, but hop_skip_jump "
            "starts from samples of other classes. Add some to X."
        )
    away = np.where(predicted[:, None] == predicted, np.inf, cdist(samples, samples))
    starts = samples[away.argmin(axis=1)]

    def predict(points: NDArray) -> Floats:
        numbers = np.searchsorted(model.classes_, model.predict(np.asarray(points, np.float64)))
        return np.eye(len(model.classes_))[numbers]

    black_box = estimators.BlackBoxClassifier(predict, (samples.shape[1],), len(model.classes_))
    options = {"max_iter": n_iterations, "max_eval": 1000, "init_eval": 20, "verbose": False}
    before = np.random.get_state()  # noqa: NPY002 - ART draws from the global generator
    try:
        np.random.seed(random_state)  # noqa: NPY002
        attack = evasion.HopSkipJump(black_box, norm=order, **options)
        single, start = samples.astype(np.float32), starts.astype(np.float32)
        points = attack.generate(single, x_adv_init=start).astype(np.float64)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    changed = model.predict(points) != predicted
    distance = np.where(changed, length(points - samples, order), np.inf)
    return Attack(np.where(changed[:, None], points, np.nan), distance)


def _checked_norm(norm: float | str) -> float:
    if norm not in _NORMS:
        raise ValueError(f'norm must be 2 or "inf", got {norm!r}.')
    return _NORMS[norm]


def _checked_radius(radius: float | ArrayLike, n_samples: int) -> Floats:
    reach = np.broadcast_to(np.asarray(radius, np.float64), n_samples)
    if not (reach >= 0).all():
        raise ValueError(f"radius must not be negative, got {reach.min():g}.")
    return reach
