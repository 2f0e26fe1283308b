"""Accuracy by epoch, along the pruning path, under attack, over splits and against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.plots.view import INK, AxesDisplay, FigureDisplay, colours, fitted_attribute, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from ffmlp.plots.view import AnyFigure


_BATCH = "training, averaged over batches"


class AccuracyCurvesDisplay(AxesDisplay):
    """Training and test accuracy by epoch of backpropagation.

    Parameters
    ----------
    train, test : array-like of shape (n_epochs + 1,) or (n_runs, n_epochs + 1)
        Accuracies in [0, 1], from epoch 0. Of several runs, the mean and the range are drawn.
    batch : array-like of the shape of ``train``, default=None
        Training accuracies averaged over the batches of each epoch, NaN at epoch 0.
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

    def _draw(self, ax: Axes) -> None:
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
            The threshold to draw; by default the threshold of the fit.

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

    def _draw(self, ax: Axes) -> None:
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

    def _draw(self, ax: Axes) -> None:
        for number, (name, row) in enumerate(self.accuracies.items()):
            style = ("-o", "--s", ":D", "-.^")[number % 4]
            ax.plot(self.radii, row, style, color=colours(number), markersize=4, label=name)
        ax.set(xlabel="radius in standard deviations", ylabel="robust accuracy", title=self.title)
        ax.set_ylim(0.0, 1.02)
        ax.grid(alpha=0.3)
        ax.legend(loc="lower left")


_HALF: dict[str, Any] = {"linewidth": 4.5, "alpha": 0.5, "zorder": 3}
_MOST: dict[str, Any] = {"linewidth": 1.2, "zorder": 2}
_DOT: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": INK, "linestyle": "none", "zorder": 4}
_MARK: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 2.4, "color": INK}
_MARK |= {"linestyle": "none", "zorder": 5}


class AccuracyIntervalsDisplay(FigureDisplay):
    """Accuracies of methods over many splits: median, middle half and middle 80 %, row by row.

    The axes differ from row to row, so that rows of very different accuracies can be read.

    Parameters
    ----------
    rows : sequence of (str, mapping, mapping)
        The title of each row, the accuracies in % of each method, one for each split, and a reference
        accuracy in % of some methods.
    reference : str, default="reference"
        What the reference is, for the legend.
    title : str, default=None

    Attributes
    ----------
    methods : list of str
        All methods, in the order of their first appearance. They have this order in each row, too.
    axes_ : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyIntervalsDisplay
    >>> rows = [("Iris", {"lda": [96, 97, 98], "svm": [95, 96]}, {"lda": 98.0})]
    >>> display = AccuracyIntervalsDisplay(rows).plot(Figure(layout="constrained"))
    >>> display.methods, [ax.get_ylabel() for ax in display.axes_]
    (['lda', 'svm'], ['Iris'])
    """

    def __init__(
        self,
        rows: Sequence[tuple[str, Mapping[str, ArrayLike], Mapping[str, float]]],
        *,
        reference: str = "reference",
        title: str | None = None,
    ) -> None:
        self.rows = tuple(rows)
        self.reference = reference
        self.title = "Accuracy by method" if title is None else title
        if not self.rows:
            raise ValueError("rows must not be empty.")
        self.methods = list(dict.fromkeys(name for _, *both in rows for part in both for name in part))

    def _draw(self, figure: AnyFigure) -> None:
        n_rows = len(self.rows)
        self._resize(5.4, 1.9 + 0.82 * n_rows)
        legend, *axes = figure.subplots(n_rows + 1, 1, height_ratios=[1.5] + [1] * n_rows)
        self.axes_ = np.array(axes, object)
        for ax, (title, accuracies, references) in zip(axes, self.rows, strict=True):
            for number, name in enumerate(self.methods):
                values = np.asarray(accuracies.get(name, ()), np.float64)
                if len(values):
                    _draw_interval(ax, number, values)
                if name in references:
                    ax.plot(references[name], number, **_MARK)
            self._frame(ax, title)
        axes[-1].set_xlabel("test accuracy in %")
        self._draw_legend(legend)
        if self.title:
            figure.suptitle(self.title)

    def _frame(self, ax: Axes, title: str) -> None:
        ax.set_ylabel(title.replace(" (", "\n("), rotation=0, ha="right", va="center")
        ax.set(ylim=(len(self.methods) - 0.4, -0.6), yticks=[])
        low, high = ax.get_xlim()
        ax.set_xlim(low, min(high, 100 + 0.04 * (high - low)))
        ax.xaxis.set_major_locator(
            matplotlib("ticker").MaxNLocator(6, steps=[1, 2, 5, 10], min_n_ticks=3)
        )
        ax.tick_params(axis="x", labelsize="small", length=2, pad=2)
        ax.grid(axis="x", alpha=0.35)
        ax.spines[["top", "left", "right"]].set_visible(False)

    def _draw_legend(self, ax: Axes) -> None:
        grey = {"color": "0.5"}
        entries = {name: _dot(number) for number, name in enumerate(self.methods)} | {
            self.reference: _MARK,
            "median of the splits": _dot(0) | grey,
            "middle half of the splits": _HALF | grey,
            "middle 80 % of the splits": _MOST | grey,
        }
        line = matplotlib("lines").Line2D
        handles = [line([], [], label=name, **style) for name, style in entries.items()]
        ax.legend(handles=handles, loc="center", ncols=2, frameon=False, fontsize="small")
        ax.set_axis_off()


def _dot(number: int) -> dict[str, Any]:
    """The dot of a method, with its colour and its shape."""
    return {"color": colours(number), "marker": "osD^vP*X"[number % 8], **_DOT}


def _draw_interval(ax: Axes, number: int, values: Floats) -> None:
    """The median of a method, its middle half and its middle 80 %."""
    low, lower, median, upper, high = np.percentile(values, [10, 25, 50, 75, 90])
    ax.plot([low, high], [number, number], color=colours(number), **_MOST)
    ax.plot([lower, upper], [number, number], color=colours(number), **_HALF)
    ax.plot(median, number, **_dot(number))


# Offsets of a label from its dot in points, the nearest first: eight directions at five distances.
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)])
_OFFSETS = np.concatenate([distance * _DIRECTIONS for distance in (7, 14, 22, 32, 44)])
_SIDES = {-1: "right", 0: "center", 1: "left"}
_HEIGHTS = {-1: "top", 0: "center", 1: "bottom"}


class AccuracyTimeDisplay(AxesDisplay):
    """Mean accuracy of classifiers against their fit time, on a logarithmic axis.

    Parameters
    ----------
    names : sequence of str
    seconds : array-like of shape (n_classifiers,)
        Positive.
    accuracies : array-like of shape (n_classifiers,)
        In [0, 1].
    highlighted : sequence of bool, default=None
        Classifiers that are drawn as circles in another colour.
    title : str, default=None

    Attributes
    ----------
    labels_ : list of Annotation
        The names as drawn, set by ``plot``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyTimeDisplay
    >>> display = AccuracyTimeDisplay(["lda", "svm"], [0.001, 0.01], [0.9, 0.95])
    >>> ax = display.plot(Figure(layout="constrained").subplots()).ax_
    >>> ax.get_xscale(), [label.get_text() for label in display.labels_]
    ('log', ['lda', 'svm'])
    """

    labels_: list[Annotation]

    def __init__(
        self,
        names: Sequence[str],
        seconds: ArrayLike,
        accuracies: ArrayLike,
        *,
        highlighted: Sequence[bool] | None = None,
        title: str | None = None,
    ) -> None:
        self.names = tuple(names)
        self.seconds = np.asarray(seconds, np.float64)
        self.accuracies = np.asarray(accuracies, np.float64)
        marked = [False] * len(self.names) if highlighted is None else highlighted
        self.highlighted = np.asarray(marked, bool)
        self.title = "Accuracy and fit time" if title is None else title
        for name in ("seconds", "accuracies", "highlighted"):
            if getattr(self, name).shape != (len(self.names),):
                raise ValueError(
                    f"{name} must have one entry for each of the {len(self.names)} names, got shape "
                    f"{getattr(self, name).shape}."
                )
        if not (self.seconds > 0).all():
            raise ValueError(f"seconds must be positive, got {self.seconds.tolist()}.")
        if not ((self.accuracies >= 0) & (self.accuracies <= 1)).all():
            raise ValueError(f"accuracies must be in [0, 1], got {self.accuracies.tolist()}.")

    def _draw(self, ax: Axes) -> None:
        self._resize(8.0, 5.5)
        style: dict[str, Any] = {"s": 42, "edgecolors": INK, "zorder": 3}
        for number, (chosen, marker) in enumerate(((self.highlighted, "o"), (~self.highlighted, "s"))):
            x, y = self.seconds[chosen], self.accuracies[chosen]
            ax.scatter(x, y, color=colours(number), marker=marker, **style)
        ax.set_xscale("log")
        ax.margins(0.12)
        ax.set(xlabel="fit time in seconds", ylabel="accuracy", title=self.title)
        ax.grid(alpha=0.3)
        self._draw_labels()

    def _draw_labels(self) -> None:
        """Write each name near its dot, where it hides neither a dot nor another name."""
        whole = self.figure_.canvas.figure  # figure_ may be a subfigure
        whole.draw_without_rendering()  # the layout sets the size of the axes
        pixels = whole.dpi / 72
        points = np.column_stack([self.seconds, self.accuracies])
        dots = self.ax_.transData.transform(points)
        bbox, inside = matplotlib("transforms").Bbox, self.ax_.get_window_extent()
        taken = [bbox([dot - 4.0 * pixels, dot + 4.0 * pixels]) for dot in dots]
        self.labels_ = []
        for name, point, dot in zip(self.names, points, dots, strict=True):
            text = self.ax_.text(0, 0, name, fontsize="small")
            size = np.array(text.get_window_extent().size)
            text.remove()
            # A side or a corner of the text is at the offset; around it is a margin of two pixels.
            corners = dot + pixels * _OFFSETS + (np.sign(_OFFSETS) - 1) / 2 * size
            boxes = [bbox([corner - 2, corner + size + 2]) for corner in corners]
            outside = [inside.count_contains(box.corners()) < 4 for box in boxes]
            # The first free box, or else the one that overlaps least others.
            best = np.argmin([box.count_overlaps(taken) for box in boxes] + np.array(outside))
            taken.append(boxes[best])
            across, up = np.sign(_OFFSETS[best])
            style: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "zorder": 4}
            style |= {"ha": _SIDES[across], "va": _HEIGHTS[up]}
            if np.abs(_OFFSETS[best]).max() > 10:  # a line connects a name with a dot that is far away
                style["arrowprops"] = {"arrowstyle": "-", "color": "0.5", "lw": 0.6}
            self.labels_.append(self.ax_.annotate(name, tuple(point), _OFFSETS[best], **style))
