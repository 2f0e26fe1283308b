"""What a model of a data file takes in and gives: columns by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ffmlp.files.tables import NUMBER, TEXT, Dialect

_KEYS = {"numbers", "categories", "target", "id", "missing", "decimal"}


@dataclass(frozen=True, eq=False)
class Interface:
    """The columns of a model, and how the file that it was made from is written.

    ``facts`` is what else is known about it, as plain JSON values: file, rows, evaluation, seconds.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    target: str
    id_column: str | None
    dialect: Dialect
    facts: dict[str, Any]

    @classmethod
    def of_metadata(cls, metadata: dict[str, Any]) -> Interface | None:
        """What `to_metadata` gave; None if these are other metadata."""
        table = metadata.get("table")
        if not isinstance(table, dict) or not table.keys() >= _KEYS:
            return None
        facts = {name: value for name, value in metadata.items() if name != "table"}
        dialect = Dialect(tuple(table["missing"]), table["decimal"])
        columns = tuple(table["numbers"]), tuple(table["categories"])
        return Interface(*columns, table["target"], table["id"], dialect, facts)

    def to_metadata(self) -> dict[str, Any]:
        """Plain JSON values to keep beside a model."""
        table = {
            "numbers": list(self.numbers),
            "categories": list(self.categories),
            "target": self.target,
            "id": self.id_column,
            "missing": list(self.dialect.missing),
            "decimal": self.dialect.decimal,
        }
        return {"table": table, **self.facts}

    @property
    def columns(self) -> list[str]:
        """The names of the features, numbers first."""
        return [*self.numbers, *self.categories]

    @property
    def kinds(self) -> dict[str, str]:
        """How the features are to be read."""
        return dict.fromkeys(self.numbers, NUMBER) | dict.fromkeys(self.categories, TEXT)
