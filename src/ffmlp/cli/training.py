"""What all ways to fit a model share: the roles of columns, notes, and what is stored with a model."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import dialect
from ffmlp.tables.several import JoinedTable
from ffmlp.tables.tables import DataFile, DataTable
from ffmlp.words import counted

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.columns import Columns
    from ffmlp.tabular.table_model import TableModel

# Time and memory of a fit grow with the square of the features.
_MOST_COLUMNS, _MANY_COLUMNS = 5000, 2000


def left_out(table: DataTable, options: argparse.Namespace) -> list[str]:
    """The columns that are not features: target, id and ignored ones; an error if a role is wrong."""
    from ffmlp.tabular.columns import require_columns

    names = [options.target, *options.ignore]
    n_columns = len(table.columns) - len(names)
    if n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"{table.path} has {n_columns} columns beside the target, more than {_MOST_COLUMNS}. Time "
            "and memory grow with the square of their number. Select some, or reduce them, for example "
            "to principal components."
        )
    require_columns(table, [options.target], "--target")
    require_columns(table, options.ignore, "--ignore")
    require_columns(table, options.categorical, "--categorical")
    if options.id is not None:
        require_columns(table, [options.id], "--id")
        names.append(options.id)
    for name in names:
        if names.count(name) > 1 or name in options.categorical:
            roles = "target, id, ignored or categorical"
            raise ValueError(f"column {name!r} can have only one role: {roles}.")
    return names


def classifier(columns: Columns, options: argparse.Namespace) -> FFMLPClassifier:
    """The classifier that the options ask for."""
    from ffmlp.classifier import FFMLPClassifier

    chosen = ("n_components", "design", "max_neurons", "max_regions")
    parameters: Any = {name: getattr(options, name) for name in chosen}
    parameters["categorical_features"] = list(columns.categories)
    return FFMLPClassifier(**parameters, random_state=options.seed)


def in_order(table: DataTable, columns: Columns) -> list[str]:
    """The features in the order of the file, so that the classifier takes its columns as they are."""
    source = {part: dates.name for dates in columns.dates for part in dates.names}
    return sorted(columns.features, key=lambda name: table.columns.index(source.get(name, name)))


def notes_on_data(
    columns: Columns, labels: Sequence[int | str], n_dropped: int, target: str
) -> list[str]:
    """What a person would look at twice before the model is fitted."""
    from ffmlp.tabular.oddities import notes_on_labels

    notes = [f"{name} is not used: {reason}." for name, reason in columns.unused.items()]
    notes += [*columns.notes, *notes_on_labels(target, labels)]
    n_columns = len(columns.features)
    if n_columns > _MANY_COLUMNS:
        megabytes = 8 * n_columns**2 / 1e6  # a threshold of each column has a weight for every one
        notes.append(
            f"{counted(n_columns, 'column')}: time, memory and the model file grow with the square of "
            f"their number. The file may take {megabytes:.0f} MB, the fit ten times as much."
        )
    if n_dropped:
        notes.append(f"left out {counted(n_dropped, 'row')} without {target!r}.")
    return notes


def notes_on_fit(
    caught: list[warnings.WarningMessage], evaluation: dict[str, Any] | None, target: str
) -> list[str]:
    """What the classifier warns of, each once, and whether it is no better than a constant."""
    warned = [str(warning.message) for warning in caught if warning.category is UserWarning]
    if evaluation is not None and evaluation["accuracy"] <= evaluation["majority"]:
        warned.append(
            f"the model is no better than the majority class: accuracy {evaluation['accuracy']:.3f}, "
            f"majority class {evaluation['majority']:.3f}. The columns may say little about {target!r}."
        )
    return list(dict.fromkeys(warned))


def table_model(
    table: DataFile,
    columns: Columns,
    options: argparse.Namespace,
    model: FFMLPClassifier,
    *,
    classes: Mapping[int | str, int],
    evaluation: dict[str, Any] | None,
    seconds: float,
    row_hashes: list[int],
) -> TableModel:
    """A fitted classifier with its columns and the facts about its fit.

    ``classes`` are the number of rows of each class, in the order of the classes.
    """
    from ffmlp.tabular.table_model import TableModel

    one = not isinstance(table, JoinedTable)
    facts = {
        **({"file": table.path.name} if one else {"file": str(table.path), "files": table.names}),
        "rows": sum(classes.values()),
        "classes": {str(label): count for label, count in classes.items()},
        "order": list(table.columns),
        "unused": columns.unused,
        "evaluation": evaluation,
        "fit_seconds": seconds,
        "row_hashes": row_hashes,
    }
    names = columns.numbers, columns.categories, options.target, options.id
    return TableModel(*names, dialect(options), facts, model, dates=columns.dates)
