"""What all displays share: colours, the part of the plane that is drawn, and where to draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from ffmlp.model.hyperplanes import Hyperplanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    AnyFigure = Figure | SubFigure

Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart with any colour vision, and a grey. Nine colours and eight
# markers give 72 different combinations.
_COLOURS = ("0072B2", "E69F00", "009E73", "D55E00", "56B4E9", "CC79A7", "F0E442", "000000", "999999")
_PALETTE = np.array([list(bytes.fromhex(colour)) for colour in _COLOURS]) / 255
HEAT = "cividis"
INK = "#222222"
RED = "#D01020"

# What the layers are called and what their neurons stand for.
SYMBOLS = ("$l_{in}$", "$l_1$", "$l_2$", "$l_{out}$")

# Share of the samples' range that is shown around them.
_MARGIN = 0.1


def matplotlib(module: str) -> ModuleType:
    """A module of matplotlib, or an error that says how to install it."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("ffmlp.plots needs matplotlib: pip install 'ffmlp[plots]'") from error


class AxesDisplay:
    """Draws into one axes."""

    ax_: Axes
    figure_: AnyFigure

    def _open(self, ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.8)) -> Axes:
        if ax is None:
            _, ax = matplotlib("pyplot").subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class FigureDisplay:
    """Draws into several axes of a figure."""

    axes_: NDArray[np.object_]
    figure_: AnyFigure

    def _open(self, figure: AnyFigure | None, figsize: tuple[float, float]) -> AnyFigure:
        if figure is None:
            figure = matplotlib("pyplot").figure(figsize=figsize, layout="constrained")
        self.figure_ = figure
        return figure


def colours(numbers: ArrayLike) -> Floats:
    """The colours of some classes or hyperplanes."""
    return _PALETTE[np.asarray(numbers, np.intp) % len(_PALETTE)]


def lighter(colours: Floats, amount: float | Floats) -> Floats:
    """Colours mixed with white."""
    return colours + amount * (1 - colours)


@dataclass(frozen=True, eq=False)
class View:
    """The part of the plane that is drawn: the range of some samples and a margin.

    Attributes
    ----------
    samples : ndarray of shape (n_samples, 2)
    feature_names : tuple of str
    low, high : ndarray of shape (2,)
        Opposite corners.
    """

    samples: Floats
    feature_names: tuple[str, ...]
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Any, feature_names: Sequence[str] | None = None) -> View:
        """The view of samples X of two features, named by X's columns unless names are given."""
        samples: Floats = check_array(X, dtype=np.float64, input_name="X")
        if samples.shape[1] != 2:
            raise ValueError(
                f"only samples of 2 features can be drawn in the plane, got X with {samples.shape[1]} "
                "features. Choose two of them and fit to those."
            )
        if feature_names is None:
            feature_names = getattr(X, "columns", ("x0", "x1"))
        low, high = samples.min(axis=0), samples.max(axis=0)
        margin = np.where(high > low, _MARGIN * (high - low), 1.0)
        return cls(samples, tuple(map(str, feature_names)), low - margin, high + margin)

    def grid(self, resolution: int) -> Floats:
        """Centres of resolution × resolution equal cells, row by row from the lower left."""
        centres = (np.arange(resolution) + 0.5) / resolution
        across, up = np.meshgrid(centres, centres)
        return self.low + np.column_stack([across.ravel(), up.ravel()]) * (self.high - self.low)

    def segments(self, planes: Hyperplanes) -> Floats:
        """The two ends (L, 2, 2) of each line within the view; NaN where none of it is."""
        if planes.weights.shape[1] != 2:
            raise ValueError(
                f"only lines can be drawn, got hyperplanes of {planes.weights.shape[1]} features."
            )
        if planes.gaussianisation is not None:
            raise ValueError(
                "hyperplanes of gaussianised features are no straight lines. Fit with gaussianise=False "
                "to draw them."
            )
        lines = zip(planes.weights, planes.biases, strict=True)
        return np.array([self._segment(normal, offset) for normal, offset in lines])

    def _segment(self, normal: Floats, offset: float) -> Floats:
        # In units of the view, features of any scale are alike.
        size = self.high - self.low
        scaled = normal * size
        length = np.hypot(*scaled)
        if not length > 0:
            return np.full((2, 2), np.nan)
        unit = scaled / length
        foot = -(offset + normal @ self.low) / length * unit
        along = np.array([-unit[1], unit[0]])
        start, stop = -np.inf, np.inf
        for origin, slope in zip(foot, along, strict=True):
            if slope == 0:
                if not 0 <= origin <= 1:
                    return np.full((2, 2), np.nan)
                continue
            near, far = sorted([-origin / slope, (1 - origin) / slope])
            start, stop = max(start, near), min(stop, far)
        if start > stop:
            return np.full((2, 2), np.nan)
        return self.low + size * (foot + np.outer([start, stop], along))

    def frame(self, ax: Axes, title: str, *, labelled: bool = True) -> None:
        """Limit the axes to the view, name their features and give them a title."""
        ax.set_xlim(self.low[0], self.high[0])
        ax.set_ylim(self.low[1], self.high[1])
        ax.set_title(title)
        if labelled:
            ax.set_xlabel(self.feature_names[0])
            ax.set_ylabel(self.feature_names[1])

    def image(self, ax: Axes, values: NDArray, **style: Any) -> Any:
        """Draw one value, or colour, per cell of the grid."""
        extent = (self.low[0], self.high[0], self.low[1], self.high[1])
        return ax.imshow(values, extent=extent, origin="lower", aspect="auto", zorder=0, **style)

    def heat_map(self, ax: Axes, response: Floats, title: str, *, labelled: bool = False) -> Any:
        """Draw a neuron's response over the grid, relative to the largest, which is written down."""
        largest = response.max()
        share = response / largest if largest > 0 else response
        image = self.image(ax, share, cmap=HEAT, vmin=0, vmax=1)
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
        note = f"max {largest:.3g}"
        ax.text(0.97, 0.03, note, ha="right", transform=ax.transAxes, fontsize="x-small", bbox=box)
        self.frame(ax, title, labelled=labelled)
        return image


def draw_lines(ax: Axes, segments: Floats, colour: str = INK) -> None:
    """Draw the segments of lines that lie in the view."""
    for x, y in segments[np.isfinite(segments).all(axis=(1, 2))].swapaxes(1, 2):
        ax.plot(x, y, color=colour, linewidth=1.6, zorder=3)
