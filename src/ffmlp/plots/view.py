"""What all displays share: colours, axes and the part of the plane that is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ffmlp.arrays import Floats
from ffmlp.extras import imported
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.words import short_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    AnyFigure = Figure | SubFigure

# The palette of Okabe and Ito, which is safe for colour-blind readers, and a grey. Nine colours and
# eight markers give 72 combinations.
_COLOURS = ("0072B2", "E69F00", "009E73", "D55E00", "56B4E9", "CC79A7", "F0E442", "000000", "999999")
_PALETTE = np.array([list(bytes.fromhex(colour)) for colour in _COLOURS]) / 255
HEAT = "cividis"
INK = "#222222"
RED = "#D01020"

# Names of the layers.
SYMBOLS = ("$l_{in}$", "$l_1$", "$l_2$", "$l_{out}$")

# Margin around the samples, as a share of their range.
_MARGIN = 0.1


def matplotlib(module: str) -> Any:
    """A module of matplotlib, or an error that says how to install it."""
    return imported(f"matplotlib.{module}", "figures")


def fitted_attribute(estimator: Any, name: str, owner: str = "FFMLPClassifier") -> Any:
    """An attribute of a fitted estimator, or an error that names the class that has it."""
    check_is_fitted(estimator)
    if not hasattr(estimator, name):
        raise TypeError(
            f"{type(estimator).__name__} has no {name}. This display needs a fitted {owner}."
        )
    return getattr(estimator, name)


def network_of(estimator: Any) -> Network:
    """The network of a fitted classifier, or the network itself that was given instead."""
    return estimator if isinstance(estimator, Network) else fitted_attribute(estimator, "network_")


class _Display:
    """A display in a figure, which is made if none is given."""

    figure_: AnyFigure
    _is_new: bool

    def _resize(self, width: float, height: float) -> None:
        """Set the size of a figure that was made for this display, in inches."""
        if self._is_new:
            self.figure_.set_size_inches(width, height)  # type: ignore[union-attr]


class AxesDisplay(_Display):
    """A display with one axes."""

    ax_: Axes

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into ``ax``, or into a new figure."""
        self._is_new = ax is None
        if ax is None:
            _, ax = matplotlib("pyplot").subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


class FigureDisplay(_Display):
    """A display with several axes of one figure."""

    axes_: NDArray[np.object_]

    def plot(self, figure: AnyFigure | None = None) -> Self:
        """Draw into ``figure``, or into a new one."""
        self._is_new = figure is None
        self.figure_ = matplotlib("pyplot").figure(layout="constrained") if figure is None else figure
        self._draw(self.figure_)
        return self

    def _draw(self, figure: AnyFigure) -> None:
        raise NotImplementedError


def colours(numbers: ArrayLike) -> Floats:
    """The colours (..., 3) of classes or hyperplanes, given by number."""
    return _PALETTE[np.asarray(numbers, np.intp) % len(_PALETTE)]


def lighter(colours: Floats, amount: float | Floats) -> Floats:
    """Colours mixed with white."""
    return colours + amount * (1 - colours)


def greys(n: int) -> Floats:
    """The greys (n, 3) of n regions, from light to dark: classes and hyperplanes have hues."""
    return np.repeat(np.linspace(0.93, 0.62, n)[:, None], 3, axis=1)


def like(X: Any, values: Floats) -> Any:
    """Values in the form of X: estimators fitted to a data frame warn about anything else."""
    is_frame = hasattr(X, "columns") and hasattr(X, "iloc")
    return type(X)(values, columns=X.columns) if is_frame else values


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
    def of(
        cls, X: Any, feature_names: Sequence[str] | None = None, limits: ArrayLike | None = None
    ) -> View:
        """The view of samples X of two features; the columns of X are the names if it has any.

        ``limits`` are the lower left and the upper right corner, by default around X.
        """
        samples: Floats = check_array(X, dtype=np.float64, input_name="X")
        if samples.shape[1] != 2:
            raise ValueError(
                f"X has {samples.shape[1]} features, but only 2 can be drawn. Fit to two features, or "
                "use DecisionSliceDisplay."
            )
        names = getattr(X, "columns", ("x0", "x1") if feature_names is None else feature_names)
        low, high = samples.min(axis=0), samples.max(axis=0)
        margin = np.where(high > low, _MARGIN * (high - low), 1.0)
        corners = (low - margin, high + margin) if limits is None else np.asarray(limits, np.float64)
        return cls(samples, tuple(map(str, names)), *corners)

    def grid(self, resolution: int) -> Floats:
        """Centres of resolution × resolution cells of equal size, row by row from the lower left."""
        centres = (np.arange(resolution) + 0.5) / resolution
        across, up = np.meshgrid(centres, centres)
        return self.low + np.column_stack([across.ravel(), up.ravel()]) * (self.high - self.low)

    def segments(self, planes: Hyperplanes) -> Floats:
        """The two ends (L, 2, 2) of each line within the view; NaN for lines outside of it."""
        if planes.weights.shape[1] != 2:
            raise ValueError(
                f"Hyperplanes of {planes.weights.shape[1]} features cannot be drawn as lines. Fit to "
                "two features, or use DecisionSliceDisplay."
            )
        if planes.gaussianisation is not None:
            raise ValueError(
                "Hyperplanes of gaussianised features are not straight lines. Fit with "
                "gaussianise=False to draw them."
            )
        # In units of the view, the scale of the features does not matter.
        size = self.high - self.low
        normals = planes.weights * size
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # a normal of zero is no line
            units = normals / lengths
            feet = -(planes.biases + planes.weights @ self.low)[:, None] / lengths * units
        along = units[:, ::-1] * [-1, 1]
        slopes = np.where(along == 0, 1e-200, along)  # a line along an axis never leaves across it
        enters, leaves = np.sort([-feet / slopes, (1 - feet) / slopes], axis=0)
        start, stop = enters.max(axis=1), leaves.min(axis=1)
        ends = feet[:, None] + np.column_stack([start, stop])[:, :, None] * along[:, None]
        ends[~(start <= stop)] = np.nan
        return self.low + size * ends

    def frame(self, ax: Axes, title: str, *, labelled: bool = True) -> None:
        """Set limits, labels and title of the axes."""
        across, up = zip(self.low, self.high, strict=True)
        ax.set(xlim=across, ylim=up, title=title)
        if labelled:
            ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])

    def image(self, ax: Axes, values: NDArray, **style: Any) -> Any:
        """Draw one value, or one colour, for each cell of the grid."""
        extent = (self.low[0], self.high[0], self.low[1], self.high[1])
        return ax.imshow(values, extent=extent, origin="lower", aspect="auto", zorder=0, **style)

    def heat_map(self, ax: Axes, response: Floats, title: str, *, labelled: bool = False) -> Any:
        """Draw the response of a neuron over the grid, relative to its maximum, which is printed."""
        largest = response.max()
        share = response / largest if largest > 0 else response
        image = self.image(ax, share, cmap=HEAT, vmin=0, vmax=1)
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
        note = f"max {short_number(largest, 3)}"
        ax.text(0.97, 0.03, note, ha="right", transform=ax.transAxes, fontsize="x-small", bbox=box)
        self.frame(ax, title, labelled=labelled)
        return image


def draw_lines(ax: Axes, segments: Floats, colour: str = INK) -> None:
    """Draw the lines that have a segment in the view."""
    for x, y in segments[np.isfinite(segments).all(axis=(1, 2))].swapaxes(1, 2):
        ax.plot(x, y, color=colour, linewidth=1.6, zorder=3)
