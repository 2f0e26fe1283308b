"""What a model of a table takes and predicts: columns by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ffmlp.inputs.columns import CategoryColumn
from ffmlp.network.network import Network
from ffmlp.storage.checks import check_part
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.dates import DateColumn
from ffmlp.tabular.table_columns import Features

_KEYS = {"numbers", "categories", "target", "id", "missing", "decimal"}
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
        table: dict[str, Any] = {
            "numbers": list(self.numbers),
            "categories": list(self.categories),
            "target": self.target,
            "id": self.id_column,
            "missing": list(self.dialect.missing),
            "decimal": self.dialect.decimal,
            "dates": [[column.name, column.order, list(column.parts)] for column in self.dates],
        }
        return {"table": table, **self.facts}


def interface_of(metadata: dict[str, Any]) -> Interface | None:
    """From what `Interface.to_metadata` returned; None for other metadata.

    Raises an error of any kind if they were changed.
    """
    table = metadata.get("table")
    if not isinstance(table, dict) or not table.keys() >= _KEYS:
        return None
    interface = Interface(
        numbers=tuple(table["numbers"]),
        categories=tuple(table["categories"]),
        target=table["target"],
        id_column=table["id"],
        dialect=Dialect(tuple(table["missing"]), table["decimal"]),
        facts={name: value for name, value in metadata.items() if name != "table"},
        dates=tuple(
            DateColumn(name, order, tuple(parts)) for name, order, parts in table.get("dates", ())
        ),
    )
    check_part(interface, Interface, "table")
    for name in _FACTS.keys() & interface.facts.keys():
        check_part(interface.facts[name], _FACTS[name], name)
    return interface


def check_columns(interface: Interface, network: Network) -> None:
    """Raise a ValueError unless the columns of a table are those of the network that predicts it."""
    of_network = {part.name: isinstance(part, CategoryColumn) for part in network.table.parts}
    if of_network != {name: name in interface.categories for name in interface.features}:
        raise ValueError("the columns of the network are not those of the table")
