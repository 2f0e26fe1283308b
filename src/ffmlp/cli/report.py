"""``ffmlp report``: an HTML page about a model and a data file."""

from __future__ import annotations

import argparse
import warnings

from ffmlp.cli.console import Console, add_shared, check_output, check_suffix, require_packages
from ffmlp.cli.predict import open_data
from ffmlp.words import counted

HELP = "write a page to explore a model: what-if, accuracy, effects, design"
EXAMPLE = "ffmlp report iris.model iris.csv -o report.html"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_shared(parser, "MODEL", "DATA", output=("PAGE", "self-contained page to write (.html)"))


def run(options: argparse.Namespace) -> None:
    """Assess and write."""
    require_packages("report", "pandas", "tqdm")
    check_suffix(options.output, ".html", ".htm")
    check_output(options.output, options.force, options.model, options.data)
    from threadpoolctl import threadpool_limits

    from ffmlp.report.assessment import read_rows
    from ffmlp.report.explorer import explorer_page
    from ffmlp.report.model_report import outcome, seen_text
    from ffmlp.storage.whole_files import write_whole
    from ffmlp.tabular.table_model import TableModel

    console = Console(options)
    model = TableModel.load(options.model)
    table = open_data(options, model, console, options.data)
    with (
        console.progress(2, "part", "reporting") as update,
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)  # about categories that the model has not seen
        rows = read_rows(model, table)
        update()
        page = explorer_page(model, rows, options.model, table.path.name)
        update()
    write_whole(options.output, page.encode(), options.force)
    console.say(f"{options.output}: {counted(len(rows.X), 'row')}, {len(page) / 1e6:.1f} MB")
    shown = outcome(model, rows)
    if rows.seen and shown is not None:
        seen = seen_text(rows)
        console.note(f"{table.path}: {seen} The accuracy in the report is on {shown.about}.")
    console.result(
        {"page": str(options.output), "rows": len(rows.X), "share_fitted": rows.seen,
         "accuracy": None if shown is None else shown.confusion.accuracy,
         "accuracy_of": None if shown is None else shown.about}
    )  # fmt: skip
