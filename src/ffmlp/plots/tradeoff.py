"""Accuracy of classifiers against their fit time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.plots.view import INK, AxesDisplay, colours, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

# Places of a label around its dot: directions, and distances in points, the nearest first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_DISTANCES = (7, 14, 22, 32, 44)
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
        Classifiers with a colour and a marker of their own.
    title : str, default=None

    Attributes
    ----------
    names : tuple of str
    seconds, accuracies : ndarray of shape (n_classifiers,)
    highlighted : ndarray of bool, shape (n_classifiers,)
    title : str
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

    def plot(self, ax: Axes | None = None) -> AccuracyTimeDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax = self._open(ax, (8.0, 5.5))
        for number, (chosen, marker) in enumerate(((self.highlighted, "o"), (~self.highlighted, "s"))):
            place = self.seconds[chosen], self.accuracies[chosen]
            ax.scatter(*place, s=42, color=colours(number), marker=marker, edgecolors=INK, zorder=3)
        ax.set_xscale("log")
        ax.margins(0.12)
        ax.set_xlabel("fit time in seconds")
        ax.set_ylabel("accuracy")
        ax.grid(alpha=0.3)
        ax.set_title(self.title)
        self._draw_labels()
        return self

    def _draw_labels(self) -> None:
        """Write each name near its dot, where it hides neither a dot nor another name."""
        whole = self.figure_.canvas.figure  # figure_ may be a subfigure
        whole.draw_without_rendering()  # the layout sets the size of the axes
        inside = self.ax_.get_window_extent()
        points = self.ax_.transData.transform(np.column_stack([self.seconds, self.accuracies]))
        radius = 4.0 * whole.dpi / 72
        taken = [_box(point - radius, point + radius) for point in points]
        self.labels_ = []
        for number in range(len(self.names)):
            label = self._placed(number, taken, inside)
            taken.append(_extent(label))
            self.labels_.append(label)

    def _placed(self, number: int, taken: list[Bbox], inside: Bbox) -> Annotation:
        """The label of a dot at the first free place, or else where it hides least."""
        name, point = self.names[number], (self.seconds[number], self.accuracies[number])
        least, best = np.inf, (_DIRECTIONS[0], _DISTANCES[0])
        for distance in _DISTANCES:
            for direction in _DIRECTIONS:
                label = self._label(name, point, direction, distance)
                box = _extent(label)
                hidden = sum(_overlap(box, other) for other in taken)
                hidden += box.width * box.height - _overlap(box, inside)
                if hidden <= 1e-6 * box.width * box.height:
                    return label
                label.remove()
                if hidden < least:
                    least, best = hidden, (direction, distance)
        return self._label(name, point, *best)

    def _label(
        self, name: str, point: tuple[float, float], direction: tuple[int, int], distance: int
    ) -> Annotation:
        across, up = direction
        return self.ax_.annotate(
            name,
            point,
            xytext=(distance * across, distance * up),
            textcoords="offset points",
            ha=_SIDES[across],
            va=_HEIGHTS[up],
            fontsize="small",
            # A line connects a name with a dot that is not next to it.
            arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6} if distance > 10 else None,
            zorder=4,
        )


def _box(low: ArrayLike, high: ArrayLike) -> Bbox:
    return matplotlib("transforms").Bbox(np.array([low, high]))


def _extent(label: Annotation) -> Bbox:
    """The box of the text with a small margin, without the line to its dot."""
    label.get_window_extent()  # moves the text to its place
    return matplotlib("text").Text.get_window_extent(label).padded(2)


def _overlap(one: Bbox, other: Bbox) -> float:
    """The area of the intersection of two boxes."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0.0) * max(height, 0.0)
