"""An SVG drawing of a network for notebooks; the tooltip of a neuron is its meaning."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffmlp.network.network import Network
    from ffmlp.network.trees import RegionTrees

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
        parts += _regions(network.stages.trees, centres)
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


def _regions(trees: RegionTrees, centres: list[list[tuple[float, float]]]) -> list[str]:
    """One box below the evidence for all regions, and a dotted line to each class."""
    x, y = centres[2][-1][0], centres[2][-1][1] + 2 * _ROW
    lines = [
        f'<line x1="{x}" y1="{y:g}" x2="{to_x}" y2="{to_y:g}" stroke="#222" stroke-dasharray="2 3"/>'
        for to_x, to_y in centres[3]
    ]
    where = f"{len(trees)} regions in {len(trees.roots)} trees: each adds to the evidence of the classes"
    box = f'<rect x="{x - 55}" y="{y - 11:g}" width="110" height="22" rx="6" fill="{_LAYERS[2]}" '
    box += f'stroke="#222"><title>{where}</title></rect>'
    return [*lines, box, _text(x, y + 4, f"{len(trees)} regions")]


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y:g}" text-anchor="middle" fill="#222">{escape(text)}</text>'
