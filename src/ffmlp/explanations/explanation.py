"""One explanation, as data and as a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from ffmlp.markup import html_bars
from ffmlp.words import counted

# The numbers of hyperplanes, features of a hyperplane, regions and changed features on a page.
_MAX_MARGINS = 5
_MAX_DRIVERS = 3
_MAX_REGIONS = 3
_MAX_CHANGES = 12
# Bars of hyperplanes and of features in a notebook.
_MAX_BARS = 8
# Width of wrapped lines.
_WIDTH = 85
_REST = "not due to any one hyperplane"
_NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Driver:
    """A feature of a sample and its contribution to a response or a lead.

    ``value`` is a number, a category, "unknown" for one that the network does not know, or "missing".
    """

    feature: str
    value: float | str
    contribution: float


@dataclass(frozen=True)
class Margin:
    """The side of a hyperplane on which a sample lies, and how far from it.

    Attributes
    ----------
    hyperplane : int
    side : str
        The half-space that the sample is in.
    response : float
        ``|h(x)|``: the log-odds of the half-space's blob over the other blob. For the threshold of a
        feature, the distance from it.
    deviations : float
        The same in standard deviations along the hyperplane's normal.
    is_log_odds : bool
        False for thresholds of single features and for hyperplanes that have been moved.
    contribution : float
        The hyperplane's contribution to the lead of the predicted class over the next one.
    drivers : tuple of Driver
        The contribution of each feature to the response, largest first; they sum to the response.
    """

    hyperplane: int
    side: str
    response: float
    deviations: float
    is_log_odds: bool
    contribution: float
    drivers: tuple[Driver, ...]


@dataclass(frozen=True)
class Place:
    """The place of a sample: its region (region design) or its nearest blob.

    ``share`` is the place's share of the training samples, ``counts`` are those of a region by class. A
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
class RegionPart:
    """What the regions beside a readout add to the lead.

    Attributes
    ----------
    lead : float
        The sum over the regions that the sample is in, one of each tree.
    agreeing, trees : int
        The trees whose region does not lower the lead, and all trees.
    strongest : tuple of (str, float)
        What the regions stand for, and what each adds, largest first.
    reference : str
        What the sample is compared with: the nearest blob of the rival's class.
    reference_lead : float
        What the regions add to the lead at the mean of this blob.
    features : tuple of Driver
        Exact Shapley values, largest first: with ``reference_lead`` they sum to ``lead``.
    """

    lead: float
    agreeing: int
    trees: int
    strongest: tuple[tuple[str, float], ...]
    reference: str
    reference_lead: float
    features: tuple[Driver, ...]

    def __str__(self) -> str:
        return f"regions ({self.agreeing} of {counted(self.trees, 'tree')} agree)"


@dataclass(frozen=True)
class Counterfactual:
    """A change of the sample that gives another class.

    Attributes
    ----------
    label : object
        The other class.
    changes : tuple of (str, float, float)
        Each changed feature, largest change first: name, value of the sample, new value.
    distance : float
        The size of the change, in standard deviations of the features.
    lower : float
        A proved lower bound: no smaller change gives another class.
    exact : bool
        Whether the change is proved to be the smallest; ``lower`` then equals ``distance``.
    """

    label: Any
    changes: tuple[tuple[str, float, float], ...]
    distance: float
    lower: float
    exact: bool


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
        The lead of the predicted class: the sum of the margins' contributions and ``rest``. It is the
        log-odds of the two classes; with regions beside a readout, it is the difference of their
        evidence; in the region design it is how much less the sample violates its region than the least
        violated region of the rival.
    rest : float
        The part of the lead without a hyperplane: the bias and the regions beside a readout, or the
        other blobs of the two classes.
    place : Place
    margins : tuple of Margin
        All hyperplanes, largest contribution first, ties by distance.
    features : tuple of Driver
        The contribution of each feature to the lead through all hyperplanes, largest first. With
        ``rest`` they sum to the lead; in the blob design they are a first-order approximation.
    searched : bool
        Whether a counterfactual was searched for.
    counterfactual : Counterfactual or None
    regions : RegionPart or None
        What the regions beside a readout add to ``rest``, if there are any.
    """

    label: Any
    probability: float
    rival: Any
    rival_probability: float
    lead: float
    rest: float
    place: Place
    margins: tuple[Margin, ...]
    features: tuple[Driver, ...]
    counterfactual: Counterfactual | None
    searched: bool
    regions: RegionPart | None = None

    def __repr__(self) -> str:
        return f"Explanation({_head(self)})"

    def __str__(self) -> str:
        parts = [[_head(self)], [_place(self.place)], _lead(self), _features(self)]
        if self.counterfactual is not None:
            parts.append(_counterfactual(self.counterfactual))
        elif self.searched:
            parts.append(["No change to another class was found within the limits."])
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(line)}</p>" for line in (_head(self), _place(self.place))]
        if self.rival is not None:
            lead = escape(f"Lead over {self.rival}: {self.lead:+.2f}, by hyperplane")
            parts += [f"<p>{lead}</p>", html_bars(self.hyperplane_bars(_MAX_BARS))]
            parts += ["<p>By feature</p>", html_bars(self.feature_bars(_MAX_BARS))]
        if self.counterfactual is not None:
            change = "\n".join(_counterfactual(self.counterfactual))
            parts.append(f"<pre>{escape(change)}</pre>")
        return "".join(parts)

    def hyperplane_bars(self, max_bars: int) -> list[tuple[str, float]]:
        """Names and contributions of the first hyperplanes, of all others, of regions, and the rest."""
        bars = [(margin.side, margin.contribution) for margin in self.margins]
        bars = _first(bars, max_bars, "other hyperplane")
        rest = self.rest
        if self.regions is not None:
            bars.append((str(self.regions), self.regions.lead))
            rest -= self.regions.lead
        return [*bars, (_REST, rest)] if rest else bars

    def feature_bars(self, max_bars: int) -> list[tuple[str, float]]:
        """Names with values, and contributions, of the first features, and of all others together."""
        return _feature_bars(self.features, max_bars)


def _feature_bars(drivers: Sequence[Driver], max_bars: int) -> list[tuple[str, float]]:
    bars = [(f"{driver.feature} = {_written(driver.value)}", driver.contribution) for driver in drivers]
    return _first(bars, max_bars, "other feature")


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _first(bars: list[tuple[str, float]], max_bars: int, noun: str) -> list[tuple[str, float]]:
    """The first bars, and one for the sum of the others."""
    left = [value for _, value in bars[max_bars:]]
    return [*bars[:max_bars], (counted(len(left), noun), sum(left))] if left else bars


def _head(explanation: Explanation) -> str:
    head = f"Class {explanation.label}, probability {explanation.probability:.3f}"
    if explanation.rival is None:
        return f"{head}; no other class can be predicted."
    return f"{head}; next is {explanation.rival}, {explanation.rival_probability:.3f}."


def _place(place: Place) -> str:
    if place.kind == "blob":
        what = f"blob {place.number} of class {place.label}, {place.share:.1%} of the training samples"
        if place.unseen:
            return f"Far from all training samples. The nearest ones are those of {what}."
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


def _lead(explanation: Explanation) -> list[str]:
    if explanation.rival is None:
        return []
    kind = "" if explanation.place.kind == "region" else ", in log-odds"
    if explanation.regions is not None:
        kind = ", in evidence"
    lines = [f"Its lead over {explanation.rival}{kind}: {explanation.lead:+z.2f}, the sum of"]
    n_shown = min(max(1, _n_visible(explanation)), _MAX_MARGINS)
    for margin in explanation.margins[:n_shown]:
        lines += _margin(margin)
    for name, value in explanation.hyperplane_bars(n_shown)[n_shown:]:
        lines.append(f"{value:+z9.2f}  {name}")
        if explanation.regions is not None and name == str(explanation.regions):
            lines += _regions(explanation.regions)
    return lines


def _regions(part: RegionPart) -> list[str]:
    lines = []
    for name, value in part.strongest[:_MAX_REGIONS]:
        *first, last = f"{value:+z.3f} {name}".split(" and ")
        lines += _wrapped([*(f"{limits} and" for limits in first), last], "  ")
    against = f"against {part.reference} ({part.reference_lead:+z.2f}): "
    return [f"{'':11}{line}" for line in (*lines, *_drivers(against, part.features))]


def _n_visible(explanation: Explanation) -> int:
    """The number of hyperplanes whose contribution is not printed as zero."""
    return sum(abs(margin.contribution) >= 0.005 for margin in explanation.margins)


def _features(explanation: Explanation) -> list[str]:
    if _n_visible(explanation) < 2:  # the line of the hyperplane has the same features
        return []
    return _drivers("All hyperplanes together, by feature: ", explanation.features)


def _margin(margin: Margin) -> list[str]:
    unit = "standard deviations from the hyperplane"
    odds = f", log-odds {margin.response:+z.2f}" if margin.is_log_odds else ""
    lines = [f"{margin.contribution:+z9.2f}  {margin.side}", f"{margin.deviations:.2f} {unit}{odds}"]
    if margin.is_log_odds:
        lines += _drivers("by ", margin.drivers)
    return [lines[0], *(f"{'':11}{line}" for line in lines[1:])]


def _drivers(start: str, drivers: Sequence[Driver]) -> list[str]:
    """The contribution of each feature, if any; lines break between features only."""
    parts = [f"{name} ({value:+z.2f})" for name, value in _feature_bars(drivers, _MAX_DRIVERS)]
    if not parts:
        return []
    *first, last = parts
    return _wrapped([*start.split(), *(f"{part}," for part in first), last])


def _wrapped(parts: Sequence[str], indent: str = "") -> list[str]:
    """Parts of a sentence in lines that break between them only; ``indent`` starts all but the first."""
    whole = " ".join(part.replace(" ", _NO_BREAK) for part in parts)
    options: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return [line.replace(_NO_BREAK, " ") for line in wrap(whole, _WIDTH, **options)]


def _counterfactual(change: Counterfactual) -> list[str]:
    distance = f"{change.distance:.4g} standard deviations of the features"
    if change.exact:
        lines = [f"The smallest change to another class, {change.label}: {distance}"]
    else:
        lines = [
            f"No change smaller than {change.lower:.4g} changes the class (proved).",
            f"The smallest change found, to {change.label}: {distance}",
        ]
    width = max(len(name) for name, _, _ in change.changes[:_MAX_CHANGES])
    for name, before, after in change.changes[:_MAX_CHANGES]:
        lines.append(f"  {name:{width}}  {before:.4g} → {after:.4g} ({after - before:+.3g})")
    left = len(change.changes) - _MAX_CHANGES
    more = [f"  and smaller changes of {counted(left, 'other feature')}"] if left > 0 else []
    return [*lines, *more]
