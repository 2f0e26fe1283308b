"""Figures of the gallery with the alternative text that each example gives them."""

import re
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import matplotlib_scraper

_TEXT = re.compile(r'^# sphinx_gallery_alternative_text = "(.+)"$', re.MULTILINE)


def described_figures(block: Any, names: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The figures of a block of code, as sphinx-gallery shows them, and what one sees on them."""
    shown = matplotlib_scraper(block, names, gallery_conf)
    texts = iter(_TEXT.findall(block.content))
    try:
        return re.sub(r"(?<=:alt: ).*", lambda _: next(texts), shown)
    except StopIteration:
        raise ExtensionError(f"A figure after line {block.lineno} has no alternative text.") from None
