"""Tables and bars in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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
