"""The layout of pages: tables and figures as Markdown and as self-contained HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ffmlp.words import counted

_STYLE = Path(__file__).with_name("layout.css")
# Displayed size of a figure relative to its pixels; the rest is for sharp screens and slides.
_SHOWN_SHARE = 0.65
# Wider figures scroll on a phone, where they would be too small to read.
_WIDE = 700
# Tables with more columns become cards on a phone: one block for each line.
_MAX_PHONE_COLUMNS = 4


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
    style = _STYLE.read_text(encoding="utf-8")
    opening = _paragraphs(text) + "".join(map(_figure, _beside(title, pictures)))
    title = escape(title, quote=False)
    contents = sections = ""
    for number, table in enumerate(tables, start=1):
        contents += f'<li><a href="#part-{number}">{escape(table.title)}</a></li>'
        sections += _section(number, table, _beside(table.title, pictures))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>\n{style}</style></head><body><h1>{title}</h1>{opening}"
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
