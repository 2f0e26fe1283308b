"""Accuracy by epoch, error along the pruning path, accuracy under attack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.plots.view import INK, AxesDisplay, colours, fitted_attribute, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BATCH = "training, averaged over batches"


class AccuracyCurvesDisplay(AxesDisplay):
    """Training and test accuracy by epoch of backpropagation.

    Parameters
    ----------
    train, test : array-like of shape (n_epochs + 1,) or (n_runs, n_epochs + 1)
        Accuracies in [0, 1], from epoch 0. Of several runs, the mean and the range are drawn.
    batch : array-like of the shape of ``train``, default=None
        Training accuracies averaged over the batches of each epoch; those of epoch 0 are NaN.
    title : str, default=None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyCurvesDisplay
    >>> display = AccuracyCurvesDisplay([0.5, 0.8, 0.9], [0.5, 0.7, 0.8], batch=[float("nan"), 0.6, 0.9])
    >>> ax = display.plot(Figure(layout="constrained").subplots()).ax_
    >>> [line.get_label() for line in ax.lines]
    ['training', 'test', 'training, averaged over batches']
    """

    def __init__(
        self,
        train: ArrayLike,
        test: ArrayLike,
        *,
        batch: ArrayLike | None = None,
        title: str | None = None,
    ) -> None:
        self.train = self._checked(train, "train")
        self.test = self._checked(test, "test")
        self.batch = None if batch is None else self._checked(batch, "batch", first=1)
        self.title = "Accuracy by epoch" if title is None else title

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, title: str | None = None, ax: Axes | None = None
    ) -> AccuracyCurvesDisplay:
        """Draw the ``history_`` of a `BackpropClassifier` that was fitted with test samples."""
        history = fitted_attribute(estimator, "history_", "BackpropClassifier")
        if np.isnan(history.test_accuracy).any():
            raise ValueError(
                f"{type(estimator).__name__} has no test accuracy: it was fitted without test samples. "
                "Fit it with X_test and y_test."
            )
        curves = history.train_accuracy, history.test_accuracy
        return cls(*curves, batch=history.batch_accuracy, title=title).plot(ax)

    @staticmethod
    def _checked(accuracy: ArrayLike, name: str, first: int = 0) -> Floats:
        """Accuracies (n_runs, n_epochs + 1), valid from epoch ``first``."""
        runs = np.atleast_2d(np.asarray(accuracy, np.float64))
        if runs.ndim != 2 or not runs.size:
            raise ValueError(
                f"{name} must have shape (n_epochs + 1,) or (n_runs, n_epochs + 1), got "
                f"{np.shape(accuracy)}."
            )
        valid = runs[:, first:]
        if not ((valid >= 0) & (valid <= 1)).all():
            low, high = valid.min(), valid.max()
            raise ValueError(
                f"{name} must be accuracies in [0, 1], got values from {low:g} to {high:g}."
            )
        return runs

    def plot(self, ax: Axes | None = None) -> AccuracyCurvesDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax = self._open(ax)
        curves = {"training": self.train, "test": self.test, _BATCH: self.batch}
        for number, (name, runs) in enumerate(curves.items()):
            if runs is None:
                continue
            epochs, colour = np.arange(runs.shape[1]), colours(number)
            style, width = (("-", 1.5), ("--", 1.5), (":", 2.2))[number]
            several = f" (mean and range of {len(runs)} runs)" if len(runs) > 1 else ""
            mean, label = runs.mean(axis=0), name + several
            ax.plot(epochs, mean, style, color=colour, linewidth=width, label=label)
            if several:
                ax.fill_between(epochs, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2)
        ax.set(xlabel="epoch", ylabel="accuracy", title=self.title)
        ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        ax.grid(alpha=0.3)
        ax.legend(loc="lower right")
        return self


@dataclass(eq=False)
class PruningPathDisplay(AxesDisplay):
    """Training error rate against the number of hyperplanes, which pruning deletes one by one.

    Attributes
    ----------
    n_hyperplanes : ndarray of shape (n_deleted + 1,)
        Hyperplanes left after each deletion, from all of them.
    error_rates : ndarray of shape (n_deleted + 1,)
    error_threshold : float
        Drawn as a line, unless it is 1: every error rate is below it.
    title : str
    """

    n_hyperplanes: Floats
    error_rates: Floats
    error_threshold: float
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        error_threshold: float | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> PruningPathDisplay:
        """Draw the ``pruning_path_`` of a fitted classifier of the region or the blob design.

        The path ends before the error rate reaches the threshold of the fit. With
        ``FFMLPClassifier(..., error_threshold=1.0)`` it ends with a single hyperplane.

        Parameters
        ----------
        estimator : FFMLPClassifier
        error_threshold : float, default=None
            The threshold to draw; by default that of the fit.

        Raises
        ------
        ValueError
            If there is no error rate by deletion: nothing was deleted, or the design is a readout,
            which deletes all superfluous hyperplanes at once.
        """
        path, plan = fitted_attribute(estimator, "pruning_path_"), estimator.selection_.plan
        if plan.design == "readout":
            raise ValueError(
                "The readout design deletes hyperplanes all at once: it has no error rate by deletion. "
                "Fit design='region' or design='blob' with error_threshold=1.0 to draw the whole path."
            )
        if not len(path.deleted):
            remedy = "Fit with a higher threshold: 1.0 gives the whole path."
            raise ValueError(
                f"error_threshold={plan.error_threshold} deleted no hyperplane, so there is no pruning "
                f"path to draw. {remedy if len(path.kept) > 1 else 'There is only one hyperplane.'}"
            )
        left = len(path.kept) + len(path.deleted) - np.arange(len(path.deleted) + 1.0)
        errors = np.concatenate([[path.initial_error_rate], path.error_rates])
        threshold = plan.error_threshold if error_threshold is None else error_threshold
        title = "Error along the pruning path" if title is None else title
        return cls(left, errors, threshold, title).plot(ax)

    def plot(self, ax: Axes | None = None) -> PruningPathDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax = self._open(ax)
        style: dict[str, Any] = {"where": "post", "marker": "o", "markersize": 3.5}
        ax.step(self.n_hyperplanes, self.error_rates, color=colours(0), label="training error", **style)
        if self.error_threshold < 1:
            label = f"error threshold {self.error_threshold:g}"
            ax.axhline(self.error_threshold, color=INK, linestyle="--", label=label)
        ax.invert_xaxis()
        ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))
        ax.set_ylim(bottom=0.0)
        ax.set(xlabel="number of hyperplanes", ylabel="training error rate", title=self.title)
        ax.grid(alpha=0.3)
        ax.legend(loc="best")
        return self


class RobustAccuracyDisplay(AxesDisplay):
    """Robust accuracy of classifiers: the share of samples right at every point within a radius.

    Parameters
    ----------
    radii : array-like of shape (n_radii,)
        In standard deviations of the features.
    accuracies : mapping of classifier name to array-like of shape (n_radii,)
        In [0, 1].
    title : str, default=None
    """

    def __init__(
        self, radii: ArrayLike, accuracies: Mapping[str, ArrayLike], *, title: str | None = None
    ) -> None:
        self.radii = np.asarray(radii, np.float64)
        self.accuracies = {name: np.asarray(row, np.float64) for name, row in accuracies.items()}
        self.title = "Robust accuracy" if title is None else title
        for name, row in self.accuracies.items():
            if row.shape != self.radii.shape:
                raise ValueError(
                    f"accuracies of {name!r} must have the shape of radii, {self.radii.shape}, got "
                    f"{row.shape}."
                )

    def plot(self, ax: Axes | None = None) -> RobustAccuracyDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax = self._open(ax)
        for number, (name, row) in enumerate(self.accuracies.items()):
            style = ("-o", "--s", ":D", "-.^")[number % 4]
            ax.plot(self.radii, row, style, color=colours(number), markersize=4, label=name)
        ax.set(xlabel="radius in standard deviations", ylabel="robust accuracy", title=self.title)
        ax.set_ylim(0.0, 1.02)
        ax.grid(alpha=0.3)
        ax.legend(loc="lower left")
        return self
