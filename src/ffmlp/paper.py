"""The paper in one file: a multilayer perceptron that is designed feedforward (FF-MLP), stages 0 to 3.

    R. Lin, Z. Zhou, S. You, R. Rao and C.-C. J. Kuo. From Two-Class Linear Discriminant Analysis to
    Interpretable Multilayer Perceptron Design. arXiv:2009.04442, 2020.

This is teaching text: read it from top to bottom, beside the paper. `ffmlp.FFMLPClassifier` is for use.
Its ``design="paper"`` is the same network made fast; the tests compare the two on every test sample.

Symbols are the paper's: N features, C classes, G Gaussian blobs, L partitioning hyperplanes, D_1 and D_2
neurons in the layers l_1 and l_2. So are sections, equations and footnotes. "Open" marks what the paper
leaves open, with our choice; "Corrected" marks what cannot hold, or what its experiments do otherwise.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class Blob(NamedTuple):
    """A Gaussian blob (Sec. II-A): its class and its samples (n, N)."""

    target: int
    samples: ndarray


class Network(NamedTuple):
    """The MLP of Sec. III. "All bias terms are zero" (Sec. II-C3), except in l_1 (Sec. II-B)."""

    W_1: ndarray  # (D_1, N)
    b_1: ndarray  # (D_1,)
    W_2: ndarray  # (D_2, D_1)
    W_3: ndarray  # (C, D_2)

    def responses(self, X: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """The responses of l_1, l_2 and l_out to samples (n, N)."""
        l_1 = np.maximum(0.0, X @ self.W_1.T + self.b_1)  # ReLU, Eq. (4)
        l_2 = np.maximum(0.0, l_1 @ self.W_2.T)
        return l_1, l_2, l_2 @ self.W_3.T


def stage_0(X: ndarray, y: ndarray, n_components: ArrayLike, rng: np.random.RandomState) -> list[Blob]:
    """Approximate each class by a Gaussian mixture (Sec. III-A, at its end; "stage 0" in Sec. VI-C).

    "... we first estimate the GMM parameters using the training data. Then, we use the GMM to generate
    samples for LDAs" (footnote 5), with "different covariance matrices for different components"
    (footnote 6). Open: whether features are scaled (not here); how many samples (as many as the class).
    """
    blobs = []
    for c, k in enumerate(np.broadcast_to(n_components, y.max() + 1).tolist()):
        members = X[y == c]
        mixture = GaussianMixture(k, covariance_type="full", random_state=rng).fit(members)
        samples, component = mixture.sample(len(members))
        # Open: a component of which no sample is generated. It gets no LDA.
        blobs += [Blob(c, samples[component == g]) for g in np.unique(component)]
    return blobs


def known_blobs(X: ndarray, y: ndarray, blob: ndarray) -> list[Blob]:
    """Stage 0 where blobs are known: "no GMM approximation is needed" (Sec. VI-C)."""
    return [Blob(c, X[blob == g]) for c in np.unique(y) for g in np.unique(blob[y == c])]


def two_class_lda(X_1: ndarray, X_2: ndarray) -> tuple[ndarray, float]:
    """Two-class LDA in closed form (Sec. II-A): w'x + b is positive on the side of X_1."""
    mu_1, mu_2 = X_1.mean(axis=0), X_2.mean(axis=0)
    # "LDA assumes homoscedasticity". Open: two covariances. They are pooled by numbers of samples.
    deviations = np.vstack([X_1 - mu_1, X_2 - mu_2])
    Sigma = deviations.T @ deviations / len(deviations)
    # Open: singular covariances. We add to the variances what GaussianMixture adds.
    Sigma += 1e-6 * np.eye(len(Sigma))
    w = np.linalg.solve(Sigma, mu_1 - mu_2)  # Eq. (2)
    # Eq. (3): its first two terms are -½(μ_1 + μ_2)'w. Open: p = P(y = 1). We take the share of X_1.
    b = -0.5 * (mu_1 + mu_2) @ w + np.log(len(X_1) / len(X_2))
    return w, b


def stage_1(blobs: list[Blob]) -> tuple[ndarray, ndarray]:
    """Half-space partitioning (Sec. III-A1): L two-class LDAs run in parallel; w (L, N) and b (L,).

    Corrected: the text has G(G-1)/2 pairs, but "we do not perform LDA between Gaussian blobs of the same
    class" in the experiments (footnote 7). So L is the number of pairs of blobs of different classes.
    """
    pairs = [(one, other) for one, other in combinations(blobs, 2) if one.target != other.target]
    w, b = zip(*(two_class_lda(one.samples, other.samples) for one, other in pairs), strict=True)
    return np.array(w), np.array(b)


def regions(codes: ndarray, Y: ndarray) -> tuple[ndarray, ndarray]:
    """The regions s(R) = "c_1, ..., c_L" (Sec. III-A2) that samples occupy, and their samples by class.

    ``codes`` (n, L) has the sides of samples, 1 for positive ones; ``Y`` (n, C) is 1 at their classes.
    """
    packed = np.packbits(codes, axis=1)  # bytes are compared faster than bits
    _, first, region = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), Y.shape[1]))
    np.add.at(counts, region.ravel(), Y)
    return codes[first], counts


def prune(codes: ndarray, Y: ndarray, threshold: float) -> tuple[list[int], list[tuple[int, float]]]:
    """Pruning (Sec. III-B): the hyperplanes kept, and those deleted with the error rate after each."""

    def misclassified(remaining: list[int]) -> float:
        """Step 2: the majority class of a subspace is the prediction for all samples in it."""
        _, counts = regions(codes[:, remaining], Y)
        return counts.sum() - counts.max(axis=1).sum()

    kept, deleted = list(range(codes.shape[1])), []
    while len(kept) > 1:  # "and there is more than one remaining LDA"
        # Steps 1 and 3: "Delete one LDA and keep remaining LDAs the same"; "for each LDA".
        errors = [misclassified([k for k in kept if k != l]) for l in kept]
        error_rate = min(errors) / Y.sum()
        if not error_rate < threshold:  # "less than a pre-defined threshold"
            break
        # Open: ties. The first of the least important LDAs is deleted.
        deleted.append((kept.pop(int(np.argmin(errors))), error_rate))
    return kept, deleted


def stage_2(s: ndarray, P: float) -> ndarray:
    """Subspace isolation (Sec. III-A2): weight 1 from a region's half-spaces, -P from their complements.

    Open: which of the up to 2^L regions are neurons. Those that training samples occupy are, because the
    others have no majority class. Corrected: G <= D_2 in Eq. (6) does not hold where "one neuron in l_2
    covers multiple Gaussian blobs of the same class" (Sec. III-B). Iris has G = 6 and D_2 = 3.
    """
    return np.where(np.hstack([s, ~s]), 1.0, -P)


def stage_3(counts: ndarray) -> ndarray:
    """Class-wise subspace mergence (Sec. III-A3): weight 1 from a region to its class, 0 to the others.

    Its class is "the majority class in that region" (footnote 4). Open: ties. The first class wins.
    """
    return np.eye(counts.shape[1])[:, counts.argmax(axis=1)]


def design(X: ndarray, y: ndarray, blobs: list[Blob], error_threshold: float, P: float) -> Network:
    """Stages 1 to 3, from training samples (n, N), their classes (n,) and blobs to the network."""
    Y = np.eye(y.max() + 1)[y]
    w, b = stage_1(blobs)
    codes = X @ w.T + b > 0  # "classified to class C_1 if w'x + b evaluates positive. Otherwise ..."
    kept, _ = prune(codes, Y, error_threshold)
    s, counts = regions(codes[:, kept], Y)
    # D_1 = 2L: neurons l and l + L are a pair, as "0 and 3, 1 and 4, and 2 and 5" in Example 2.
    W_1, b_1 = np.vstack([w[kept], -w[kept]]), np.hstack([b[kept], -b[kept]])
    return Network(W_1, b_1, stage_2(s, P), stage_3(counts))


class FFMLP(ClassifierMixin, BaseEstimator):
    """The paper's classifier: ``n_components`` is one number, or a sequence with one for each class.

    Hyperplanes are deleted while the training error stays below ``error_threshold``; 0 deletes none.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FFMLP(random_state=0).fit(X, y)
    >>> clf.network_.W_2.shape  # D_2 and D_1: three regions, two hyperplanes
    (3, 4)
    >>> round(clf.score(X, y), 3)
    0.987
    """

    def __init__(
        self, n_components: ArrayLike = 2, error_threshold: float = 0.05, P: float = 1000.0,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        self.n_components, self.error_threshold = n_components, error_threshold
        self.P, self.random_state = P, random_state  # P = 1000 as in footnote 2

    def fit(self, X: ArrayLike, y: ArrayLike, blobs: ArrayLike | None = None) -> FFMLP:
        """Design the network; ``blobs`` (n,) is the blob of each sample, where it is known."""
        samples, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, c = np.unique(labels, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("FFMLP needs samples of two or more classes, got one class.")
        rng = check_random_state(self.random_state)
        if blobs is None:
            self.blobs_ = stage_0(samples, c, self.n_components, rng)
        else:
            self.blobs_ = known_blobs(samples, c, np.asarray(blobs))
        self.network_ = design(samples, c, self.blobs_, self.error_threshold, self.P)
        return self

    def predict(self, X: ArrayLike) -> ndarray:
        """The class of the largest output. Open: l_2 may be silent; then the first class wins."""
        check_is_fitted(self)
        _, _, l_out = self.network_.responses(validate_data(self, X, dtype=np.float64, reset=False))
        return self.classes_[l_out.argmax(axis=1)]
