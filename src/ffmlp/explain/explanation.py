"""One explanation, as data and as a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, inf, log10
from textwrap import wrap
from typing import Any

from ffmlp.words import class_name, counted, html_bars

# The numbers of columns, boundaries, leaves and changed features on a page.
_MAX_REASONS = 5
_MAX_CROSSINGS = 3
_MAX_LEAVES = 2
_MAX_CHANGES = 12
# Boundaries that add a smaller share of the difference are counted, not listed.
_VISIBLE = 0.05
# Larger numbers are written with an exponent.
_HUGE = 1e7
# Bars in a notebook.
_MAX_BARS = 8
# The size of a change of several features, by norm.
_NORMS = {1.0: "in total", 2.0: "Euclidean", inf: "the largest change"}
# Width of wrapped lines.
_WIDTH = 85
_NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Reason:
    """A column, its value in the sample and in the reference, and what the difference adds to the lead.

    ``value`` is a number, a category, "unknown" for one that the network does not know, or "missing".
    ``reference`` is text: a number, or the category whose samples are most like the reference.
    """

    column: str
    value: float | str
    reference: str
    attribution: float


@dataclass(frozen=True)
class Crossing:
    """A hyperplane between the reference and the sample.

    Attributes
    ----------
    hyperplane : int
    side : str
        The half-space that the sample is in, and the reference is not.
    way : float
        Where the straight way from the reference, 0, to the sample, 1, crosses it.
    effect : float
        What the hyperplane adds to the lead of the sample over the reference's lead.
    """

    hyperplane: int
    side: str
    way: float
    effect: float


@dataclass(frozen=True)
class LeafPart:
    """What the trees that correct a readout add to the lead of the sample over the reference's lead.

    Attributes
    ----------
    effect : float
        The sum over all trees.
    changed, trees : int
        The trees in which sample and reference are in different leaves, and all trees.
    strongest : tuple of (str, float)
        What leaves of the sample stand for, and what each adds, largest first.
    """

    effect: float
    changed: int
    trees: int
    strongest: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        return f"Leaves differ in {self.changed} of {counted(self.trees, 'tree')} and add"


@dataclass(frozen=True)
class Place:
    """The place of a sample: its region (region design) or its nearest blob.

    ``share`` is the place's share of the training samples, ``counts`` those in a region by class. A
    network that is ``silent`` there answers with its first class.
    """

    kind: str
    number: int
    label: Any
    unseen: bool
    share: float
    counts: tuple[tuple[Any, float], ...] = ()
    silent: bool = False


@dataclass(frozen=True)
class Counterfactual:
    """A change of the sample that gives another class.

    Attributes
    ----------
    label : object
        The other class.
    changes : tuple of (str, float, float)
        Each changed feature, largest change first: name, value of the sample, new value.
    sizes : tuple of float
        The size of each of these changes, in standard deviations of its feature.
    distance : float
        The size of the change, in standard deviations of the features.
    norm : float
        How sizes of several features add up: 2, 1 or inf, as in `FFMLPClassifier.robustness`.
    lower : float
        A proved lower bound: no smaller change gives another class.
    exact : bool
        Whether the change is proved to be the smallest; ``lower`` then equals ``distance``.
    """

    label: Any
    changes: tuple[tuple[str, float, float], ...]
    sizes: tuple[float, ...]
    distance: float
    lower: float
    exact: bool
    norm: float = 2.0


@dataclass(frozen=True)
class Explanation:
    """The explanation of one prediction. Prints as a page.

    Attributes
    ----------
    label, probability
        The predicted class.
    rival, rival_probability
        The next class; None if no other class can be predicted.
    lead : float
        The lead of the predicted class over the rival. It is the log-odds of the two classes; with
        trees that correct a readout, it is the difference of their evidence; in the region design it is
        how much less the sample violates its region than the least violated region of the rival.
    reference : str
        What the sample is compared with.
    reference_lead : float
        The same lead at the reference.
    reasons : tuple of Reason
        All columns, largest attribution first. They add up to the difference of the two leads.
    crossings : tuple of Crossing
        The hyperplanes between reference and sample, largest effect first.
    uncrossed : float
        What the other hyperplanes add. With crossings and leaves, it adds up to the difference.
    leaves : LeafPart or None
        What the trees that correct a readout add, if there are any.
    place : Place
    searched : bool
        Whether a counterfactual was searched for.
    counterfactual : Counterfactual or None
    """

    label: Any
    probability: float
    rival: Any
    rival_probability: float
    lead: float
    reference: str
    reference_lead: float
    reasons: tuple[Reason, ...]
    crossings: tuple[Crossing, ...]
    uncrossed: float
    leaves: LeafPart | None
    place: Place
    searched: bool
    counterfactual: Counterfactual | None

    @property
    def difference(self) -> float:
        """The lead of the sample minus the lead of the reference."""
        return self.lead - self.reference_lead

    @property
    def unit(self) -> str:
        """What a lead is measured in, to follow a noun."""
        if self.leaves is not None:
            return ", in evidence"
        return "" if self.place.kind == "region" else ", in log-odds"

    def __repr__(self) -> str:
        return f"Explanation({_head(self)})"

    def __str__(self) -> str:
        parts = [[_head(self)]]
        if self.rival is not None:
            parts += [_compared(self), _reasons(self), _boundaries(self)]
        parts.append([_place(self.place)])
        if self.counterfactual is not None:
            parts.append(_counterfactual(self.counterfactual))
        elif self.searched:
            parts.append(["No change to another class was found within the limits."])
        return "\n\n".join(map("\n".join, parts))

    def _repr_html_(self) -> str:
        page = f"<p>{escape(_head(self))}</p>"
        if self.rival is not None:
            page += f"<p>{escape(' '.join(_compared(self)))}</p>{html_bars(self.bars(_MAX_BARS))}"
        page += f"<p>{escape(_place(self.place))}</p>"
        if self.counterfactual is not None:
            change = "\n".join(_counterfactual(self.counterfactual))
            page += f"<pre>{escape(change)}</pre>"
        return page

    def bars(self, max_bars: int) -> list[tuple[str, float]]:
        """Columns with their values, and what each adds: the first ones, and all others together."""
        bars = [
            (f"{reason.column} = {written(reason.value)}", reason.attribution)
            for reason in self.reasons[:max_bars]
        ]
        left = [reason.attribution for reason in self.reasons[max_bars:]]
        return [*bars, (counted(len(left), "other column"), sum(left))] if left else bars

    def signed(self, value: float) -> str:
        """A number with its sign, and decimals that show three digits of the difference."""
        size = abs(self.difference)
        digits = 2 if size == 0 else min(max(2 - floor(log10(size)), 0), 6)
        return f"{value:+z.{digits}f}" if abs(value) < _HUGE else f"{value:+.3g}"


def written(value: float | str) -> str:
    """A category, or a number with four digits."""
    return value if isinstance(value, str) else f"{value:.4g}"


def _head(explanation: Explanation) -> str:
    head = f"Class {explanation.label}, probability {explanation.probability:.3f}"
    if explanation.rival is None:
        return f"{head}; no other class can be predicted."
    return f"{head}; next is {class_name(explanation.rival)}, {explanation.rival_probability:.3f}."


def _compared(explanation: Explanation) -> list[str]:
    signed = explanation.signed
    leads = f"{signed(explanation.lead)} here, {signed(explanation.reference_lead)} there"
    text = f"The lead over {class_name(explanation.rival)}{explanation.unit}: {leads}."
    return _wrapped([f"Compared with {explanation.reference}.", *text.split()])


def _reasons(explanation: Explanation) -> list[str]:
    signed, shown = explanation.signed, explanation.reasons[:_MAX_REASONS]
    lines = [f"The difference of {signed(explanation.difference)}, by column"]
    width = max(len(reason.column) for reason in shown)
    for reason in shown:
        values = f"{written(reason.value)}, there {reason.reference}"
        lines.append(f"{signed(reason.attribution):>9}  {reason.column:{width}}  {values}")
    if left := explanation.reasons[_MAX_REASONS:]:
        rest = sum(reason.attribution for reason in left)
        lines.append(f"{signed(rest):>9}  {counted(len(left), 'other column')}")
    return lines


def _boundaries(explanation: Explanation) -> list[str]:
    """How many boundaries are between reference and sample, and what the strongest add."""
    crossed, leaves, signed = explanation.crossings, explanation.leaves, explanation.signed
    text = (
        f"Between the two {'is' if len(crossed) == 1 else 'are'} {counted(len(crossed), 'hyperplane')}."
    )
    shown = [
        (crossing.effect, f"{crossing.side}, crossed after {crossing.way:.0%} of the way here")
        for crossing in crossed[:_MAX_CROSSINGS]
    ]
    if leaves is not None and leaves.changed:
        text += f" {leaves} {signed(leaves.effect)}."
        shown += [(value, name) for name, value in leaves.strongest[:_MAX_LEAVES]]
    least = _VISIBLE * abs(explanation.difference)
    lines = []
    for value, name in shown:
        if abs(value) >= least:
            size = signed(value)
            *first, last = f"{size}  {name}".split(" and ")  # wrapped between limits of a leaf
            parts = [*(f"{limits} and" for limits in first), last]
            lines += [" " * (9 - len(size)) + line for line in _wrapped(parts, "    ")]
    title = ["What the strongest add:"] if lines else []
    return [*_wrapped(text.split()), *title, *lines]


def _place(place: Place) -> str:
    if place.kind == "blob":
        what = f"blob {place.number} of class {place.label}, {place.share:.1%} of the training samples"
        if place.unseen:
            return f"Farther from all blobs than 99% of the training samples. The nearest is {what}."
        return f"Among the samples of {what}."
    if place.silent:
        return (
            "In a region without training samples. The network is silent there: its answer is the first "
            "class."
        )
    counts = ", ".join(f"{count:g} of class {label}" for label, count in place.counts)
    what = f"region {place.number}, with training samples: {counts}"
    if place.unseen:
        return f"In a region without training samples. The region that it violates least: {what}."
    return f"In {what}."


def _wrapped(parts: Sequence[str], indent: str = "") -> list[str]:
    """Parts of a sentence in lines that break between them only; ``indent`` starts all but the first."""
    whole = " ".join(part.replace(" ", _NO_BREAK) for part in parts)
    options: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return [line.replace(_NO_BREAK, " ") for line in wrap(whole, _WIDTH, **options)]


def _counterfactual(change: Counterfactual) -> list[str]:
    distance = f"{change.distance:.4g} standard deviations of the features ({_NORMS[change.norm]})"
    kind = "to another class," if change.exact else "found, to"
    lines = [f"The smallest change {kind} {class_name(change.label)}: {distance}"]
    if not change.exact and change.lower > 0:
        lines.insert(0, f"No change smaller than {change.lower:.4g} changes the class (proved).")
    width = max(len(name) for name, _, _ in change.changes[:_MAX_CHANGES])
    for name, before, after in change.changes[:_MAX_CHANGES]:
        lines.append(f"  {name:{width}}  {before:.4g} → {after:.4g} ({after - before:+.3g})")
    left = len(change.changes) - _MAX_CHANGES
    if left > 0:
        lines.append(f"  and smaller changes of {counted(left, 'other feature')}")
    return lines
