"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

# Items that are listed; the others are counted.
_MAX_LISTED = 20


def counted(number: float, noun: str) -> str:
    """A number and its noun, in the plural where needed.

    Examples
    --------
    >>> from ffmlp.words import counted
    >>> counted(1, "category"), counted(3, "category"), counted(2, "class")
    ('1 category', '3 categories', '2 classes')
    """
    if number == 1:
        return f"{number} {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def class_name(label: Any) -> str:
    """A class in a sentence: its name, or "class 1" if it is a number.

    Examples
    --------
    >>> from ffmlp.words import class_name
    >>> class_name("setosa"), class_name(1)
    ('setosa', 'class 1')
    """
    return str(label) if isinstance(label, str) else f"class {label}"


def listed(items: Iterable[Any], separator: str = ", ") -> str:
    """The first items of a list, and how many more there are."""
    texts = list(map(str, items))
    more = [f"… {len(texts) - _MAX_LISTED} more"] if len(texts) > _MAX_LISTED else []
    return separator.join(texts[:_MAX_LISTED] + more)


def itemised(
    number: int, max_items: int, line: Callable[[int], str], order: Iterable[int] | None = None
) -> list[str]:
    """Indented lines of the first items, in the given order, and how many more there are."""
    chosen = list(range(number) if order is None else order)[:max_items]
    lines = [f"  {line(int(item))}" for item in chosen]
    return [*lines, f"  … and {number - max_items} more"] if number > max_items else lines
