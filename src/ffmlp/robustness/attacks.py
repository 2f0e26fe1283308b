"""Attacks: searches for a small change of a sample that changes its class.

FGSM and PGD follow gradients (extra ``torch``), a random search and HopSkipJump (extra ``attacks``)
ask for predictions only. What an attack finds is an upper bound of the distance to another class; that
it finds nothing proves nothing. `ffmlp.robustness` has proofs for designed networks.

Gradients are taken of the margin between the own class and the best other one. Cross-entropy would be
flat where a network is very sure. Of the region design, the margin is that of the scores which
``predict`` compares (`ffmlp.explanations.evidence`): the output of the literal network is zero wherever
no training sample was, and no gradient would lead out of there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp.backprop import BackpropClassifier
from ffmlp.classifier import FFMLPClassifier
from ffmlp.design.blobs import Floats
from ffmlp.model.stages import BlobStages, RegionStages

# Points around each sample that a random search predicts at once.
_POINTS_AT_ONCE = 32
_NORMS = {2: 2.0, np.inf: np.inf, "inf": np.inf}


@dataclass(frozen=True, eq=False)
class Attack:
    """What an attack found.

    Attributes
    ----------
    points : ndarray of shape (n, N)
        Points of another class; NaN where none was found.
    distance : ndarray of shape (n,)
        How far they are from the samples; infinite where none was found.
    """

    points: Floats
    distance: Floats

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Whether another class was found (n,)."""
        return np.isfinite(self.distance)


def fgsm(
    model: FFMLPClassifier | BackpropClassifier,
    X: ArrayLike,
    radius: float | ArrayLike,
    norm: float | str = "inf",
) -> Attack:
    """The fast gradient sign method: one step of the given length against the margin's gradient.

    Parameters
    ----------
    model : FFMLPClassifier or BackpropClassifier
        Fitted; features must not be gaussianised.
    X : array-like of shape (n_samples, n_features)
    radius : float or array-like of shape (n_samples,)
    norm : {2, "inf"}, default="inf"

    Returns
    -------
    Attack
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
        Fitted; features must not be gaussianised.
    X : array-like of shape (n_samples, n_features)
    radius : float or array-like of shape (n_samples,)
        How far the attack may go.
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
    samples = _checked(model, X)
    reach = _checked_radius(radius, norm, len(samples))
    torch = _imported_torch()
    scores, rng = _scores(torch, model), np.random.default_rng(random_state)
    own = model.predict(samples)
    numbers = torch.as_tensor(np.searchsorted(model.classes_, own))
    centre, limit = torch.as_tensor(samples), torch.as_tensor(reach.copy())[:, None]
    best, distance = np.full(samples.shape, np.nan), np.full(len(samples), np.inf)

    def record(points: Any) -> None:
        candidates = points.numpy()
        found = model.predict(candidates) != own
        length = np.linalg.norm(candidates - samples, ord=_NORMS[norm], axis=1)
        nearer = found & (length < distance)
        best[nearer], distance[nearer] = candidates[nearer], length[nearer]

    for restart in range(n_restarts):
        points = centre.clone()
        if restart:
            start = rng.normal(size=samples.shape)
            start /= np.linalg.norm(start, ord=_NORMS[norm], axis=1, keepdims=True)
            points += limit * torch.as_tensor(start * rng.uniform(size=(len(samples), 1)))
        for _ in range(n_steps):
            points = _stepped(torch, scores, points, numbers, centre, limit, step, _NORMS[norm])
            record(points)
    return Attack(best, distance)


def _stepped(
    torch: Any,
    scores: Callable[[Any], Any],
    points: Any,
    own: Any,
    centre: Any,
    limit: Any,
    step: float,
    norm: float,
) -> Any:
    """A step against the margin, then back into the ball."""
    points = points.detach().requires_grad_()
    score = scores(points)
    mine = score.gather(1, own[:, None])[:, 0]
    others = score.scatter(1, own[:, None], -torch.inf).amax(dim=1)
    (gradient,) = torch.autograd.grad((mine - others).sum(), points)
    with torch.no_grad():
        if norm == 2:
            size = gradient.norm(dim=1, keepdim=True)
            change = points - step * limit * gradient / torch.where(size > 0, size, 1.0) - centre
            length = change.norm(dim=1, keepdim=True)
            return centre + change * torch.clamp(limit / torch.where(length > 0, length, 1.0), max=1.0)
        change = points - step * limit * gradient.sign() - centre
        return centre + torch.maximum(torch.minimum(change, limit), -limit)


def random_search(
    model: Any,
    X: ArrayLike,
    radius: float | ArrayLike,
    norm: float | str = 2,
    *,
    n_points: int = 256,
    random_state: int = 0,
) -> Attack:
    """Predictions at random points within the radius: dense in the plane, hopeless in many features.

    Parameters
    ----------
    model : classifier
        Anything fitted that has ``predict``.
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
    reach = _checked_radius(radius, norm, len(np.asarray(X)))
    samples, rng = np.asarray(X, np.float64), np.random.default_rng(random_state)
    own = model.predict(samples)
    best, distance = np.full(samples.shape, np.nan), np.full(len(samples), np.inf)
    shares = ((np.arange(n_points) + 1.0) / n_points) ** (1 / samples.shape[1])
    for some in np.array_split(shares, -(-n_points // _POINTS_AT_ONCE)):
        steps = rng.normal(size=(len(some), *samples.shape))
        steps /= np.linalg.norm(steps, ord=_NORMS[norm], axis=2, keepdims=True)
        lengths = some[:, None] * reach
        points = samples + lengths[:, :, None] * steps
        reached = model.predict(points.reshape(-1, samples.shape[1])).reshape(lengths.shape)
        lengths[reached == own] = np.inf
        first = lengths.argmin(axis=0), np.arange(len(samples))
        nearer = lengths[first] < distance
        best[nearer], distance[nearer] = points[first][nearer], lengths[first][nearer]
    return Attack(best, distance)


def hop_skip_jump(
    model: Any, X: ArrayLike, norm: float | str = 2, *, n_iterations: int = 20, random_state: int = 0
) -> Attack:
    """HopSkipJump, an attack that sees predictions only (Adversarial Robustness Toolbox).

    It starts from the nearest of the samples that is predicted to be of another class, so the samples
    must not all be of one class.

    Parameters
    ----------
    model : classifier
        Anything fitted that has ``predict`` and ``classes_``.
    X : array-like of shape (n_samples, n_features)
    norm : {2, "inf"}, default=2
    n_iterations : int, default=20
    random_state : int, default=0

    Returns
    -------
    Attack
    """
    if norm not in _NORMS:
        raise ValueError(f'norm must be 2 or "inf", got {norm!r}.')
    try:
        from art.attacks.evasion import HopSkipJump
        from art.estimators.classification import BlackBoxClassifier
    except ImportError as error:
        raise ImportError("hop_skip_jump needs ART: pip install 'ffmlp[attacks]'") from error
    samples = np.asarray(X, np.float64)
    own = model.predict(samples)
    if (own == own[0]).all():
        raise ValueError(
            f"all samples are predicted to be of class {own.tolist()[0]!r}: hop_skip_jump starts from "
            "samples of other classes. Give it some."
        )
    away = np.where(own[:, None] == own, np.inf, cdist(samples, samples))
    starts = samples[away.argmin(axis=1)]

    def predict(points: NDArray) -> Floats:
        numbers = np.searchsorted(model.classes_, model.predict(np.asarray(points, np.float64)))
        return np.eye(len(model.classes_))[numbers]

    black_box = BlackBoxClassifier(predict, (samples.shape[1],), len(model.classes_))
    options = {"max_iter": n_iterations, "max_eval": 1000, "init_eval": 20, "verbose": False}
    before = np.random.get_state()  # noqa: NPY002 - ART draws from the global generator
    try:
        np.random.seed(random_state)  # noqa: NPY002
        attack = HopSkipJump(black_box, norm=_NORMS[norm], **options)
        low = samples.astype(np.float32), starts.astype(np.float32)
        found = attack.generate(low[0], x_adv_init=low[1]).astype(np.float64)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    changed = model.predict(found) != own
    distance = np.linalg.norm(found - samples, ord=_NORMS[norm], axis=1)
    return Attack(np.where(changed[:, None], found, np.nan), np.where(changed, distance, np.inf))


def _checked_radius(radius: float | ArrayLike, norm: float | str, n_samples: int) -> Floats:
    if norm not in _NORMS:
        raise ValueError(f'norm must be 2 or "inf", got {norm!r}.')
    reach = np.broadcast_to(np.asarray(radius, np.float64), n_samples)
    if not (reach >= 0).all():
        raise ValueError(f"radius must not be negative, got {reach.min():g}.")
    return reach


def _checked(model: FFMLPClassifier | BackpropClassifier, X: ArrayLike) -> Floats:
    check_is_fitted(model)
    if isinstance(model, FFMLPClassifier) and model.hyperplanes_.gaussianisation is not None:
        raise ValueError(
            "the features are gaussianised, and gradients of that map are not followed here: use "
            "hop_skip_jump, or robustness, or fit with gaussianise=False."
        )
    samples: Floats = validate_data(model, X, reset=False, dtype=np.float64)
    return samples


def _scores(torch: Any, model: FFMLPClassifier | BackpropClassifier) -> Callable[[Any], Any]:
    """What ``predict`` takes the largest of, as a function of a tensor of samples (n, N)."""
    if isinstance(model, FFMLPClassifier):
        return _designed_scores(torch, model)
    layers = [
        (torch.as_tensor(weight).T, torch.as_tensor(bias))
        for weight, bias in zip(model.weights_, model.biases_, strict=True)
    ]

    def scores(x: Any) -> Any:
        for weight, bias in layers[:-1]:
            x = torch.relu(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    return scores


def _designed_scores(torch: Any, model: FFMLPClassifier) -> Callable[[Any], Any]:
    """The class scores of `ffmlp.explanations.evidence`."""
    planes, stages = model.hyperplanes_, model.network_.stages
    normals, offsets = torch.as_tensor(planes.weights.T.copy()), torch.as_tensor(planes.biases)
    owners = torch.as_tensor(stages.neuron_classes)
    classes = range(len(model.classes_))

    def merged(neurons: Any, merge: Callable[[Any], Any]) -> Any:
        """The score of each class from those of its neurons; a class without any has none."""
        nothing = torch.full_like(neurons[:, 0], -torch.inf)
        mine = [neurons[:, owners == label] for label in classes]
        return torch.stack([merge(own) if own.shape[1] else nothing for own in mine], dim=1)

    if isinstance(stages, RegionStages):
        codes = torch.as_tensor(stages.codes.T.astype(np.float64))
        return lambda x: merged((x @ normals + offsets) @ codes, lambda own: own.amax(dim=1))
    weight, bias = (torch.as_tensor(np.array(part[0])) for part in (stages.weights, stages.biases))
    activation = torch.nn.functional.softplus if isinstance(stages, BlobStages) else torch.relu

    def neurons(x: Any) -> Any:
        h = x @ normals + offsets
        return activation(torch.cat([h, -h], dim=1)) @ weight.T + bias

    if isinstance(stages, BlobStages):
        return lambda x: merged(neurons(x), lambda own: own.logsumexp(dim=1))
    out = torch.as_tensor(stages.weights[1])
    return lambda x: neurons(x) @ out.T


def _imported_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("gradient attacks need PyTorch: pip install 'ffmlp[torch]'") from error
    return torch
