"""Accuracy during training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.plots.view import (
    AxesDisplay,
    Floats,
    colours,
    matplotlib,
)

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
