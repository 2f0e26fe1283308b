"""Accuracy during training, error along the pruning path, accuracy under attack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.design.pruning import PruningPath
from ffmlp.plots.view import INK, AxesDisplay, Floats, colours, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AccuracyCurvesDisplay(AxesDisplay):
    """Training and test accuracy over the epochs of a network that is trained.

    Parameters
    ----------
    train, test : array-like of shape (n_epochs + 1,) or (n_runs, n_epochs + 1)
        Accuracies in [0, 1], epoch 0 first. Of several runs, the mean and the range are drawn.
    title : str, default=None

    Attributes
    ----------
    train, test : ndarray of shape (n_runs, n_epochs + 1)
    title : str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyCurvesDisplay
    >>> display = AccuracyCurvesDisplay([0.5, 0.8, 0.9], [0.5, 0.7, 0.8])
    >>> ax = display.plot(Figure(layout="constrained").subplots()).ax_
    >>> [line.get_label() for line in ax.lines]
    ['train', 'test']
    """

    def __init__(self, train: ArrayLike, test: ArrayLike, *, title: str | None = None) -> None:
        self.train = self._checked(train, "train")
        self.test = self._checked(test, "test")
        self.title = "Accuracy during training" if title is None else title

    @staticmethod
    def _checked(accuracy: ArrayLike, name: str) -> Floats:
        runs = np.atleast_2d(np.asarray(accuracy, np.float64))
        if runs.ndim != 2 or not runs.size:
            raise ValueError(
                f"{name} must be of shape (n_epochs + 1,) or (n_runs, n_epochs + 1), got "
                f"{np.shape(accuracy)}."
            )
        if not ((runs >= 0) & (runs <= 1)).all():
            raise ValueError(
                f"{name} must be accuracies in [0, 1], got values from {runs.min():g} to {runs.max():g}."
            )
        return runs

    def plot(self, ax: Axes | None = None) -> AccuracyCurvesDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        for number, (name, runs) in enumerate((("train", self.train), ("test", self.test))):
            epochs, colour = np.arange(runs.shape[1]), colours(number)
            several = f", mean and range of {len(runs)} runs" if len(runs) > 1 else ""
            ax.plot(epochs, runs.mean(axis=0), ("-", "--")[number], color=colour, label=name + several)
            if several:
                ax.fill_between(epochs, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2)
        ax.set_xlabel("epoch")
        ax.set_ylabel("accuracy")
        ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        ax.grid(alpha=0.3)
        ax.set_title(self.title)
        ax.legend(loc="lower right")
        return self


@dataclass(eq=False)
class PruningPathDisplay(AxesDisplay):
    """Training error rate against the number of hyperplanes, as they are deleted one by one.

    Attributes
    ----------
    n_hyperplanes : ndarray of shape (n_deleted + 1,)
        Hyperplanes left, all of them first.
    error_rates : ndarray of shape (n_deleted + 1,)
    error_threshold : float or None
    title : str
    """

    n_hyperplanes: Floats
    error_rates: Floats
    error_threshold: float | None
    title: str

    @classmethod
    def from_path(
        cls,
        path: PruningPath,
        *,
        error_threshold: float | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> PruningPathDisplay:
        """Draw ``clf.pruning_path_`` and the threshold, if given, into ``ax``, or a new figure.

        ``FFMLPClassifier(..., error_threshold=1.0)`` deletes as far as it goes: down to one hyperplane.
        """
        left = len(path.kept) + len(path.deleted) - np.arange(len(path.deleted) + 1.0)
        errors = np.concatenate([[path.initial_error_rate], path.error_rates])
        title = "Error along the pruning path" if title is None else title
        return cls(left, errors, error_threshold, title).plot(ax)

    def plot(self, ax: Axes | None = None) -> PruningPathDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        style: dict[str, Any] = {"where": "post", "marker": "o", "markersize": 3.5}
        ax.step(self.n_hyperplanes, self.error_rates, color=colours(0), label="training error", **style)
        if self.error_threshold is not None:
            label = f"threshold {self.error_threshold:g}"
            ax.axhline(self.error_threshold, color=INK, linestyle="--", label=label)
        ax.invert_xaxis()
        ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("hyperplanes left")
        ax.set_ylabel("training error rate")
        ax.grid(alpha=0.3)
        ax.set_title(self.title)
        ax.legend(loc="upper left")
        return self


class RobustAccuracyDisplay(AxesDisplay):
    """Accuracy of classifiers on samples that may move, against how far they may.

    Parameters
    ----------
    radii : array-like of shape (n_radii,)
    accuracies : mapping of name to array-like of shape (n_radii,)
        In [0, 1].
    title : str, default=None

    Attributes
    ----------
    radii : ndarray of shape (n_radii,)
    accuracies : dict of name to ndarray of shape (n_radii,)
    title : str
    """

    def __init__(
        self, radii: ArrayLike, accuracies: Mapping[str, ArrayLike], *, title: str | None = None
    ) -> None:
        self.radii = np.asarray(radii, np.float64)
        self.accuracies = {name: np.asarray(row, np.float64) for name, row in accuracies.items()}
        self.title = "Accuracy under attack" if title is None else title
        for name, row in self.accuracies.items():
            if row.shape != self.radii.shape:
                raise ValueError(
                    f"accuracies of {name!r} must be of shape {self.radii.shape}, as the radii, got "
                    f"{row.shape}."
                )

    def plot(self, ax: Axes | None = None) -> RobustAccuracyDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        for number, (name, row) in enumerate(self.accuracies.items()):
            style: dict[str, Any] = {
                "color": colours(number),
                "marker": "osD^"[number % 4],
                "markersize": 4,
            }
            ax.plot(self.radii, row, ("-", "--", ":", "-.")[number % 4], label=name, **style)
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel("radius in standard deviations")
        ax.set_ylabel("accuracy")
        ax.grid(alpha=0.3)
        ax.set_title(self.title)
        ax.legend(loc="lower left")
        return self
