"""``ffmlp explain``: why some rows of a file get their classes."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_dialect, dialect, need
from ffmlp.cli.predict import column_notes
from ffmlp.tables.tables import Table, open_table, pandas

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.table_model import TableModel

HELP = "say why a row gets its class, and what would change it"
EXAMPLE = "ffmlp explain iris.model new.csv --row 51 --counterfactual"
_ROWS_AT_ONCE = 20_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    parser.add_argument("data", type=Path, metavar="DATA", help="a CSV, TSV or Parquet file")
    parser.add_argument(
        "--row", type=int, nargs="+", required=True, metavar="N",
        help="rows to explain; the first one after the header is 1",
    )  # fmt: skip
    parser.add_argument(
        "--counterfactual",
        action="store_true",
        help="look for a small change of numbers to another class",
    )
    add_dialect(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Find the rows and explain them."""
    need("explain", "pandas", "skops")
    from ffmlp.tabular.substitutes import substitutes
    from ffmlp.tabular.table_model import TableModel

    console = Console.of(options)
    model = TableModel.load(options.model)
    table = open_table(options.data, dialect(options, model.dialect))
    for note in column_notes(table, model, model.id_column):
        console.note(note)
    if options.counterfactual and not model.numbers:
        raise ValueError("--counterfactual changes numbers, and the model has none: leave it out.")
    found = _rows(table, model, options.row)
    inputs = model.inputs(found)
    # Numbers come first. A part of a category more and one of another less would be no row.
    encoded = list(inputs)[len(model.numbers) :] if model.categories else []
    # The largest of the changes needs no further package; the Euclidean one does.
    explanations = model.classifier.explain(
        inputs, counterfactual=options.counterfactual, norm="inf", frozen=encoded
    )
    values = []
    for number, row in enumerate(options.row):
        explanation, instead = explanations[number], substitutes(model, found.iloc[number])
        parts = [f"Row {row} of {table.path}", "\n".join(map(str, instead)), str(explanation)]
        console.say("\n" * (number > 0) + "\n\n".join(part for part in parts if part))
        values.append({"row": row, "substitutes": list(map(asdict, instead)), **asdict(explanation)})
    console.result({"model": str(options.model), "data": str(options.data), "rows": values})
    return 0


def _rows(table: Table, model: TableModel, rows: list[int]) -> pd.DataFrame:
    """The features of some rows, in the order in which they were asked for."""
    for row in rows:
        if row < 1:
            raise ValueError(f"--row counts from 1, got {row}.")
    found, n_rows = {}, 0
    for block in table.blocks(_ROWS_AT_ONCE, model.kinds):
        for row in rows:
            if n_rows < row <= n_rows + len(block):
                found[row] = block.iloc[[row - 1 - n_rows]]
        n_rows += len(block)
        if len(found) == len(set(rows)):
            return pandas().concat([found[row] for row in rows])[model.features]
    raise ValueError(f"{table.path} has {n_rows} rows, there is no row {max(rows)}.")
