"""What a model of a table takes and predicts: columns by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffmlp.inputs.columns import CategoryColumn
from ffmlp.storage.form import read, write
from ffmlp.storage.model_files import SavedNetwork, usable
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.dates import DateColumn
from ffmlp.tabular.table_columns import Features

# The columns and the dialect of a table, and their types.
_TABLE = {
    "numbers": tuple[str, ...], "categories": tuple[str, ...], "dates": tuple[DateColumn, ...],
    "target": str, "id_column": str | None, "missing": tuple[str, ...], "decimal": str,
}  # fmt: skip
# The facts that ``ffmlp fit`` stores, and their types.
_FACTS = {
    "file": str, "files": list, "rows": int, "classes": dict, "order": list, "unused": dict,
    "evaluation": dict | None, "fit_seconds": float, "row_hashes": list,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Interface(Features):
    """The columns of a model, and the dialect of the file that it was fitted to.

    ``facts`` are plain JSON values about the fit: file, rows, evaluation, seconds.
    """

    target: str
    id_column: str | None
    dialect: Dialect
    facts: dict[str, Any]

    def to_metadata(self) -> dict[str, Any]:
        """Plain JSON values to store with a model."""
        values = vars(self) | vars(self.dialect)
        return {"table": write({name: values[name] for name in _TABLE}), **self.facts}


def interface_of(saved: SavedNetwork, path: Path) -> Interface:
    """The columns of a model that ``ffmlp fit`` wrote, or `ffmlp.save` if it has column names.

    A ValueError says what is wrong with the model.
    """
    if saved.network.columns is None:
        raise _nameless(path)
    parts = saved.network.table.parts
    with usable(path):
        table = saved.metadata.get("table")
        if isinstance(table, dict) and table.keys() >= _TABLE.keys():
            interface = _from_metadata(saved.metadata)
            of_table = {name: name in interface.categories for name in interface.features}
            if of_table != {part.name: isinstance(part, CategoryColumn) for part in parts}:
                raise ValueError("the columns of the network are not those of the table")
            return interface
    if not saved.has_column_names:
        raise _nameless(path)
    facts = {"metadata": saved.metadata} if saved.metadata else {}
    numbers = tuple(part.name for part in parts if not isinstance(part, CategoryColumn))
    categories = tuple(part.name for part in parts if isinstance(part, CategoryColumn))
    return Interface(numbers, categories, "class", None, Dialect(), facts)


def _nameless(path: Path) -> ValueError:
    return ValueError(f"{path} has no feature names. Fit the model with ffmlp fit, or to a data frame.")


def _from_metadata(metadata: dict[str, Any]) -> Interface:
    """From what `Interface.to_metadata` returned; an error of any kind if they were changed."""
    table = {name: read(part, _TABLE.get(name), name) for name, part in metadata["table"].items()}
    facts = {name: read(part, _FACTS.get(name, Any), name) for name, part in metadata.items()}
    del facts["table"]
    dialect = Dialect(table.pop("missing"), table.pop("decimal"))
    return Interface(**table, dialect=dialect, facts=facts)
