"""``ffmlp predict``: the class of each row of a file, block by block."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ffmlp.cli.cluster import check_scheduler, scheduler
from ffmlp.cli.console import (
    Console,
    add_shared,
    check_folder,
    check_numbers,
    check_output,
    dialect,
    require_packages,
)
from ffmlp.storage.whole_files import whole_folder
from ffmlp.tables.opening import JoinedTable, is_one_file, named_files, open_tables
from ffmlp.tables.tables import COMPRESSIONS, PARQUET, DataFile, DataTable, file_type
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    from ffmlp.tables.writing import Output
    from ffmlp.tabular.interface import Interface
    from ffmlp.tabular.predictions import Written
    from ffmlp.tabular.predictor import Predictor

HELP = "predict the class of each row of a table, however long"
EXAMPLE = "ffmlp predict iris.model new.csv -o out.csv --proba"
# The share of training rows that are familiar.
KEPT = 0.99


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--proba", action="store_true", help="add the probability of each class")
    parser.add_argument("--id", metavar="COLUMN", help="column to copy to the output (the id of fit)")
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
    what = "rows per block, approximately (at most 40000)"
    parser.add_argument("--block-rows", type=int, metavar="N", help=what)
    cluster = parser.add_argument_group("on a cluster (extra dask)")
    what = "read and predict on the Dask cluster of this scheduler, for example tcp://host:8786"
    cluster.add_argument("--scheduler", metavar="ADDRESS", help=what)
    what = (
        "file to write: .csv, .tsv (also compressed) or .parquet; - is standard output, as CSV; for "
        "several files, a folder"
    )
    add_shared(parser, "MODEL", "DATA", output=("FILE", what), several=True)


def run(options: argparse.Namespace) -> None:
    """Read, predict and write at the same time."""
    require_packages("predict", "pyarrow", "tqdm")
    _set_up_libraries()
    from ffmlp.tables.writing import STANDARD_OUTPUT
    from ffmlp.tabular.predictions import Added, output_columns, write_predictions
    from ffmlp.tabular.predictor import read_predictor

    to_stdout = options.output == STANDARD_OUTPUT
    to_folder = not is_one_file(options.data)
    on_cluster = options.scheduler is not None
    _check(options, to_stdout, to_folder)
    console = Console(options)
    model = read_predictor(options.model)
    table = open_tables(options.data, dialect(options, model.dialect))
    outputs = _outputs(table, options) if to_folder else []
    id_column = _id_column(table, model, options.id)
    kept = _kept(table, id_column, options.keep)
    if options.flag_unfamiliar:
        require_familiar_space(model, options.model)
    added = Added(options.proba, options.row_numbers, KEPT if options.flag_unfamiliar else None)
    names = output_columns(model, kept, added)
    _check_names(names, kept, table)
    notes = column_notes(table, model, id_column)
    if id_column is None and model.id_column is not None:
        what = "predictions are written without an id"
        notes.append(f"{table.path} has no column {model.id_column!r}: {what}.")
    for note in notes:
        console.note(note)
    start = perf_counter()
    with (
        scheduler(options.scheduler) if on_cluster else nullcontext(),
        console.progress(table.n_rows, "row", "predicting") as update,
        _files(table, outputs, options) as files,
    ):
        written = write_predictions(
            model, files, kept=kept, added=added, n_rows=options.block_rows, on_block=update,
            may_be_empty=to_folder, on_cluster=on_cluster,
        )  # fmt: skip
        if not written.n_rows:
            raise ValueError(f"{table.path} has no rows.")
    seconds = perf_counter() - start
    for unknown in written.unknown:
        notes.append(f"{table.path}, column {unknown}")
        console.note(notes[-1])
    if not to_stdout:
        console.say(_summary(options, written, outputs, seconds))
    in_folder = {"files": outputs} if to_folder else {}
    unfamiliar = {"unfamiliar": written.n_unfamiliar} if options.flag_unfamiliar else {}
    console.result(
        {"output": str(options.output), **in_folder, "rows": written.n_rows, **unfamiliar,
         "columns": names, "notes": notes, "seconds": seconds}
    )  # fmt: skip


def _set_up_libraries() -> None:
    """Limit threads and memory before NumPy and Arrow are imported.

    Each block of rows has a thread: further threads of matrix products would only wait for work. Arrow's
    default allocator takes more memory than the system's.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _summary(options: argparse.Namespace, written: Written, outputs: list[str], seconds: float) -> str:
    """Where the predictions are and how many; ``outputs`` are the files of a folder."""
    n_files = f" in {counted(len(outputs), 'file')}" if outputs else ""
    flagged = f", {written.n_unfamiliar} unfamiliar" if options.flag_unfamiliar else ""
    return f"{options.output}: {counted(written.n_rows, 'row')}{n_files} in {seconds:.2f} s{flagged}"


def _check(options: argparse.Namespace, to_stdout: bool, to_folder: bool) -> None:
    check_numbers(options, 1, "block_rows", bits=31)
    check_scheduler(options, options.data)
    if to_stdout and options.json:
        raise ValueError("--json and -o - both print to standard output. Use one of them.")
    if to_folder:
        named_files(options.data)  # before the output: a name may be taken for a pattern
        check_folder(options.output, options.force)
    elif not to_stdout:
        file_type(options.output)  # an unknown one is an error
        check_output(options.output, options.force, options.model, *options.data)


def _check_names(names: list[str], kept: list[str], table: DataFile) -> None:
    for name in kept:
        if names.count(name) > 1:
            raise ValueError(
                f"{table.path}: column {name!r} has the same name as a column of the output. Rename it, "
                "or do not keep it."
            )


@contextmanager
def _files(
    table: DataFile, outputs: list[str], options: argparse.Namespace
) -> Iterator[list[tuple[DataFile, Output]]]:
    """Each file and its output: one file, or the files of a folder that is kept if all are whole."""
    from ffmlp.tables.writing import STANDARD_OUTPUT, Output

    how = options.force, options.escape_formulas
    if not isinstance(table, JoinedTable):
        to_terminal = options.output == STANDARD_OUTPUT and sys.stdout.isatty()
        yield [(table, Output(options.output, *how, to_terminal))]
        return
    with whole_folder(options.output, options.force) as new:
        yield [(file, Output(new / name, *how)) for file, name in zip(table.files, outputs, strict=True)]


def _outputs(table: DataFile, options: argparse.Namespace) -> list[str]:
    """The name of the output of each file: the name of the file, with the ending of Parquet."""
    sources, folder = list(map(Path, table.names)), options.output
    for source in (*sources, options.model):
        if folder.resolve() in source.resolve().parents:
            raise ValueError(f"{folder} has {source}, an input of this command. Choose another folder.")
    owners: dict[str, Path] = {}
    for source in sources:
        suffixes = source.suffixes[-2:] if source.suffix.lower() in COMPRESSIONS else [source.suffix]
        name = source.name.removesuffix("".join(suffixes)) + PARQUET
        other = owners.setdefault(name, source)
        if other != source:
            raise ValueError(f"{other} and {source} would both become {folder / name}. Rename one.")
    return list(owners)


def require_familiar_space(model: Predictor, path: Path) -> None:
    """Refuse a model that does not know where its training rows were."""
    if model.network.familiar is None:
        raise ValueError(
            f"{path} does not store where its training rows were: it was merged, fitted like another "
            "model, or drawn in the playground. Fit it with ffmlp fit."
        )


def _id_column(table: DataTable, model: Interface, given: str | None) -> str | None:
    """The column to copy: the given column, else the id of the model if the file has it."""
    if given is None:
        return model.id_column if model.id_column in table.columns else None
    if given in model.sources:
        raise ValueError(f"--id {given!r} is a feature of the model. Choose another column.")
    from ffmlp.tabular.table_columns import require_columns

    require_columns(table, [given], "--id")
    return given


def _kept(table: DataTable, id_column: str | None, given: list[str] | None) -> list[str]:
    """The columns to copy: the id and the given ones; all columns if none are named."""
    from ffmlp.tabular.table_columns import require_columns

    ids = [] if id_column is None else [id_column]
    if given is None:
        return ids
    require_columns(table, given, "--keep")
    return list(dict.fromkeys([*ids, *given] if given else filter(None, table.columns)))


def open_data(
    options: argparse.Namespace, model: Interface, console: Console, *given: Path
) -> DataTable:
    """Data files as a model reads them; how their columns differ from the model's is noted."""
    from ffmlp.tabular.dates import with_dates

    table = open_tables(given, dialect(options, model.dialect))
    for note in column_notes(table, model, model.id_column):
        console.note(note)
    return with_dates(table, model.dates)


def column_notes(table: DataTable, model: Interface, id_column: str | None) -> list[str]:
    """Notes on columns that differ from the columns of a model; an error if some are missing."""
    from ffmlp.tabular.table_columns import similar

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
