"""A designed network as a PyTorch module, and back (extra ``torch``).

The module is a sequence of named layers. The two neurons of a hyperplane share their weights and stay
opposite, so training moves hyperplanes.
"""

# Annotations are not postponed here: torch.jit.script could not resolve the types of attributes.
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn, Columns
from ffmlp.inputs.features import Gaussianisation
from ffmlp.inputs.imputation import FARTHEST, Imputation
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.readout import SLOPE, CorrectedReadoutStages
from ffmlp.network.trained import TrainedStages
from ffmlp.network.trees import Trees


class Table(nn.Module):
    """The inputs of cells: numbers, numbers of categories, NaN for missing cells; it is not trained."""

    owners: Tensor  # (N,) the column of each input
    shares: Tensor  # (K, N) of all categories, of missing cells, of unknown categories
    known: Tensor  # (N,) the number of known categories, -1 for numbers

    def __init__(self, columns: Columns, dtype: torch.dtype) -> None:
        super().__init__()
        rows = [len(part.shares) if isinstance(part, CategoryColumn) else 1 for part in columns.parts]
        shares, known = np.zeros((max(rows), len(columns.owners))), np.full(len(columns.owners), -1)
        for part, first in zip(columns.parts, columns.firsts, strict=True):
            if isinstance(part, CategoryColumn):
                inputs = slice(first, first + part.n_inputs)
                shares[: len(part.shares), inputs], known[inputs] = part.shares, len(part.categories)
        self.register_buffer("owners", torch.tensor(columns.owners))
        self.register_buffer("shares", torch.tensor(shares, dtype=dtype))
        self.register_buffer("known", torch.tensor(known))

    def forward(self, cells: Tensor) -> Tensor:
        """The inputs (n, N) of cells (n, M); missing numbers stay NaN."""
        cells = cells[:, self.owners]
        missing = torch.isnan(cells)
        row = torch.where(missing, self.known, torch.where(cells < 0, self.known + 1, cells.long()))
        is_number = self.known < 0
        shares = self.shares.gather(0, torch.where(is_number, 0, row))
        return torch.where(is_number, cells, shares)


class Impute(nn.Module):
    """Conditional means for missing inputs; they are not trained."""

    centre: Tensor  # (N,), as all attributes in `Imputation`
    scale: Tensor
    low: Tensor
    high: Tensor
    log_weights: Tensor
    means: Tensor
    precisions: Tensor

    def __init__(self, imputation: Imputation, dtype: torch.dtype) -> None:
        super().__init__()
        for field in fields(imputation):
            values = torch.tensor(getattr(imputation, field.name), dtype=dtype)
            self.register_buffer(field.name, values)

    def forward(self, x: Tensor) -> Tensor:
        """Samples (n, N) with missing inputs, NaN, replaced."""
        missing = torch.isnan(x)
        z = ((x - self.centre) / self.scale).clamp(-FARTHEST, FARTHEST)
        both = missing[:, :, None] & missing[:, None, :]
        identity = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        densities, completed = [], []
        # One blob after the other: each takes a matrix (N, N) for every sample.
        for blob in range(self.means.shape[0]):
            precision = self.precisions[blob]
            known = torch.where(missing, 0.0, z - self.means[blob])
            goal = torch.where(missing, -(known @ precision), 0.0)
            deviation = known + torch.linalg.solve(torch.where(both, precision, identity), goal)
            densities.append(
                self.log_weights[blob] - 0.5 * (deviation @ precision * deviation).sum(dim=1)
            )
            completed.append(self.means[blob] + deviation)
        share = torch.stack(densities).softmax(dim=0)
        mean = (share[:, :, None] * torch.stack(completed)).sum(dim=0)
        value = torch.minimum(torch.maximum(mean * self.scale + self.centre, self.low), self.high)
        return torch.where(missing, value, x)


class Medians(nn.Module):
    """Medians for missing inputs, if training samples had none; they are not trained."""

    fills: Tensor  # (N,)

    def __init__(self, fills: Floats, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("fills", torch.tensor(fills, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Samples (n, N) with missing inputs, NaN, replaced."""
        return torch.where(torch.isnan(x), self.fills, x)


class Gaussianise(nn.Module):
    """The piecewise linear map of each feature; it is not trained."""

    knots: Tensor  # (N, K), infinite beyond the last knot of a feature
    scores: Tensor  # (N, K)
    slopes: Tensor  # (N, K) from each knot to the next, 0 from the last on
    last: Tensor  # (N,) the last knot of each feature

    def __init__(self, gaussianisation: Gaussianisation, dtype: torch.dtype) -> None:
        super().__init__()
        knots, scores, slopes = gaussianisation.padded()
        last = np.array([each[-1] for each in gaussianisation.knots])
        for name, values in {"knots": knots, "scores": scores, "slopes": slopes, "last": last}.items():
            self.register_buffer(name, torch.tensor(values, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """The scores (n, N) of samples (n, N)."""
        inside = torch.minimum(torch.maximum(x, self.knots[:, 0]), self.last).T.contiguous()
        knot = torch.searchsorted(self.knots, inside, right=True) - 1
        beyond = inside - self.knots.gather(1, knot)
        return (self.scores.gather(1, knot) + self.slopes.gather(1, knot) * beyond).T


class HalfSpaces(nn.Module):
    """Layer l_1 before its activation: L hyperplanes, then their opposites unless one-sided."""

    def __init__(self, planes: Hyperplanes, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(planes.weights, dtype=dtype))
        self.bias = nn.Parameter(torch.tensor(planes.biases, dtype=dtype))
        self.one_sided = planes.one_sided

    def forward(self, x: Tensor) -> Tensor:
        """The responses h, then -h, shape (n, D_1)."""
        weight, bias = self.hyperplanes()
        h = nn.functional.linear(x, weight, bias)
        return h if self.one_sided else torch.cat([h, -h], dim=1)

    def hyperplanes(self) -> tuple[Tensor, Tensor]:
        """Weights (L, N) and biases (L,)."""
        return self.weight, self.bias


class HalfSpacesOfTrees(HalfSpaces):
    """Layer l_1 below trees. The hyperplanes that trees compare are not trained."""

    compared: Tensor
    compared_weight: Tensor
    compared_bias: Tensor

    def __init__(self, planes: Hyperplanes, trees: Trees, dtype: torch.dtype) -> None:
        super().__init__(planes, dtype)
        self.register_buffer("compared", torch.tensor(trees.axes, dtype=torch.int64))
        self.register_buffer("compared_weight", self.weight.detach()[self.compared])
        self.register_buffer("compared_bias", self.bias.detach()[self.compared])

    def hyperplanes(self) -> tuple[Tensor, Tensor]:
        """Weights (L, N) and biases (L,)."""
        weight = self.weight.index_copy(0, self.compared, self.compared_weight)
        return weight, self.bias.index_copy(0, self.compared, self.compared_bias)


class EvidenceAndLeaves(nn.Module):
    """The evidence of the classes. The trees that correct it are not trained."""

    nodes: Tensor  # (M,) their hyperplanes
    thresholds: Tensor  # (M,) float32
    below: Tensor  # (M, 2) children
    roots: Tensor  # (T,)
    values: Tensor  # (R, C)

    def __init__(self, stages: CorrectedReadoutStages, dtype: torch.dtype) -> None:
        super().__init__()
        trees = stages.trees
        self.evidence = _linear(stages.weights[0], stages.biases[0], dtype)
        whole = {"nodes": trees.hyperplanes, "below": trees.children, "roots": trees.roots}
        for name, numbers in whole.items():
            self.register_buffer(name, torch.tensor(numbers, dtype=torch.int64))
        self.register_buffer("thresholds", torch.tensor(trees.thresholds))
        self.register_buffer("values", torch.tensor(trees.values, dtype=dtype))
        self.depth = trees.depth

    def forward(self, l_1: Tensor) -> Tensor:
        """The evidence (n, C) of readout and leaves."""
        positive, negative = l_1.chunk(2, dim=1)
        h = (positive - negative).float()
        node = self.roots.expand(l_1.shape[0], -1)
        for _ in range(self.depth):
            at = node.clamp(min=0)
            second = h.gather(1, self.nodes[at]) > self.thresholds[at]
            node = torch.where(node < 0, node, self.below[at, second.long()])
        return self.evidence(l_1) + nn.functional.embedding_bag(-1 - node, self.values, mode="sum")


class Shares(nn.Module):
    """Probabilities: a power of the evidence, divided by the sum."""

    def __init__(self, stages: CorrectedReadoutStages) -> None:
        super().__init__()
        self.power, self.floor, self.slope = stages.power, stages.floor, SLOPE

    def forward(self, evidence: Tensor) -> Tensor:
        """The probabilities (n, C)."""
        logs = self.power * evidence.clamp(min=self.floor).log() + self.slope * evidence
        return logs.softmax(dim=1)


_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "softplus": lambda: nn.Softplus(threshold=50.0),  # beyond it, softplus is the identity in float64
    "softmax": lambda: nn.Softmax(dim=1),
}


def to_torch(network: Network, dtype: torch.dtype | None = None) -> nn.Sequential:
    """A module with the outputs of ``network.forward``.

    Its layers are ``table`` (if there are categories; it takes cells), ``imputation`` (of missing
    numbers), ``gaussianise`` (if features are mapped), ``half_spaces``, the name of the neurons of l_2
    (``regions``, ``blobs`` or ``evidence``) and ``classes``, each of the last three followed by an
    activation. A readout with trees has ``evidence_and_leaves`` and ``classes`` without activations.
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    planes, stages = network.hyperplanes, network.stages
    module = nn.Sequential()
    if not network.table.are_inputs:
        module.add_module("table", Table(network.table, dtype))
    if network.table.imputation is not None:
        module.add_module("imputation", Impute(network.table.imputation, dtype))
    else:
        module.add_module("imputation", Medians(network.table.fills, dtype))
    if planes.gaussianisation is not None:
        module.add_module("gaussianise", Gaussianise(planes.gaussianisation, dtype))
    if isinstance(stages, CorrectedReadoutStages):
        module.add_module("half_spaces", HalfSpacesOfTrees(planes, stages.trees, dtype))
        module.add_module("half_spaces_activation", nn.ReLU())
        module.add_module("evidence_and_leaves", EvidenceAndLeaves(stages, dtype))
        module.add_module("classes", Shares(stages))
    else:
        _, _, neurons, classes = network.kinds
        layers = {
            "half_spaces": HalfSpaces(planes, dtype),
            neurons: _linear(stages.weights[0], stages.biases[0], dtype),
            classes: _linear(stages.weights[1], stages.biases[1], dtype),
        }
        for (name, layer), activation in zip(layers.items(), network.activations, strict=True):
            module.add_module(name, layer)
            module.add_module(f"{name}_activation", _ACTIVATIONS[activation]())
    module.designed = network  # type: ignore[assignment]  # `from_torch` takes names and labels from it
    return module


def _linear(weight: NDArray, bias: NDArray, dtype: torch.dtype) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight, dtype=dtype))
        layer.bias.copy_(torch.tensor(bias, dtype=dtype))
    return layer


def from_torch(module: nn.Module) -> Network:
    """The network of a module made by `to_torch`, with the module's current weights."""
    designed = getattr(module, "designed", None)
    if not isinstance(module, nn.Sequential) or not isinstance(designed, Network):
        raise ValueError(
            f"from_torch needs a module that to_torch made, got {type(module).__name__}. Load a state "
            "dict into such a module first. Modules that were scripted or exported cannot be converted."
        )
    layers: Any = module
    weight, bias = map(_array, layers.half_spaces.hyperplanes())
    planes = replace(designed.hyperplanes, weights=weight, biases=bias)
    return replace(designed, hyperplanes=planes, stages=_trained_stages(layers, designed))


def _trained_stages(layers: Any, designed: Network) -> CorrectedReadoutStages | TrainedStages:
    """The trained evidence and the trees of the design, if it has them; else trained weights."""
    if isinstance(designed.stages, CorrectedReadoutStages):
        readout = layers.evidence_and_leaves.evidence
        above, below = np.split(_array(readout.weight).T, 2)
        even, odd = (above + below) / 2, (above - below) / 2
        return replace(designed.stages, even=even, odd=odd, bias=_array(readout.bias))
    _, _, neurons, classes = designed.kinds
    second, third = getattr(layers, neurons), getattr(layers, classes)
    votes = _array(third.weight)
    return TrainedStages(
        weights=(_array(second.weight), votes),
        biases=(_array(second.bias), _array(third.bias)),
        activations=designed.activations,
        neurons=neurons,
        neuron_classes=votes.argmax(axis=0),
    )


def _array(parameter: Tensor) -> Floats:
    return parameter.detach().cpu().double().numpy().copy()
