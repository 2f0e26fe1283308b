"""``ffmlp predict``: the classes of the rows of a file, block by block."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_dialect, add_output, check_output, counted, dialect, need
from ffmlp.tables.tables import Table, open_table
from ffmlp.tabular.columns import known, listed

if TYPE_CHECKING:
    from ffmlp.tabular.interface import Interface
    from ffmlp.tabular.predictor import Predictor
    from ffmlp.tabular.table_model import TableModel

HELP = "predict the class of each row of a table, of any length"
EXAMPLE = "ffmlp predict iris.model new.csv -o out.csv --proba"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    parser.add_argument("data", type=Path, metavar="DATA", help="a CSV, TSV or Parquet file")
    add_output(parser, "FILE", "where to write to: .csv, .tsv (also compressed) or .parquet")
    parser.add_argument("--proba", action="store_true", help="write the probability of each class too")
    parser.add_argument("--id", metavar="COLUMN", help="a column to keep (that of fit)")
    parser.add_argument(
        "--block-rows", type=int, metavar="N", help="rows of a block, about (100000 or fewer)"
    )
    add_dialect(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(options: argparse.Namespace) -> int:
    """Read, predict and write at the same time."""
    need("predict", "pandas", "tqdm")
    from ffmlp.tabular.predictions import check_kind, header, predictions, write_predictions

    if options.block_rows is not None and not 1 <= options.block_rows < 2**31:
        raise ValueError(f"--block-rows must be at least 1 and below 2^31, got {options.block_rows}.")
    check_kind(options.output)
    check_output(options.output, options.force, options.model, options.data)
    console = Console.of(options)
    model = _model(options.model)
    table = open_table(options.data, dialect(options, model.dialect))
    id_column = _id_column(table, model, options.id)
    names = header(model, id_column, proba=options.proba)
    if id_column in names[1:]:
        raise ValueError(
            f"{table.path}: the id column {id_column!r} has the name of a column that is written. "
            "Rename it, or choose another with --id."
        )
    notes = column_notes(table, model, id_column)
    if id_column is None and model.id_column is not None:
        notes.append(f"{table.path} has no column {model.id_column!r}: rows are written without an id.")
    for note in notes:
        console.note(note)
    start = perf_counter()
    blocks = partial(
        predictions, model, table, id_column, proba=options.proba, n_rows=options.block_rows
    )
    with console.bar(None, "row", "predicting") as bar:
        written = write_predictions(options.output, names, blocks, bar.update)
    seconds = perf_counter() - start
    for unknown in written.unknown:
        notes.append(f"{table.path}, column {unknown}")
        console.note(notes[-1])
    console.say(f"{options.output}: {counted(written.n_rows, 'row')} in {seconds:.2f} s")
    console.result(
        {"output": str(options.output), "rows": written.n_rows, "columns": names, "notes": notes,
         "seconds": seconds}
    )  # fmt: skip
    return 0


def _model(path: Path) -> Predictor | TableModel:
    """The part of a model that predicts; the whole of one that cannot be read without scikit-learn."""
    from ffmlp.tabular.predictor import read_predictor

    model = read_predictor(path)
    if model is not None:
        return model
    need("predict", "skops")
    from ffmlp.tabular.table_model import TableModel

    return TableModel.load(path)


def _id_column(table: Table, model: Interface, asked: str | None) -> str | None:
    """The column to keep: as asked, else that of the model if the file has it."""
    if asked is None:
        return model.id_column if model.id_column in table.columns else None
    if asked in model.features:
        raise ValueError(f"--id {asked!r} is a feature of the model. Choose a column that is not.")
    return known(table, [asked], "--id")[0]


def column_notes(table: Table, model: Interface, id_column: str | None) -> list[str]:
    """What differs between the columns of a file and those of a model; an error if some are missing."""
    there = [name for name in table.columns if name]
    missing = [name for name in model.features if name not in there]
    if missing:
        raise ValueError(
            f"{table.path} lacks {_named('column', missing)} of the model. It has "
            f"{listed(map(repr, there))}."
        )
    notes = []
    # Columns that were there when the model was made, but left out then, are no news.
    known_before = model.facts.get("order", [])
    extra = [name for name in there if name not in (*model.features, *known_before, id_column)]
    if extra:
        notes.append(f"{table.path}: {_named('column', extra)} not used by the model.")
    # The model has numbers first; the file it was made from had its columns in the order of `order`.
    order = [name for name in model.facts.get("order", model.features) if name in model.features]
    if [name for name in there if name in model.features] != order:
        notes.append(f"{table.path}: columns in another order than the model's; they go by name.")
    return notes


def _named(what: str, names: list[str]) -> str:
    return f"{what if len(names) == 1 else what + 's'} {listed(map(repr, names))}"
