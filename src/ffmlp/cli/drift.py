"""``ffmlp drift``: how far the rows of two files are apart, by the blobs of a model."""

from __future__ import annotations

import argparse
import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_shared, check_output, check_suffix, require_packages
from ffmlp.cli.predict import KEPT, open_data, require_familiar_space

if TYPE_CHECKING:
    from ffmlp.explain.drift import Counts, Drift
    from ffmlp.tables.tables import DataTable
    from ffmlp.tabular.predictor import Predictor

HELP = "compare the rows of two tables by the blobs of a model"
EXAMPLE = "ffmlp drift iris.model before.csv after.csv -o drift.html"
_ROWS_AT_ONCE = 20_000
_DOTS_PER_INCH = 140


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    what = "figure (.png, .svg), or page with a table (.html)"
    add_shared(parser, "MODEL", "BEFORE", "AFTER", output=("FILE", what))


def run(options: argparse.Namespace) -> None:
    """Count the rows of both files in each blob, compare and draw."""
    require_packages("drift", "pyarrow", "tqdm", "matplotlib")
    check_suffix(options.output, ".html", ".png", ".svg")
    check_output(options.output, options.force, options.model, options.before, options.after)
    from ffmlp.explain.drift import Drift
    from ffmlp.storage.whole_files import write_whole
    from ffmlp.tabular.predictor import read_predictor

    console = Console(options)
    model = read_predictor(options.model)
    require_familiar_space(model, options.model)
    tables = [open_data(options, model, console, path) for path in (options.before, options.after)]
    counts = [_counted(model, table, console) for table in tables]
    drift = Drift.between(model.network, *counts)
    write_whole(options.output, _content(drift, options.output), options.force)
    console.say(f"{options.output}: {drift}")
    before, after = drift.shares.tolist()
    console.result(
        {"output": str(options.output), "rows": [int(rows.sum()) for rows in counts],
         "distance": drift.distance, "by_chance": drift.by_chance, "p_value": drift.p_value,
         "unfamiliar": [before[-1], after[-1]],
         "blobs": [{"name": drift.names[blob], "before": before[blob], "after": after[blob]}
                   for blob in drift.order.tolist() if blob < len(before) - 1]}
    )  # fmt: skip


def _counted(model: Predictor, table: DataTable, console: Console) -> Counts:
    """The rows of a file in each blob, block by block."""
    import numpy as np

    from ffmlp.explain.drift import occupancy

    counts = np.zeros(len(model.network.blob_classes) + 1, np.int64)
    with console.progress(None, "row", f"reading {table.path}") as update:
        for part in table.parts(_ROWS_AT_ONCE, model.kinds):
            block = part()
            if len(block):
                counts += occupancy(model.network, model.familiarity(block, KEPT))
                update(len(block))
    if not counts.any():
        raise ValueError(f"{table.path} has a header but no rows.")
    return counts


def _content(drift: Drift, path: Path) -> bytes:
    """The file to write, by its name."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ffmlp.plots import DriftDisplay

    kind = path.suffix.lower()
    image = io.BytesIO()
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():  # labels may have a $
        warnings.filterwarnings("ignore", "Glyph")  # with the character itself, which may be an escape
        figure = Figure(figsize=(8.0, 1.6 + 0.32 * min(16, len(drift.names))), layout="constrained")
        DriftDisplay.from_drift(drift, ax=figure.subplots())
        figure.savefig(image, format="svg" if kind == ".svg" else "png", dpi=_DOTS_PER_INCH)
    return _page(drift, image.getvalue()) if kind == ".html" else image.getvalue()


def _page(drift: Drift, png: bytes) -> bytes:
    """A page with the figure and the shares of all blobs."""
    from ffmlp.report.layout import Picture, Table, to_html

    before, after = drift.shares
    lines = [
        (drift.names[blob], f"{before[blob]:.2%}", f"{after[blob]:.2%}",
         f"{100 * (after[blob] - before[blob]):+.2f}")
        for blob in drift.order.tolist()
    ]  # fmt: skip
    title, header = "Drift", ("blob", "before", "after", "change in points")
    table = Table("All blobs", "The largest changes first.", header, lines)
    caption = "Share of the rows in each blob, before and after; unfamiliar rows are in none."
    picture = Picture(png, "Most changed blobs", caption, title)
    return to_html(title, [str(drift)], [table], [picture]).encode()
