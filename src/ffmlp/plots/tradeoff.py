"""Accuracy of classifiers against their fit time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.plots.view import INK, AxesDisplay, colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

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
        Classifiers with a colour and a marker of their own.
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

    def plot(self, ax: Axes | None = None) -> AccuracyTimeDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax = self._open(ax, (8.0, 5.5))
        for number, (chosen, marker) in enumerate(((self.highlighted, "o"), (~self.highlighted, "s"))):
            place = self.seconds[chosen], self.accuracies[chosen]
            ax.scatter(*place, s=42, color=colours(number), marker=marker, edgecolors=INK, zorder=3)
        ax.set_xscale("log")
        ax.margins(0.12)
        ax.set(xlabel="fit time in seconds", ylabel="accuracy", title=self.title)
        ax.grid(alpha=0.3)
        self._draw_labels()
        return self

    def _draw_labels(self) -> None:
        """Write each name near its dot, where it hides neither a dot nor another name."""
        whole = self.figure_.canvas.figure  # figure_ may be a subfigure
        whole.draw_without_rendering()  # the layout sets the size of the axes
        pixels = whole.dpi / 72
        points = np.column_stack([self.seconds, self.accuracies])
        dots = self.ax_.transData.transform(points)
        taken = [np.array([dot - 4.0 * pixels, dot + 4.0 * pixels]) for dot in dots]
        self.labels_ = []
        for name, point, dot in zip(self.names, points, dots, strict=True):
            text = self.ax_.text(0, 0, name, fontsize="small")
            size = np.array(text.get_window_extent().size)
            text.remove()
            # A side or a corner of the text is at the offset; around it is a margin of two pixels.
            low = dot + pixels * _OFFSETS + (np.sign(_OFFSETS) - 1) / 2 * size
            boxes = np.stack([low - 2, low + size + 2], axis=1)
            outside = np.prod(size + 4) - _overlaps(boxes, self.ax_.get_window_extent().get_points())
            hidden = sum((_overlaps(boxes, box) for box in taken), start=outside)
            # The first free place, or else where it hides least.
            best = np.argmin(np.where(hidden > 1e-6 * np.prod(size), hidden, 0.0))
            taken.append(boxes[best])
            self.labels_.append(self._label(name, tuple(point), _OFFSETS[best]))

    def _label(self, name: str, point: Any, offset: Any) -> Annotation:
        """Write a name at an offset from its dot."""
        across, up = np.sign(offset)
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "zorder": 4}
        if np.abs(offset).max() > 10:  # a line connects a name with a dot that is not next to it
            style["arrowprops"] = {"arrowstyle": "-", "color": "0.5", "lw": 0.6}
        return self.ax_.annotate(name, point, offset, ha=_SIDES[across], va=_HEIGHTS[up], **style)


def _overlaps(boxes: Floats, box: Floats) -> Floats:
    """The area (n,) that a box shares with each of the boxes (n, 2, 2), all given by two corners."""
    shared = np.minimum(boxes[:, 1], box[1]) - np.maximum(boxes[:, 0], box[0])
    return np.maximum(shared, 0.0).prod(axis=1)
