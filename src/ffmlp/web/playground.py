"""The playground: a page that designs networks in the browser."""

from __future__ import annotations

from ffmlp.web.joining import WEB, joined_script, one_page

TITLE = "FF-MLP playground"


def playground_page() -> str:
    """The page as HTML. It needs no other file and no network."""
    folder = WEB / "playground"
    body = (folder / "playground.html").read_text(encoding="utf-8")
    style = (folder / "playground.css").read_text(encoding="utf-8")
    return one_page(TITLE, body, style, joined_script("playground/main.js"))
