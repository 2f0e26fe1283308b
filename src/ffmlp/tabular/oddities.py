"""What a person would look at twice in the names and values of columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

# The end of names such as patient_id, PassengerId or row number; not that of humid.
_ID_NAME = re.compile(r"((?i:(^|[\W_])(id|key|index|nr|no|number))|(?<=[a-z])I[dD])$")
# A number and a unit before or after it. Ordinals, such as 5th, have none.
_UNIT = r"(?!(?:st|nd|rd|th)\b)[^\W\d_]+(?:/[^\W\d_]+)?|[%°€$£¥][^\W\d_]?"
_WITH_UNIT = re.compile(rf"(?P<before>[€$£¥])?\s*[+-]?\d[\d.,]*\s*(?P<after>{_UNIT})?")
# Fewer distinct numbers with a unit are names, such as 2WD and 4WD.
_FEWEST_WITH_UNIT = 5
# More integer classes than this may be a number to predict.
_MANY_CLASSES = 20


def is_id_name(name: str) -> bool:
    """Whether the name of a column ends like that of an id."""
    return _ID_NAME.search(name) is not None


def number_with_unit(texts: Iterable[str]) -> str | None:
    """One of some distinct texts, such as 39.1 mm, if most of them are numbers with the same unit."""
    of_units, n_texts = defaultdict(list), 0
    for text in texts:
        n_texts += 1
        match = _WITH_UNIT.fullmatch(text)
        if match is not None and (match["before"] or match["after"]):
            of_units[match["before"] or match["after"]].append(text)
    most = max(of_units.values(), key=len, default=[])
    return min(most) if len(most) >= max(_FEWEST_WITH_UNIT, n_texts / 2) else None


def spelt_alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Two of some distinct texts that differ only in case or spaces, if there are any."""
    groups = defaultdict(list)
    for text in texts:
        groups["".join(text.split()).casefold()].append(text)
    first, second, *_ = min(
        (sorted(group) for group in groups.values() if group[1:]), default=(None, None)
    )
    return None if first is None or second is None else (first, second)


def notes_on_labels(target: str, labels: Sequence[int | str]) -> list[str]:
    """What a person would look at twice in the distinct labels of a target."""
    notes = []
    if len(labels) > _MANY_CLASSES and all(isinstance(label, int) for label in labels):
        notes.append(
            f"{target!r} has {len(labels)} integer classes, from {min(labels)} to {max(labels)}. ffmlp "
            "predicts classes, not numbers: if it is a number, group it into a few classes first."
        )
    pair = spelt_alike(map(str, labels))
    if pair is not None:
        notes.append(
            f"{target!r} has classes that differ only in case or spaces: {pair[0]!r} and {pair[1]!r}. "
            "If they are the same, write them alike in the file."
        )
    return notes
