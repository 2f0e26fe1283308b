"""Tables and figures as a Markdown page and as a self-contained HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

# Displayed size of a figure relative to its pixels; the rest is for sharp screens and slides.
_SHOWN_SHARE = 0.65
# Wider figures scroll on a phone, where they would be too small to read.
_WIDE = 700

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; margin: 2rem auto; max-width: 78rem;
  padding: 0 1rem }
h1 { line-height: 1.2 }
h2 { margin-top: 3rem; border-bottom: 2px solid #0072b2; padding-bottom: .2rem }
p, nav, ul { max-width: 48rem }
a { color: #005a8c }
.grid { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top }
th { vertical-align: bottom; background: #eef3f7 }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; font-weight: 600;
  white-space: nowrap }
th:first-child { background: #eef3f7 }
.notes { font-size: .85rem; color: #333; overflow-wrap: anywhere }
summary { cursor: pointer; padding: .3rem 0 }
pre { font-size: .8rem; overflow-x: auto; background: #f6f8fa; padding: .8rem; margin: .2rem 0 1rem }
figure { margin: 2rem 0; overflow-x: auto }
img { max-width: 100%; height: auto }
figcaption { max-width: 48rem; font-size: .95rem }
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .75rem }
  h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem }
  table { font-size: .75rem } th, td { padding: .25rem .4rem }
  th:first-child, td:first-child { white-space: normal; max-width: 6rem }
  img.wide { max-width: none; width: 50rem }
  figcaption { position: sticky; left: 0; max-width: calc(100vw - 1.5rem) }
}
"""


@dataclass(frozen=True)
class Table:
    """A section of a page: title, text, the table itself, and notes below it.

    ``details`` are titles and preformatted texts, to be opened one by one.
    """

    title: str
    text: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    details: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Picture:
    """A figure: a PNG file, its title and caption, and the title of the table that it belongs to."""

    path: Path
    title: str
    caption: str
    beside: str


def to_markdown(
    title: str, text: Sequence[str], tables: Sequence[Table], pictures: Sequence[Picture]
) -> str:
    """A Markdown page; figures are linked."""
    parts = [f"# {title}\n", *(f"{paragraph}\n" for paragraph in text)]
    for table in tables:
        lines = [table.header, ["---"] * len(table.header), *table.lines]
        rows = ([cell.replace("|", "\\|") for cell in line] for line in lines)
        grid = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        parts.append(f"## {table.title}\n\n{table.text}\n\n{grid}\n")
        if table.notes:
            parts.append("\n".join(f"- {note}" for note in table.notes) + "\n")
        parts += [f"**{title}**\n\n```text\n{text}\n```\n" for title, text in table.details]
        for picture in _beside(table, pictures):
            link = f"{picture.path.parent.name}/{picture.path.name}"
            parts.append(f"![{picture.title}]({link})\n\n**{picture.title}.** {picture.caption}\n")
    return "\n".join(parts)


def to_html(
    title: str, text: Sequence[str], tables: Sequence[Table], pictures: Sequence[Picture]
) -> str:
    """An HTML page for screens of any width; figures are embedded."""
    title = escape(title, quote=False)
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in text)
    contents = sections = ""
    for number, table in enumerate(tables, start=1):
        contents += f'<li><a href="#part-{number}">{escape(table.title)}</a></li>'
        sections += _section(number, table, _beside(table, pictures))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{paragraphs}"
        f"<nav><h2>Contents</h2><ul>{contents}</ul></nav>{sections}</body></html>\n"
    )


def _beside(table: Table, pictures: Sequence[Picture]) -> list[Picture]:
    return [picture for picture in pictures if picture.beside == table.title]


def _section(number: int, table: Table, pictures: Sequence[Picture]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in line) + "</tr>" for line in table.lines
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    parts = [
        f'<section id="part-{number}"><h2>{escape(table.title)}</h2><p>{escape(table.text)}</p>',
        f'<div class="grid"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>',
        f'<ul class="notes">{notes}</ul>' if notes else "",
    ]
    for title, text in table.details:
        parts.append(f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>")
    return "".join([*parts, *map(_figure, pictures), "</section>"])


def _cell(text: str) -> str:
    """Keep a mean and its deviation on one line."""
    return escape(text).replace(" ± ", "&nbsp;±&nbsp;").replace("/ ", "/&nbsp;")


def _figure(picture: Picture) -> str:
    png = picture.path.read_bytes()
    # The header of a PNG file has the width at its 17th byte.
    width = round(_SHOWN_SHARE * int.from_bytes(png[16:20], "big"))
    wide = ' class="wide"' if width > _WIDE else ""
    title, data = escape(picture.title), b64encode(png).decode()
    return (
        f'<figure><img{wide} src="data:image/png;base64,{data}" width="{width}" alt="{title}">'
        f"<figcaption><b>{title}.</b> {escape(picture.caption)}</figcaption></figure>"
    )
