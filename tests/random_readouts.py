"""Random small readouts, and a search of the surroundings of samples for violated distances."""

import numpy as np

from ffmlp.inputs.features import Gaussianisation
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.readout import ReadoutStages
from ffmlp.robustness.distance import Effort, distances
from ffmlp.robustness.limits import Limits


def random_readout(rng):
    """A network of random weights; some are one-sided, some have gaussianised features."""
    n_features, n_planes, n_classes = rng.integers(1, 4), rng.integers(1, 9), rng.integers(2, 5)
    one_sided = bool(rng.integers(2))
    even = rng.normal(size=(n_planes, n_classes))
    odd = even if one_sided else rng.normal(size=even.shape)
    bias = rng.normal(size=n_classes)
    gaussianisation = _random_maps(rng, n_features) if rng.integers(2) else None
    planes = Hyperplanes(
        rng.normal(size=(n_planes, n_features)) * 10.0 ** rng.uniform(-1, 1, size=(n_planes, 1)),
        rng.normal(size=n_planes),
        np.zeros((n_planes, 2), np.intp),
        gaussianisation,
        one_sided,
    )
    stages = ReadoutStages(even, odd, bias, 1.0, one_sided)
    names = tuple(f"x{number}" for number in range(n_features))
    return Network(planes, stages, np.arange(n_classes), np.zeros(1, np.intp), names)


def _random_maps(rng, n_features):
    knots, scores = [], []
    for _ in range(n_features):
        n_knots = rng.integers(2, 9)
        knots.append(np.sort(rng.normal(size=n_knots)) * 2 + 1e-3 * np.arange(n_knots))
        scores.append(np.cumsum(rng.exponential(size=n_knots) + 1e-2) - n_knots / 2)
    return Gaussianisation(tuple(knots), tuple(scores))


def random_limits(rng, x, norm):
    """Limits of a change of x (1, N): none, or some bounds and other units."""
    low, high, scale = np.full(x.shape, -np.inf), np.full(x.shape, np.inf), np.ones(x.shape[1])
    if rng.integers(2):
        scale = 10.0 ** rng.uniform(-1, 1, size=x.shape[1])
        bounded = rng.integers(2, size=x.shape) > 0
        low = np.where(bounded, x - rng.exponential(size=x.shape), low)
        high = np.where(bounded, x + rng.exponential(size=x.shape), high)
    return Limits(low, high, scale, norm)


def violations(rng, norm, n_points=2000):
    """Checks of one sample of a random network that fail; whether the distance is exact, and finite."""
    network = random_readout(rng)
    x = 2 * rng.normal(size=(1, len(network.feature_names)))
    limits = random_limits(rng, x, norm)
    n = x.shape[1]
    no_blobs = Blobs(np.zeros(0, np.intp), np.zeros((0, n)), np.zeros((0, n, n)), np.zeros(0))
    found = distances(network, no_blobs, x, limits, Effort())
    (own,), (lower,), (distance,) = network.classes(x), found.lower, found.distance
    steps = np.vstack([in_ball(rng, n_points, x.shape[1], norm), on_axes(x.shape[1], norm)])
    radius = 0.99999 * min(lower, 20.0)
    near = np.clip(x + radius * steps * limits.scale, limits.low, limits.high)
    failed = []
    if (network.classes(near) != own).any():
        failed.append(f"another class is nearer than the lower bound {lower}")
    if np.isfinite(distance):
        size = np.linalg.norm((found.points - x) / limits.scale, ord=norm, axis=1)[0]
        if network.classes(found.points)[0] in (own, -1):
            failed.append("the point is not of another class")
        if not distance <= size * (1 + 1e-12) <= distance * (1 + 2e-6):
            failed.append(f"the point is at {size}, not at {distance}")
        if (found.points < limits.low).any() or (found.points > limits.high).any():
            failed.append("the point is beyond the limits")
    if not lower <= distance:
        failed.append(f"the lower bound {lower} is above {distance}")
    return failed, bool(found.exact[0]), bool(np.isfinite(distance))


def in_ball(rng, n_points, n_features, norm):
    points = rng.normal(size=(n_points, n_features))
    points /= np.linalg.norm(points, ord=norm, axis=1, keepdims=True)
    return points * rng.uniform(size=(n_points, 1)) ** (0.3 / n_features)


def on_axes(n_features, norm):
    """The corners of the ball; for norm 2 those of the other balls, scaled."""
    axes = np.vstack([np.eye(n_features), -np.eye(n_features)])
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * n_features)).reshape(n_features, -1).T
    return np.vstack([axes, signs / np.linalg.norm(signs[0], ord=norm)])
