"""The designed network: three layers in which every neuron has a meaning, and its drawing."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import AnyFloats, Below, Floats, Indices, Shape, require_floats, row_blocks
from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.network.blob import BlobStages
from ffmlp.network.blobs import Familiarity, FamiliarSpace
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages
from ffmlp.network.region import PaperStages, RegionStages
from ffmlp.network.stages import layer_responses
from ffmlp.network.trained import TrainedStages

if TYPE_CHECKING:
    from ffmlp.network.trees import Trees

# The designs that a network can have.
AnyStages = (
    RegionStages | PaperStages | BlobStages | ReadoutStages | CorrectedReadoutStages | TrainedStages
)
# Probabilities are sums of rounded numbers.
_ROUNDING = 1e-6
# Neurons of a layer that are drawn; the others are counted.
_MAX_NEURONS = 10
# Larger networks are drawn without links: their weight matrices would be computed for the drawing alone.
_MAX_WEIGHTS = 1_000_000
_COLUMN, _ROW, _TOP, _RADIUS = 210, 26, 44, 8
_LAYERS = ("#ffffff", "#0072B2", "#E69F00", "#009E73")
_POSITIVE, _NEGATIVE = "#D55E00", "#999999"


def drawn_network(network: Network) -> str:
    """The layers as columns of circles, from left to right; colours of links show signs of weights."""
    sizes = network.weighted_sizes
    shown = [min(size, _MAX_NEURONS) for size in sizes]
    height = _TOP + _ROW * (max(shown) + (2 if network.stages.trees is None else 6))
    centres = [
        [(_COLUMN * layer + 70.0, height / 2 + _ROW * (row - (count - 1) / 2)) for row in range(count)]
        for layer, count in enumerate(shown)
    ]
    parts = _links(network, centres) if sum(np.multiply(sizes[:-1], sizes[1:])) < _MAX_WEIGHTS else []
    for layer, column in enumerate(centres):
        for neuron, (x, y) in enumerate(column):
            parts.append(
                f'<circle cx="{x}" cy="{y:g}" r="{_RADIUS}" fill="{_LAYERS[layer]}" stroke="#222">'
                f"<title>{escape(network.meaning(layer, neuron))}</title></circle>"
            )
        x = _COLUMN * layer + 70
        parts.append(_text(x, 20, network.counted_layers[layer]))
        if shown[layer] < sizes[layer]:
            parts.append(_text(x, column[-1][1] + _ROW, f"⋮ {sizes[layer] - shown[layer]} more"))
    if network.stages.trees is not None:
        parts += _trees(network.stages.trees, centres)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * _COLUMN + 140}" height="{height:g}" '
        f'role="img" aria-label="{escape(repr(network))}" font-family="sans-serif" font-size="13" '
        f'style="background:#fff">{"".join(parts)}</svg>'
    )


def _links(network: Network, centres: list[list[tuple[float, float]]]) -> list[str]:
    """A line for each nonzero weight; larger weights of a stage are darker."""
    lines = []
    for stage, weights in enumerate(network.weights):
        before, after = centres[stage], centres[stage + 1]
        drawn = weights[: len(after), : len(before)]
        share = np.abs(drawn) / max(np.abs(drawn).max(initial=0.0), np.finfo(float).tiny)
        for to, source in np.argwhere(drawn):
            (x1, y1), (x2, y2) = before[source], after[to]
            colour = _POSITIVE if drawn[to, source] > 0 else _NEGATIVE
            lines.append(
                f'<line x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}" stroke="{colour}" '
                f'stroke-opacity="{0.15 + 0.75 * share[to, source]:.2f}"/>'
            )
    return lines


def _trees(trees: Trees, centres: list[list[tuple[float, float]]]) -> list[str]:
    """One box below the evidence for all leaves, and a dotted line to each class."""
    x, y = centres[2][-1][0], centres[2][-1][1] + 2 * _ROW
    lines = [
        f'<line x1="{x}" y1="{y:g}" x2="{to_x}" y2="{to_y:g}" stroke="#222" stroke-dasharray="2 3"/>'
        for to_x, to_y in centres[3]
    ]
    where = f"{len(trees)} leaves in {len(trees.roots)} trees: they correct the evidence of the classes"
    box = f'<rect x="{x - 55}" y="{y - 11:g}" width="110" height="22" rx="6" fill="{_LAYERS[2]}" '
    box += f'stroke="#222"><title>{where}</title></rect>'
    return [*lines, box, _text(x, y + 4, f"{len(trees)} leaves")]


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y:g}" text-anchor="middle" fill="#222">{escape(text)}</text>'


@dataclass(frozen=True, eq=False)
class Network:
    """A feedforward-designed MLP: l_in → l_1 (half-spaces) → l_2 → l_out (classes).

    Its input is the features in the user's units: numbers, and shares of classes for categories
    (`inputs`). ``hyperplanes.gaussianisation``, if there is one, maps them before stage 1.

    Attributes
    ----------
    hyperplanes : Hyperplanes
        The L hyperplanes behind layer l_1.
    stages : RegionStages, BlobStages, ReadoutStages and others
        Stages 2 and 3 of the design.
    labels : ndarray of shape (D_out,)
        The class label of each output neuron.
    blob_classes : ndarray of shape (G,)
        The class of each blob in ``hyperplanes.pairs``, as an index into ``labels``.
    feature_names : tuple of str
        The name of each input neuron.
    columns : Columns or None
        The columns of a table that the inputs come from; None for inputs without names.
    familiar : FamiliarSpace or None
        Where the training samples were; None where they are not known.
    """

    hyperplanes: Hyperplanes
    stages: AnyStages
    labels: Annotated[NDArray[Any], Shape("C")]
    blob_classes: Annotated[Indices, Shape("G"), Below("C")]
    feature_names: Annotated[tuple[str, ...], Shape("N")]
    columns: Columns | None = None
    familiar: FamiliarSpace | None = None

    def __repr__(self) -> str:
        return f"Network({self.stages.design} design: {self.layers})"

    def _repr_html_(self) -> str:
        return drawn_network(self)

    def check(self) -> None:
        """Raise a ValueError unless the parts fit together and give finite probabilities."""
        n_inputs = self.hyperplanes.weights.shape[1]
        if not 2 <= len(self.labels) == len(set(self.labels.tolist())):
            raise ValueError(f"the labels of the network, {self.labels}, are not of several classes")
        self.hyperplanes.check()
        self.stages.check(self.hyperplanes, len(self.labels))
        if self.columns is not None:
            self.columns.check(n_inputs)
        if self.familiar is not None:
            self.familiar.check()
        probabilities = self.probabilities(self.inputs(np.zeros((1, len(self.table)))))
        require_floats("probabilities", probabilities)
        if probabilities.min() < 0.0 or abs(probabilities.sum() - 1.0) > _ROUNDING:
            raise ValueError(f"the probabilities {probabilities[0]} do not add up to 1")

    @property
    def table(self) -> Columns:
        """The columns; without them, each input is a column of numbers, none of which may be missing."""
        if self.columns is not None:
            return self.columns
        return Columns(tuple(NumberColumn(name, np.nan) for name in self.feature_names))

    def inputs(self, cells: AnyFloats) -> AnyFloats:
        """The inputs (n, N) of validated cells (n, M) of the columns."""
        return self.table.inputs(cells)

    @property
    def input_columns(self) -> list[str]:
        """The column of each input: what people know, unlike the shares that a category becomes."""
        return [self.table.names[owner] for owner in self.table.owners]

    @property
    def layer_sizes(self) -> tuple[int, int, int, int]:
        """Neurons in each layer: (D_in, D_1, D_2, D_out)."""
        n_features = self.hyperplanes.weights.shape[1]
        n_half_spaces = len(self.hyperplanes) * (1 if self.hyperplanes.one_sided else 2)
        return n_features, n_half_spaces, len(self.stages.neuron_classes), len(self.labels)

    @property
    def weighted_sizes(self) -> tuple[int, int, int, int]:
        """Neurons in each layer that have a row in `weights`: all but the leaves of trees."""
        n_features, n_half_spaces, n_second, n_classes = self.layer_sizes
        trees = self.stages.trees
        return n_features, n_half_spaces, n_second - (0 if trees is None else len(trees)), n_classes

    @property
    def kinds(self) -> tuple[str, str, str, str]:
        """What the neurons of each layer stand for, as plural nouns."""
        first = "features" if self.table.are_inputs else "inputs"
        return first, "half-spaces", self.stages.neurons, "classes"

    @property
    def layers(self) -> str:
        """Sizes and kinds of all layers, such as "4 features → 6 half-spaces → 3 blobs → 3 classes"."""
        return " → ".join(self.counted_layers)

    @property
    def counted_layers(self) -> tuple[str, ...]:
        """Size and kind of each layer, such as "4 features"."""
        texts = [f"{size} {kind}" for size, kind in zip(self.layer_sizes, self.kinds, strict=True)]
        if self.stages.trees is not None:
            texts[2] = f"{self.weighted_sizes[2]} evidence and {len(self.stages.trees)} leaves"
        return tuple(texts)

    @property
    def activations(self) -> tuple[str, str, str]:
        """The activations of l_1, l_2 and l_out."""
        return self.stages.activations

    @property
    def weights(self) -> tuple[Floats, Floats, Floats]:
        """Weight matrices of the three stages, each of shape (neurons of the layer, inputs).

        Leaves of trees are not among them: theirs are ``stages.trees.values``.
        """
        return self.hyperplanes.sides(self.hyperplanes.weights.T).T, *self.stages.weights

    @property
    def biases(self) -> tuple[Floats, Floats, Floats]:
        """Bias vectors of the three stages."""
        return self.hyperplanes.sides(self.hyperplanes.biases[None])[0], *self.stages.biases

    def responses(self, X: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """The output of every layer: l_1 (n, D_1), l_2 (n, D_2) and l_out (n, D_out).

        Computed in float64. A leaf of a tree responds with 1 inside and with 0 outside.
        """
        samples = self.hyperplanes.checked(X)
        _, *sizes = self.layer_sizes
        l_1, l_2, out = (np.zeros((len(samples), size)) for size in sizes)
        n_weighted = self.weighted_sizes[2]
        for rows, responses in layer_responses(self.stages, self.hyperplanes, samples):
            l_1[rows], l_2[rows, :n_weighted], out[rows] = responses
        if self.stages.trees is not None:
            leaves = self.stages.trees.leaves(self.hyperplanes.signed_responses(samples))
            np.put_along_axis(l_2, n_weighted + leaves, 1.0, axis=1)
            out = self.forward(samples)
        return l_1, l_2, out

    def forward(self, X: ArrayLike) -> Floats:
        """The output of the network, shape (n, D_out), in memory that does not grow with D_1 and D_2.

        The output is the probabilities. In the region and paper designs it is the summed responses of
        each class's regions, which are all zero in a region without training samples.
        """
        return self.stages.outputs(self.hyperplanes, self.hyperplanes.checked(X))

    def probabilities(self, samples: AnyFloats) -> Floats:
        """The probability (n, C) of each class, for validated samples."""
        return self.stages.probabilities(self.hyperplanes, samples)

    def classes(self, samples: AnyFloats) -> Indices:
        """The most probable class (n,) of validated samples, as an index into ``labels``."""
        return self.stages.classes(self.hyperplanes, samples)

    def confidences(self, samples: AnyFloats) -> Floats:
        """Log-odds (n, C) of the classes, if the design has them, for validated samples."""
        return self.stages.confidences(self.hyperplanes, samples)

    def familiarity(self, samples: AnyFloats, keep: float) -> Familiarity:
        """How familiar validated samples are, or a ValueError in a network that does not know it."""
        if self.familiar is None:
            raise ValueError(
                "The model does not know where its training samples were: it was merged, fitted like "
                "another one, or drawn in the playground. Fit it again."
            )
        return self.familiar.familiarity(self.hyperplanes, samples, keep)

    def leads(self, samples: Floats, own: Indices) -> tuple[Floats, Floats]:
        """The lead (n, C) of class ``own`` over each class, infinite over itself; gradients (n, C, N).

        The samples are validated. Gradients are by the input of the hyperplanes.
        """
        planes, stages = self.hyperplanes, self.stages
        lead = np.empty((len(samples), len(self.labels)))
        gradient = np.empty((*lead.shape, samples.shape[1]))
        for rows in row_blocks(len(samples), len(self.labels) * len(planes)):
            h = planes.signed_responses(samples[rows])
            each = np.arange(len(h))
            scores, slopes = stages.scores(h), stages.slopes(h)
            lead[rows] = scores[each, own[rows]][:, None] - scores
            gradient[rows] = (slopes[each, own[rows]][:, None] - slopes) @ planes.weights
            lead[rows][each, own[rows]] = np.inf
        return lead, gradient

    def meaning(self, layer: int, neuron: int) -> str:
        """What a neuron stands for; layer 0 is the input, layer 3 the output.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> iris = load_iris()
        >>> clf = FFMLPClassifier().fit(iris.data, iris.target_names[iris.target])
        >>> clf.network_.meaning(3, 0)
        'class setosa'
        """
        sizes = self.layer_sizes
        if not 0 <= layer < len(sizes):
            raise ValueError(f"layer must be 0, 1, 2 or 3, got {layer!r}.")
        if not 0 <= neuron < sizes[layer]:
            raise ValueError(f"neuron must be 0 to {sizes[layer] - 1} in layer {layer}, got {neuron!r}.")
        if layer == 0:
            return f"feature {self.input_columns[neuron]}"
        if layer == 1:
            return f"half-space {self.half_space(neuron)}"
        if layer == 2:
            return self.stages.meaning(neuron, self)
        return f"class {self.labels[neuron]}"

    def half_space(self, neuron: int) -> str:
        """The side of a hyperplane on which an l_1 neuron is active."""
        negative, hyperplane = divmod(neuron, len(self.hyperplanes))
        threshold = self.hyperplanes.threshold(hyperplane)
        if threshold is not None:
            feature, value = threshold
            negative ^= self.hyperplanes.weights[hyperplane, feature] < 0
            if self._is_share(feature):
                limits = np.tile([[-np.inf], [np.inf]], len(self.feature_names))
                limits[int(negative), feature] = value
                return self.table.between(*limits)[int(self.table.owners[feature])]
            return f"{self.feature_names[feature]} {'below' if negative else 'above'} {value:.4g}"
        near, far = self.hyperplanes.pairs[hyperplane][:: -1 if negative else 1]
        near_class, far_class = self.labels[self.blob_classes[[near, far]]]
        about = "about " if self.hyperplanes.one_sided else ""
        return f"{about}blob {near} ({near_class}) over blob {far} ({far_class})"

    def box(self, hyperplanes: Indices, low: Floats, high: Floats) -> str:
        """Where ``low < h <= high`` for the response h of each hyperplane, in words."""
        limits = np.tile([[-np.inf], [np.inf]], len(self.feature_names))
        texts: dict[tuple[bool, int], str] = {}
        for plane, *responses in zip(hyperplanes.tolist(), low.tolist(), high.tolist(), strict=True):
            threshold = self.hyperplanes.threshold(plane)
            if threshold is not None and self._is_share(threshold[0]):
                limits[:, threshold[0]] = sorted(
                    _value(self.hyperplanes, plane, response) for response in responses
                )
            else:
                texts[False, plane] = self._between(plane, *responses)
        texts |= {(True, column): text for column, text in self.table.between(*limits).items()}
        return " and ".join(texts.values())

    def _is_share(self, feature: int) -> bool:
        return isinstance(self.table.parts[self.table.owners[feature]], CategoryColumn)

    def _between(self, hyperplane: int, low: float, high: float) -> str:
        """Where ``low < h <= high`` for the response h of a hyperplane; one limit may be infinite."""
        planes, threshold = self.hyperplanes, self.hyperplanes.threshold(hyperplane)
        least, most, signs = low, high, ("<", "<=")
        if threshold is None:
            name = f"log-odds of {self.half_space(hyperplane)}"
        else:
            name = self.feature_names[threshold[0]]
            if planes.weights[hyperplane, threshold[0]] < 0:
                least, most, signs = high, low, ("<=", "<")
            least, most = (_value(planes, hyperplane, response) for response in (least, most))
        if not np.isfinite(least):
            return f"{name} {signs[1]} {most:.4g}"
        if not np.isfinite(most):
            return f"{name} {signs[0].replace('<', '>')} {least:.4g}"
        digits = next((n for n in range(4, 17) if f"{least:.{n}g}" != f"{most:.{n}g}"), 17)
        return f"{least:.{digits}g} {signs[0]} {name} {signs[1]} {most:.{digits}g}"


def _value(planes: Hyperplanes, hyperplane: int, response: float) -> float:
    """The value of the feature of a threshold at a response; infinite responses stay so."""
    found = planes.threshold(hyperplane, response) if np.isfinite(response) else None
    return response if found is None else found[1]
