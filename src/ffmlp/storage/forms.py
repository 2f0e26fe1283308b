"""The form of each part of a stored classifier: its fields, their types, and the shapes of its arrays.

Sizes have names, which stand for the same number everywhere. Those in capitals are sizes of the network:
N inputs, M columns, L hyperplanes, G blobs and C classes. The others are those of one part.

Only the schema, the headers of the arrays and the indices among them are read, before any object is
made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from ffmlp.storage.archives import Outline
from ffmlp.storage.schema import Node


class Described(Protocol):
    """A part of a file, whose object is not made yet: a `Node`, or one of a JSON file."""

    @property
    def loader(self) -> str:
        """The type of the node in skops."""

    @property
    def kind(self) -> str:
        """The tag, or the Python name of a type that has none."""

    @property
    def attributes(self) -> Mapping[str, Described]:
        """The attributes of an object."""

    @property
    def entries(self) -> Mapping[str, Described]:
        """The items of a dict."""

    @property
    def items(self) -> Sequence[Described]:
        """The items of a sequence."""

    def outline(self) -> Outline:
        """Type and shape of an array."""

    def array(self) -> NDArray:
        """The array."""

    def value(self) -> Any:
        """The object."""


@dataclass(frozen=True)
class Plain:
    """A number, a text, a flag or nothing: values of these types."""

    types: tuple[type, ...]


@dataclass(frozen=True)
class Array:
    """An array of some kinds of numbers (NumPy's letters).

    Its numbers are indices into ``below`` items, from ``least`` on, if that is not empty.
    """

    kinds: str
    shape: tuple[str | int, ...]
    below: str = ""
    least: int = 0


@dataclass(frozen=True)
class Size:
    """An integer: a size itself, or an index of something of that size."""

    name: str
    is_index: bool = False


@dataclass(frozen=True)
class Part:
    """A part with one of these tags."""

    tags: tuple[str, ...]


@dataclass(frozen=True)
class Many:
    """A tuple of parts of the same form."""

    form: Form
    size: str


@dataclass(frozen=True)
class Two:
    """A tuple of two parts."""

    forms: tuple[Form, Form]


@dataclass(frozen=True)
class Named:
    """A dict with texts as keys."""

    form: Form


@dataclass(frozen=True)
class Maybe:
    """A part or None. If it is ``newer`` than some files, these do not have it."""

    form: Form
    newer: bool = False


Form = Plain | Array | Size | Part | Many | Two | Named | Maybe

_TEXT, _FLAG, _NUMBER = Plain((str,)), Plain((bool,)), Plain((int, float))
_STAGES = tuple(
    f"{design}-stages"
    for design in ("region", "paper", "blob", "readout", "corrected-readout", "trained")
)


def _floats(*shape: str | int) -> Array:
    return Array("f", shape)


def _indices(below: str, *shape: str | int, least: int = 0) -> Array:
    return Array("iu", shape, below, least)


def _newer(form: Form) -> Maybe:
    return Maybe(form, newer=True)


_READOUT: dict[str, Form] = {
    "even": _floats("L", "C"),
    "odd": _floats("L", "C"),
    "bias": _floats("C"),
    "temperature": _NUMBER,
    "one_sided": _newer(_FLAG),
}
_REGION: dict[str, Form] = {"regions": Part(("regions",)), "penalty": _NUMBER}
# Fields that are checked first give sizes to the others.
FORMS: dict[str, dict[str, Form]] = {
    "classifier": {
        "classes_": Array("biufUO", ("C",)),
        "n_features_in_": Size("M"),
        "feature_names_in_": _newer(Array("O", ("M",))),
        "network_": Part(("network",)),
        "blobs_": Part(("blobs",)),
        "pruning_path_": Part(("pruning-path",)),
        "selection_": Part(("selection",)),
        "timings_": Named(_NUMBER),
        "statistics_": _newer(Part(("statistics",))),
    },
    "statistics": {
        "plan": Part(("plan",)),
        "labels": Array("biufUO", ("C",)),
        **{name: Part((name,)) for name in ("columns", "blobs", "hyperplanes", "regions")},
    },
    "network": {
        "labels": Array("biufUO", ("C",)),
        "blob_classes": _indices("C", "G"),
        "hyperplanes": Part(("hyperplanes",)),
        "stages": Part(_STAGES),
        "feature_names": Many(_TEXT, "N"),
        "columns": _newer(Part(("columns",))),
        "familiar": _newer(Part(("familiar-space",))),
    },
    "hyperplanes": {
        "weights": _floats("L", "N"),
        "biases": _floats("L"),
        "pairs": _indices("G", "L", 2, least=-1),
        "gaussianisation": _newer(Part(("gaussianisation",))),
        "one_sided": _newer(_FLAG),
    },
    "gaussianisation": {"knots": Many(_floats("?"), "N"), "scores": Many(_floats("?"), "N")},
    "columns": {
        "parts": Many(Part(("number-column", "category-column")), "M"),
        "imputation": _newer(Part(("imputation",))),
    },
    "number-column": {"name": _TEXT, "fill": _NUMBER},
    "category-column": {
        "name": _TEXT,
        "categories": Many(_TEXT, "k"),
        "classes": Many(Size("C", is_index=True), "s"),
        "shares": _floats("k+2", "s"),
    },
    "imputation": {
        **dict.fromkeys(("centre", "scale", "low", "high"), _floats("N")),
        "log_weights": _floats("g"),
        "means": _floats("g", "N"),
        "precisions": _floats("g", "N", "N"),
    },
    "familiar-space": {
        "axes": _floats("N", "r"),
        "centres": _floats("G", "r"),
        "units": _floats(2, "N"),
        "quantiles": _floats("q"),
    },
    "regions": {"codes": Array("b", ("R", "L")), "counts": Array("iuf", ("R", "C"))},
    "region-stages": _REGION,
    "paper-stages": _REGION,
    "blob-stages": {
        "blobs": _indices("G", "D"),
        "pairs": _indices("D", "L", 2),
        "neuron_classes": _indices("C", "D"),
        "n_classes": Size("C"),
        "temperature": _NUMBER,
    },
    "readout-stages": _READOUT,
    "corrected-readout-stages": {
        **_READOUT, "trees": Part(("trees",)), "power": _NUMBER, "floor": _NUMBER,
    },
    "trees": {
        "hyperplanes": _indices("L", "m"),
        "thresholds": _floats("m"),
        "children": Array("i", ("m", 2)),
        "roots": _indices("m", "t"),
        "values": _floats("m+t", "C"),
    },
    "trained-stages": {
        "neuron_classes": _indices("C", "D"),
        "weights": Two((_floats("D", "d"), _floats("C", "D"))),
        "biases": Two((_floats("D"), _floats("C"))),
        "activations": Many(_TEXT, "a"),
        "neurons": _TEXT,
    },
    "blobs": {
        "classes": _indices("C", "G"),
        "means": _floats("G", "N"),
        "covariances": _floats("G", "r", "r"),
        "weights": _floats("G"),
        "axes": _newer(_floats("N", "r")),
    },
    "pruning-path": {
        "kept": Array("iu", ("k",)),
        "deleted": Array("iu", ("d",)),
        "error_rates": _floats("d"),
        "initial_error_rate": _NUMBER,
        "proved_minimum": _newer(Plain((int,))),
    },
    "selection": {
        "plans": Many(Part(("plan",)), "p"),
        "log_losses": _floats("p"),
        "accuracies": _floats("p"),
        "best": Size("p", is_index=True),
    },
    "plan": {
        **dict.fromkeys(("design", "discriminant"), _TEXT),
        "gaussianise": _FLAG,
        "n_components": Maybe(Many(Plain((int,)), "C")),
        "error_threshold": Maybe(_NUMBER),
        "pruning": _newer(_TEXT),
        **dict.fromkeys(("time_limit", "penalty", "max_neurons", "max_leaves"), _newer(_NUMBER)),
        **dict.fromkeys(("shrink", "all_pairs"), _newer(_FLAG)),
    },
}  # fmt: skip
# A classifier has parameters beside these fields.
_OPEN = ("classifier",)
# Parts with hyperplanes and regions of their own: statistics have those before pruning.
_APART = {"statistics": "LR"}


def check_forms(root: Node) -> None:
    """Raise a ValueError unless every classifier in a content has the form of one."""
    for node in root.nodes():
        if node.kind == "classifier":
            _check_fields(node, Sizes())


@dataclass(frozen=True)
class Sizes:
    """Sizes by their names: of the network, and of the part that is being checked."""

    network: dict[str, int] = field(default_factory=dict)
    part: dict[str, int] = field(default_factory=dict)

    def of(self, expression: str) -> int:
        """The value of a sum of sizes and numbers."""
        known = self.network | self.part
        return sum(int(term) if term.isdecimal() else known[term] for term in expression.split("+"))

    def require(self, name: str | int, value: int, place: str) -> None:
        """Raise a ValueError unless a size has this value; one without a value gets it."""
        if name == "?":
            return
        own = self.network if str(name).isupper() else self.part
        if str(name).isalpha() and name not in own:
            own[str(name)] = value
        elif value != self.of(str(name)):
            raise ValueError(f"{place} has the size {value}, where {self.of(str(name))} is needed")


def _check_fields(node: Described, sizes: Sizes) -> None:
    """Check an object whose tag is known."""
    tag, found = node.kind, node.attributes
    shared = {name: size for name, size in sizes.network.items() if name not in _APART.get(tag, "")}
    own = Sizes(shared if tag in _APART else sizes.network)
    for name, form in FORMS[tag].items():
        if name in found:
            check_form(found[name], form, own, f"{tag}.{name}")
        elif not (isinstance(form, Maybe) and form.newer):
            raise ValueError(f"{tag} has no {name}")
    unknown = sorted(found.keys() - FORMS[tag].keys())
    if unknown and tag not in _OPEN:
        raise ValueError(f"{tag} has an unknown {unknown[0]}")


def check_form(node: Described, form: Form, sizes: Sizes, place: str) -> None:
    """Raise a ValueError unless a part has this form; ``sizes`` are those of the parts before it."""
    match form:
        case Maybe(form=part):
            if node.loader != "JsonNode" or _plain(node) is not None:
                check_form(node, part, sizes, place)
        case Part(tags=tags):
            if node.loader != "ObjectNode" or node.kind not in tags:
                raise _wrong_type(node, place)
            _check_fields(node, sizes)
        case Many(form=part, size=size):
            items = _items(node, place)
            sizes.require(size, len(items), place)
            for item in items:
                check_form(item, part, sizes, place)
        case Two(forms=forms):
            items = _items(node, place)
            sizes.require(2, len(items), place)
            for item, part in zip(items, forms, strict=True):
                check_form(item, part, sizes, place)
        case Named(form=part):
            if node.loader != "DictNode":
                raise _wrong_type(node, place)
            for item in node.entries.values():
                check_form(item, part, sizes, place)
        case Array():
            _check_array(node, form, sizes, place)
        case Size(name=name, is_index=is_index):
            value = _plain(node)
            if not isinstance(value, int) or isinstance(value, bool):
                raise _wrong_type(node, place)
            if not is_index:
                sizes.require(name, value, place)
            elif not 0 <= value < sizes.of(name):
                raise ValueError(f"{place} is {value}, not one of {sizes.of(name)}")
        case Plain(types=types):
            value = _plain(node)
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise _wrong_type(node, place)


def _check_array(node: Described, form: Array, sizes: Sizes, place: str) -> None:
    outline = _outline(node, place)
    if outline.dtype.kind not in form.kinds or len(outline.shape) != len(form.shape):
        raise ValueError(f"{place} has the wrong type {outline.dtype} or shape {outline.shape}")
    for name, size in zip(form.shape, outline.shape, strict=True):
        sizes.require(name, size, place)
    if form.below:
        indices, most = node.array(), sizes.of(form.below)
        if indices.size and not form.least <= indices.min() <= indices.max() < most:
            raise ValueError(f"{place} must have integers from {form.least} to {most - 1}")


def _outline(node: Described, place: str) -> Outline:
    """Type and shape of an array; objects, such as texts, are part of the schema."""
    if node.loader != "NdArrayNode" or node.kind != "numpy.ndarray":
        raise _wrong_type(node, place)
    return node.outline()


def _items(node: Described, place: str) -> Sequence[Described]:
    if node.loader != "TupleNode":
        raise _wrong_type(node, place)
    return node.items


def _plain(node: Described) -> Any:
    """The value of a node; NumPy's numbers are stored as arrays."""
    if node.loader == "JsonNode":
        return node.value()
    if node.loader == "NdArrayNode" and node.kind != "numpy.ndarray" and not node.outline().shape:
        return node.array().item()
    return node


def _wrong_type(node: Described, place: str) -> ValueError:
    return ValueError(f"{place} has the wrong type {node.kind}")
