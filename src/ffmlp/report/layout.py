"""The layout of pages: tables and figures as Markdown and as self-contained HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ffmlp.words import counted

# Displayed size of a figure relative to its pixels; the rest is for sharp screens and slides.
_SHOWN_SHARE = 0.65
# Wider figures scroll on a phone, where they would be too small to read.
_WIDE = 700
# Tables with more columns become cards on a phone: one block for each line.
_MAX_PHONE_COLUMNS = 4

# Borders are separate and z-indices are set for the sticky cells: collapsed borders would scroll away,
# and row names would cover the header. On a phone, a cell has at most its share of the screen without
# the margins of the page and its own: only longer words are broken, and the table fits.
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --muted: #555; --line: #ccc;
  --tint: #eef3f7; --accent: #0072b2; --link: #005a8c }
@media (prefers-color-scheme: dark) {
  :root { --page: #15181c; --text: #e4e6e9; --muted: #a8b0b9; --line: #3b424a;
    --tint: #232a32; --accent: #56b4e9; --link: #8ccbf2 }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  margin: 2rem auto; max-width: 78rem; padding: 0 1rem; overflow-wrap: break-word;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
h1 { line-height: 1.2 }
h2 { line-height: 1.3; margin-top: 3rem; border-bottom: 2px solid var(--accent); padding-bottom: .2rem }
p, nav, ul { max-width: 48rem }
a { color: var(--link) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.scroll { overflow: auto; margin: 1rem 0 }
table { border-collapse: separate; border-spacing: 0; font-size: .85rem;
  font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top }
th { position: sticky; left: 0; background: var(--page); white-space: nowrap; font-weight: 600 }
thead th { left: auto; top: 0; z-index: 1; background: var(--tint); white-space: normal;
  vertical-align: bottom }
thead th:first-child { left: 0; z-index: 2 }
.notes { font-size: .85rem; color: var(--muted) }
summary { cursor: pointer; padding: .3rem 0; color: var(--link) }
pre { font-size: .8rem; overflow-x: auto; background: var(--tint); padding: .8rem; margin: .2rem 0 1rem }
figure { margin: 2rem 0 }
img { max-width: 100%; height: auto; background: #fff }
figcaption { max-width: 48rem; font-size: .95rem }
@media screen and (min-width: 40.01rem) { .grid { max-height: 85vh } }
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .75rem }
  h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem }
  ul { padding-left: 1.2rem } nav li { padding: .2rem 0 }
  pre { white-space: pre-wrap }
  .wide img { max-width: none; width: 50rem }
  .grid { overflow: visible }
  table { font-size: .75rem; width: 100% }
  th, td { padding: .25rem; max-width: calc((100vw - 1.5rem) / var(--columns) - .5rem) }
  th { white-space: normal }
  .cards { font-size: .85rem }
  .cards, .cards tbody, .cards tr, .cards th { display: block }
  .cards thead { display: none }
  .cards tr { border: 1px solid var(--line); border-radius: .4rem; margin-bottom: .8rem }
  .cards th { position: static; background: var(--tint); font-size: .95rem }
  .cards th, .cards td { padding: .3rem .6rem; max-width: none }
  .cards th:empty { display: none }
  .cards td { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .75rem }
  .cards td:last-child { border-bottom: 0 }
  .cards [data-label]::before { content: attr(data-label); color: var(--muted) }
  .cards th::before { margin-right: .5rem; font-weight: 400 }
}
"""


@dataclass(frozen=True)
class Table:
    """A section of a page: title, text, the table itself, and notes below it.

    Blank lines of the text separate paragraphs. Without lines, the section has no table. ``details``
    are titles and preformatted texts, to be opened one by one. In HTML, a ``folded`` table and its
    notes are opened by the reader. ``bold`` has the line and the column of each cell in bold.
    """

    title: str
    text: str
    header: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    details: Sequence[tuple[str, str]] = ()
    folded: bool = False
    bold: Collection[tuple[int, int]] = ()


@dataclass(frozen=True)
class Picture:
    """A figure: a PNG image, its title and caption, and the title of the table that it belongs to.

    A figure with the title of the page stands above the tables. ``link`` is where a Markdown page finds
    the image.
    """

    png: bytes
    title: str
    caption: str
    beside: str
    link: str = ""


def to_markdown(
    title: str, text: Sequence[str], tables: Sequence[Table], pictures: Sequence[Picture]
) -> str:
    """A Markdown page; figures are linked."""
    blocks = [f"# {title}", *text, *map(_link, _beside(title, pictures))]
    for table in tables:
        blocks += [f"## {table.title}", table.text, _pipes(table)]
        blocks.append("\n".join(f"- {note}" for note in table.notes))
        blocks += [f"**{name}**\n\n```text\n{detail}\n```" for name, detail in table.details]
        blocks += map(_link, _beside(table.title, pictures))
    return "\n\n".join(filter(None, blocks)) + "\n"


def to_html(
    title: str, text: Sequence[str], tables: Sequence[Table], pictures: Sequence[Picture]
) -> str:
    """An HTML page for screens of any width; figures are embedded."""
    opening = _paragraphs(text) + "".join(map(_figure, _beside(title, pictures)))
    title = escape(title, quote=False)
    contents = sections = ""
    for number, table in enumerate(tables, start=1):
        contents += f'<li><a href="#part-{number}">{escape(table.title)}</a></li>'
        sections += _section(number, table, _beside(table.title, pictures))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{opening}"
        f"<nav><h2>Contents</h2><ul>{contents}</ul></nav>{sections}</body></html>\n"
    )


def _beside(title: str, pictures: Sequence[Picture]) -> list[Picture]:
    return [picture for picture in pictures if picture.beside == title]


def _pipes(table: Table) -> str:
    if not table.lines:
        return ""
    body = [
        [f"**{cell}**" if (number, column) in table.bold else cell for column, cell in enumerate(line)]
        for number, line in enumerate(table.lines)
    ]
    lines = [table.header, ["---"] * len(table.header), *body]
    rows = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _link(picture: Picture) -> str:
    return f"![{picture.title}]({picture.link})\n\n**{picture.title}.** {picture.caption}"


def _section(number: int, table: Table, pictures: Sequence[Picture]) -> str:
    text = _paragraphs(table.text.split("\n\n"))
    parts = [f'<section id="part-{number}"><h2>{escape(table.title)}</h2>{text}', _body(table)]
    for title, detail in table.details:
        parts.append(f"<details><summary>{escape(title)}</summary><pre>{escape(detail)}</pre></details>")
    return "".join([*parts, *map(_figure, pictures), "</section>"])


def _paragraphs(text: Iterable[str]) -> str:
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in text if paragraph.strip())


def _body(table: Table) -> str:
    """The grid and its notes."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    body = _grid(table) + (f'<ul class="notes">{notes}</ul>' if notes else "")
    if not (table.folded and table.lines):
        return body
    summary = f"Show the table ({counted(len(table.lines), 'line')})"
    return f"<details><summary>{summary}</summary>{body}</details>"


def _grid(table: Table) -> str:
    if not table.lines:
        return ""
    n_columns = len(table.header)
    cards = n_columns > _MAX_PHONE_COLUMNS
    look = 'class="cards"' if cards else f'style="--columns:{n_columns}"'
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "".join(f"<tr>{_row(table, number)}</tr>" for number in range(len(table.lines)))
    grid = f"<table {look}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return _scrolling("grid", table.title, grid)


def _row(table: Table, number: int) -> str:
    """The cells of a line, each with the name of its column, which cards show."""
    line = table.lines[number]
    tags = ['th scope="row"', *["td"] * (len(line) - 1)]
    return "".join(
        f'<{tag} data-label="{escape(label)}">{_cell(cell, (number, column) in table.bold)}</{tag[:2]}>'
        for column, (tag, label, cell) in enumerate(zip(tags, table.header, line, strict=True))
    )


def _scrolling(name: str, title: str, content: str) -> str:
    """Content that may be wider than the screen; the keyboard can scroll what it can focus."""
    label = escape(title)
    return f'<div class="scroll {name}" tabindex="0" role="region" aria-label="{label}">{content}</div>'


def _cell(text: str, bold: bool) -> str:
    """Keep a mean and its deviation on one line."""
    cell = escape(text).replace(" ± ", "&nbsp;±&nbsp;").replace("/ ", "/&nbsp;")
    return f"<b>{cell}</b>" if bold else cell


def _figure(picture: Picture) -> str:
    png = picture.png
    # The header of a PNG file has the width at its 17th byte.
    width = round(_SHOWN_SHARE * int.from_bytes(png[16:20], "big"))
    title, source = escape(picture.title), f"data:image/png;base64,{b64encode(png).decode()}"
    image = f'<img src="{source}" width="{width}" alt="{title}">'
    if width > _WIDE:
        image = _scrolling("wide", picture.title, image)
    caption = f"<figcaption><b>{title}.</b> {escape(picture.caption)}</figcaption>"
    return f"<figure>{image}{caption}</figure>"
