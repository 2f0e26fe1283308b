"""``ffmlp predict``: the class of each row of a file, block by block."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_shared, check_numbers, check_output, dialect, require_packages
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import DataTable, file_type
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    from ffmlp.tabular.interface import Interface
    from ffmlp.tabular.predictor import Predictor
    from ffmlp.tabular.table_model import TableModel

HELP = "predict the class of each row of a table, however long"
# The share of training rows that are familiar.
KEPT = 0.99
EXAMPLE = "ffmlp predict iris.model new.csv -o out.csv --proba"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--proba", action="store_true", help="add the probability of each class")
    parser.add_argument("--id", metavar="COLUMN", help="column to copy to the output (that of fit)")
    what = "columns to copy to the output; without names, all columns of the file"
    parser.add_argument("--keep", nargs="*", metavar="COLUMN", help=what)
    what = "add a column 'row'; the first row after the header is 1"
    parser.add_argument("--row-numbers", action="store_true", help=what)
    what = (
        "add a column 'unfamiliar': 1 where the row is farther from the training rows than 99 %% of them"
    )
    parser.add_argument("--flag-unfamiliar", action="store_true", help=what)
    what = "put an apostrophe before cells of a text file that a spreadsheet takes for formulas"
    parser.add_argument("--escape-formulas", action="store_true", help=what)
    what = "rows per block, approximately (at most 100000)"
    parser.add_argument("--block-rows", type=int, metavar="N", help=what)
    what = "file to write: .csv, .tsv (also compressed) or .parquet; - is standard output, as CSV"
    add_shared(parser, "MODEL", "DATA", output=("FILE", what))


def run(options: argparse.Namespace) -> None:
    """Read, predict and write at the same time."""
    require_packages("predict", "pyarrow", "tqdm")
    from ffmlp.tables.writing import STANDARD_OUTPUT, Output
    from ffmlp.tabular.dates import with_dates
    from ffmlp.tabular.predictions import Added, output_columns, write_predictions

    to_stdout = options.output == STANDARD_OUTPUT
    _check(options, to_stdout)
    console = Console(options)
    model = read_model(options.model, "predict")
    table = open_table(options.data, dialect(options, model.dialect))
    id_column = _id_column(table, model, options.id)
    kept = _kept(table, id_column, options.keep)
    if options.flag_unfamiliar:
        require_familiar_space(model, options.model)
    added = Added(options.proba, options.row_numbers, KEPT if options.flag_unfamiliar else None)
    names = output_columns(model, kept, added)
    for name in kept:
        if names.count(name) > 1:
            raise ValueError(
                f"{table.path}: column {name!r} has the same name as a column of the output. Rename it, "
                "or do not keep it."
            )
    notes = column_notes(table, model, id_column)
    if id_column is None and model.id_column is not None:
        what = "predictions are written without an id"
        notes.append(f"{table.path} has no column {model.id_column!r}: {what}.")
    for note in notes:
        console.note(note)
    output = Output(options.output, options.force, options.escape_formulas)
    start = perf_counter()
    with console.progress(None, "row", "predicting") as update:
        written = write_predictions(
            model, with_dates(table, model.dates), output, kept=kept,
            added=added, n_rows=options.block_rows, on_block=update,
        )  # fmt: skip
    seconds = perf_counter() - start
    for unknown in written.unknown:
        notes.append(f"{table.path}, column {unknown}")
        console.note(notes[-1])
    if not to_stdout:
        flagged = f", {written.n_unfamiliar} unfamiliar" if options.flag_unfamiliar else ""
        console.say(f"{options.output}: {counted(written.n_rows, 'row')} in {seconds:.2f} s{flagged}")
    unfamiliar = {"unfamiliar": written.n_unfamiliar} if options.flag_unfamiliar else {}
    console.result(
        {"output": str(options.output), "rows": written.n_rows, **unfamiliar, "columns": names,
         "notes": notes, "seconds": seconds}
    )  # fmt: skip


def _check(options: argparse.Namespace, to_stdout: bool) -> None:
    check_numbers(options, 1, "block_rows", bits=31)
    if to_stdout and options.json:
        raise ValueError("--json and -o - both print to standard output. Use one of them.")
    if not to_stdout:
        file_type(options.output)  # an unknown one is an error
        check_output(options.output, options.force, options.model, options.data)


def require_familiar_space(model: Predictor | TableModel, path: Path) -> None:
    """Refuse a model that does not know where its training rows were."""
    if model.network.familiar is None:
        raise ValueError(
            f"{path} was fitted by an earlier version of ffmlp, which did not store where its training "
            "rows were. Fit it again."
        )


def read_model(path: Path, command: str) -> Predictor | TableModel:
    """The part of a model that predicts; the whole of one that needs scikit-learn to be read."""
    from ffmlp.tabular.predictor import read_predictor

    model = read_predictor(path)
    if model is not None:
        return model
    require_packages(command, "skops")
    from ffmlp.tabular.table_model import TableModel

    return TableModel.load(path)


def _id_column(table: DataTable, model: Interface, given: str | None) -> str | None:
    """The column to copy: the given one, else that of the model if the file has it."""
    if given is None:
        return model.id_column if model.id_column in table.columns else None
    if given in model.sources:
        raise ValueError(f"--id {given!r} is a feature of the model. Choose another column.")
    from ffmlp.tabular.columns import require_columns

    require_columns(table, [given], "--id")
    return given


def _kept(table: DataTable, id_column: str | None, given: list[str] | None) -> list[str]:
    """The columns to copy: the id and the given ones; all columns if none are named."""
    from ffmlp.tabular.columns import require_columns

    ids = [] if id_column is None else [id_column]
    if given is None:
        return ids
    require_columns(table, given, "--keep")
    return list(dict.fromkeys([*ids, *given] if given else filter(None, table.columns)))


def open_data(
    options: argparse.Namespace, model: Interface, console: Console, path: Path | None = None
) -> DataTable:
    """A data file, by default that of the options; how its columns differ from the model's is noted."""
    from ffmlp.tabular.dates import with_dates

    table = open_table(path or options.data, dialect(options, model.dialect))
    for note in column_notes(table, model, model.id_column):
        console.note(note)
    return with_dates(table, model.dates)


def column_notes(table: DataTable, model: Interface, id_column: str | None) -> list[str]:
    """How the columns of a file differ from those of a model; an error if some are missing."""
    from ffmlp.tabular.columns import similar

    names, sources = [name for name in table.columns if name], model.sources
    missing = [name for name in sources if name not in names]
    if missing:
        others = [name for name in names if name not in sources]
        pairs = [f"{meant!r} for {name!r}" for name in missing if (meant := similar(name, others))]
        hint = f" Did you mean {listed(pairs)}?" if pairs else ""
        has = listed(map(repr, names))
        raise ValueError(f"{table.path} lacks {_columns(missing)} of the model.{hint} It has {has}.")
    notes = []
    # All columns of the file that the model was fitted to; those that it left out are not worth a note.
    order = model.facts.get("order", sources)
    extra = [name for name in names if name not in (*sources, *order, id_column, model.target)]
    if extra:
        notes.append(f"{table.path}: the model does not use {_columns(extra)}.")
    before, now = ([name for name in those if name in sources] for those in (order, names))
    if before != now:
        notes.append(f"{table.path}: the columns are in another order; they are matched by name.")
    return notes


def _columns(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {listed(map(repr, names))}"
