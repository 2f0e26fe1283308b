"""``ffmlp explain``: why rows of a file get their classes."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_shared, require_packages
from ffmlp.cli.predict import open_data
from ffmlp.tables.tables import DataTable, pandas
from ffmlp.words import counted, with_escapes

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.table_model import TableModel

HELP = "explain why a row gets its class, and what would change it"
EXAMPLE = "ffmlp explain iris.model new.csv --row 51 --counterfactual"
_ROWS_AT_ONCE = 20_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    what = "rows to explain; the first row after the header is 1"
    parser.add_argument("--row", type=int, nargs="+", required=True, metavar="N", help=what)
    what = "find a small change of the numeric features that changes the class"
    parser.add_argument("--counterfactual", action="store_true", help=what)
    add_shared(parser, "MODEL", "DATA", quiet=False)


def run(options: argparse.Namespace) -> None:
    """Find the rows and explain them."""
    require_packages("explain", "pandas")
    from ffmlp.tabular.predictions import substitutes
    from ffmlp.tabular.table_model import TableModel

    console = Console(options)
    model = TableModel.load(options.model)
    table = open_data(options, model, console, options.data)
    if options.counterfactual and not model.numbers:
        raise ValueError(
            "--counterfactual needs numeric features, and the model has none. Leave it out."
        )
    rows = _rows(table, model, options.row)
    # Unlike the Euclidean norm, the maximum norm needs no further package.
    explanations = model.classifier.explain(
        model.classified(rows), counterfactual=options.counterfactual, norm="inf"
    )
    values = []
    for number, row in enumerate(options.row):
        explanation, inputs = explanations[number], explanations.samples[number]
        instead = substitutes(model.network.table, rows.iloc[number], inputs)
        head = [""] * (number > 0) + [f"Row {row} of {table.path}", ""]
        used = [*map(str, instead), ""] if instead else []
        console.say(*head, *used, *str(with_escapes(explanation)).split("\n"))
        values.append({"row": row, "substitutes": list(map(asdict, instead)), **asdict(explanation)})
    console.result({"model": str(options.model), "data": str(options.data), "rows": values})


def _rows(table: DataTable, model: TableModel, rows: list[int]) -> pd.DataFrame:
    """The features of some rows, in the given order."""
    for row in rows:
        if row < 1:
            raise ValueError(f"--row counts from 1, got {row}.")
    chosen, n_rows = {}, 0
    for block in table.blocks(_ROWS_AT_ONCE, model.kinds):
        for row in rows:
            if n_rows < row <= n_rows + len(block):
                chosen[row] = block.iloc[[row - 1 - n_rows]]
        n_rows += len(block)
        if len(chosen) == len(set(rows)):
            return pandas().concat([chosen[row] for row in rows])[model.features]
    raise ValueError(f"{table.path} has {counted(n_rows, 'row')}, so there is no row {max(rows)}.")
