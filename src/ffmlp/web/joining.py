"""JavaScript modules, styles and data joined into one HTML page; the playground."""

from __future__ import annotations

import json
import re
from collections import Counter
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path
from typing import Any

WEB = Path(__file__).parent

_IMPORT = re.compile(r'^import\s+(?:\{[^}]*\}\s+from\s+)?"([^"]+)";\n', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", flags=re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", flags=re.MULTILINE)


def joined_script(entry: str) -> str:
    """One script of a module, such as ``"playground/main.js"``, after all modules that it imports."""
    graph: dict[Path, list[Path]] = {}
    bodies, unread = {}, [(WEB / entry).resolve()]
    while unread:
        path = unread.pop()
        if path not in graph:
            text = path.read_text(encoding="utf-8")
            bodies[path] = _EXPORT.sub("", _IMPORT.sub("", text))
            graph[path] = [(path.parent / name).resolve() for name in _IMPORT.findall(text)]
            unread += graph[path]
    counts = Counter(name for body in bodies.values() for name in _NAME.findall(body))
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(f"The modules of {entry} share names: {', '.join(twice)}. Rename them.")
    return "\n".join(bodies[path] for path in TopologicalSorter(graph).static_order())


def one_page(title: str, body: str, style: str, script: str, data: Any = None) -> str:
    """An HTML page that needs no other file.

    ``body`` is HTML. ``data`` are plain JSON values; the script finds them in the element ``data``.
    """
    # No text of the data may end its element.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{escape(title, quote=False)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Whatever a label or a cell says, nothing is fetched.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:\">\n"
        f"<style>\n{style}</style></head>\n<body>\n{body}\n"
        f'<script type="application/json" id="data">{text}</script>\n'
        f'<script type="module">\n{script}</script>\n</body></html>\n'
    )


TITLE = "FF-MLP playground"


def playground_page() -> str:
    """The page as HTML. It needs no other file and no network."""
    folder = WEB / "playground"
    body = (folder / "playground.html").read_text(encoding="utf-8")
    style = (folder / "playground.css").read_text(encoding="utf-8")
    return one_page(TITLE, body, style, joined_script("playground/main.js"))
