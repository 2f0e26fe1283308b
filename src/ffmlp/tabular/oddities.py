"""What a person would look at twice in the values of a column."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

# The end of names such as patient_id, PassengerId or row number; not that of humid.
_ID_NAME = re.compile(r"((?i:(^|[\W_])(id|key|index|nr|no|number))|(?<=[a-z])I[dD])$")
# A number and a unit before or after it. Ordinals, such as 5th, have none.
_UNIT = r"(?!(?:st|nd|rd|th)\b)[^\W\d_]+(?:/[^\W\d_]+)?|[%°€$£¥][^\W\d_]?"
_WITH_UNIT = re.compile(rf"(?P<before>[€$£¥])?\s*[+-]?\d[\d.,]*\s*(?P<after>{_UNIT})?")
# Fewer distinct numbers with a unit are names, such as 2WD and 4WD.
_FEWEST_WITH_UNIT = 5


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
