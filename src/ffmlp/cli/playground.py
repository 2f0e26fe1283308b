"""``ffmlp playground``: a page that designs networks in the browser."""

from __future__ import annotations

import argparse

from ffmlp.cli.console import Console, add_shared, check_output, check_suffix

HELP = "write a page that designs networks in the browser, with your own CSV files"
EXAMPLE = "ffmlp playground -o playground.html"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_shared(parser, output=("PAGE", "self-contained page to write (.html)"))


def run(options: argparse.Namespace) -> None:
    """Join the modules of the page and write it."""
    check_suffix(options.output, ".html", ".htm")
    check_output(options.output, options.force)
    from ffmlp.storage.whole_files import write_whole
    from ffmlp.web.joining import playground_page

    page = playground_page().encode()
    write_whole(options.output, page, options.force)
    console = Console(options)
    console.say(f"{options.output}: {len(page) / 1e3:.0f} kB. Open it in a browser.")
    console.result({"page": str(options.output), "bytes": len(page)})
