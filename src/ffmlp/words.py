"""Numbers, lists and foreign texts in sentences; tables and bars in HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from html import escape
from math import floor, log10
from typing import Any

# Items that are listed; the others are counted.
_MAX_LISTED = 20
# Longer lines are cut.
_LONGEST_LINE = 2000


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


def short_number(value: float, n_digits: int = 4) -> str:
    """A number with a few significant digits and all digits before the decimal point.

    Examples
    --------
    >>> from ffmlp.words import short_number
    >>> short_number(13412.7), short_number(4.70005), short_number(0.0), short_number(2e-7)
    ('13,413', '4.7', '0', '2e-07')
    """
    size = abs(value)
    if not 1e-4 <= size < 1e15:
        return f"{value:.{n_digits}g}" if size else "0"
    n_decimals = max(0, n_digits - 1 - floor(log10(size)))
    text = f"{value:{',' if size >= 1e4 else ''}.{n_decimals}f}"
    return text.rstrip("0").rstrip(".") if n_decimals else text


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


def escaped(text: str, kept: str = "", escape: Callable[[str], str] | None = None) -> str:
    r"""A text with its control characters, line breaks included, shown as Python writes them.

    Names and labels come from files: as they are, they could move the cursor of a terminal, or look
    like lines of the output. Those in ``kept`` stay.

    Examples
    --------
    >>> from ffmlp.words import escaped
    >>> print(escaped("red\naccuracy: 1.000"))
    red\naccuracy: 1.000
    """
    if text.isprintable():
        return text
    escape = escape or (lambda letter: repr(letter)[1:-1])
    return "".join(each if each.isprintable() or each in kept else escape(each) for each in text)


def one_line(text: str) -> str:
    """An escaped text; a very long one, for example with a whole file in it, is cut in the middle."""
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE // 2]} … {text[-_LONGEST_LINE // 2 :]}"
    return escaped(text)


def with_escapes(value: Any) -> Any:
    r"""A copy of a text, list, tuple or dataclass in which all texts are escaped.

    What is made of it may have several lines: none of them can come from a name or a label.

    Examples
    --------
    >>> from ffmlp.words import with_escapes
    >>> with_escapes(("a\nb", 1.5, ["c"]))
    ('a\\nb', 1.5, ['c'])
    """
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, list | tuple):
        return type(value)(map(with_escapes, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: with_escapes(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **parts)
    return value


_FOR, _AGAINST = "#0072B2", "#D55E00"
# Width of the longest bar to either side, in pixels.
_LONGEST = 120


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_bars(bars: Sequence[tuple[str, float]]) -> str:
    """A bar for each value: blue and to the right if it is positive, else orange and to the left."""
    largest = max((abs(value) for _, value in bars), default=0.0) or 1.0
    rows = []
    for name, value in bars:
        width = round(_LONGEST * abs(value) / largest)
        left = _LONGEST if value >= 0 else _LONGEST - width
        bar = (
            f'<div style="margin-left:{left}px;width:{width}px;height:1em;'
            f'background:{_FOR if value >= 0 else _AGAINST}"></div>'
        )
        rows.append(
            f'<tr><td style="text-align:left">{escape(name)}</td><td>{value:+.2f}</td>'
            f'<td style="text-align:left;min-width:{2 * _LONGEST}px">{bar}</td></tr>'
        )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
