"""Stages 2 and 3 after backpropagation: the neurons of a design with trained weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from ffmlp.arrays import Below, Floats, Indices, Shape
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.stages import Stages, require_finite, require_shapes

if TYPE_CHECKING:
    from ffmlp.network.network import Network


@dataclass(frozen=True, eq=False)
class TrainedStages:
    """Trained stages 2 and 3. They predict, but their decision rule is not known.

    All parts are as in `Stages`; ``neurons`` says what the neurons of l_2 stood for in the design, and
    ``neuron_classes`` are the classes to which they have their largest weights.
    """

    weights: tuple[Annotated[Floats, Shape("D", "d")], Annotated[Floats, Shape("C", "D")]]
    biases: tuple[Annotated[Floats, Shape("D")], Annotated[Floats, Shape("C")]]
    activations: tuple[str, str, str]
    neurons: str
    neuron_classes: Annotated[Indices, Shape("D"), Below("C")]

    design = "trained"
    each_neuron = "each neuron of the design, trained"
    link_names = ("positive weight", "negative weight")
    linear_pieces = None
    relu_layers = None
    trees = None

    def meaning(self, neuron: int, network: Network) -> str:
        """The class to which the neuron has its largest weight; a trained neuron has no name."""
        label = network.labels[self.neuron_classes[neuron]]
        return f"trained neuron {neuron} of {self.neurons}, largest weight to class {label}"

    outputs = probabilities = confidences = Stages.outputs
    classes = Stages.classes

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Weights and biases must be of the same neurons."""
        n_inputs, n_neurons = len(planes) * (1 if planes.one_sided else 2), len(self.neuron_classes)
        (w_2, w_3), (b_2, b_3) = self.weights, self.biases
        require_shapes(w_2=(w_2, (n_neurons, n_inputs)), b_2=(b_2, (n_neurons,)))
        require_shapes(w_3=(w_3, (n_classes, n_neurons)), b_3=(b_3, (n_classes,)))
        require_finite(w_2=w_2, w_3=w_3, b_2=b_2, b_3=b_3)
        if self.activations[2] != "softmax":
            raise ValueError("the outputs are not probabilities")

    def _unknown(self, *arguments: Any) -> NoReturn:
        raise TypeError("A trained network has no known decision rule. Explain the designed one.")

    description = places = scores = slopes = mean_slopes = safe_distance = bends = to_onnx = _unknown
