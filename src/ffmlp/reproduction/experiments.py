"""The paper's experiments, repeated.

A *row* is one line of the paper's tables (`ffmlp.reproduction.paper`). Running a row gives `Run`
records, one for each method and split. `reproduce` writes one CSV file for each finished row, so that an
interrupted run can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ffmlp import datasets
from ffmlp.backprop import BackpropClassifier
from ffmlp.benchmark.peers import MODELS
from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.reports.records import claim, read_records, write_records
from ffmlp.reproduction.paper import Row
from ffmlp.reproduction.robust_accuracy import RADII, attacked_accuracy, proved_accuracy

N_EPOCHS = 50
FEW_EPOCHS = 15
PEERS = {name: MODELS[name] for name in ("lda", "svm", "forest", "boosting", "mlp")}


# Training and test set of a split.
Parts = tuple[Dataset, Dataset]


@dataclass(frozen=True)
class Settings:
    """Seed, numbers of splits, limits and sweeps of the experiments."""

    seed: int = 0
    n_splits: int = 20
    n_trained_splits: int = 5
    optimal_seconds: float = 60.0
    sweep_components: tuple[int, ...] = (2, 3, 4)
    pima_path: str | None = None

    @classmethod
    def quick(cls, seed: int = 0, pima_path: str | None = None) -> Settings:
        """The least that fills every table and figure."""
        return cls(seed, 3, 1, 5.0, (2,), pima_path)


@dataclass(frozen=True)
class Run:
    """One method on one split of one row. Fields that do not apply are empty.

    ``setting`` identifies a run of a sweep. ``reached`` is the training time until backpropagation first
    reaches the test accuracy of the designed network; it is empty if it never does.
    """

    row: str
    method: str
    split: int
    setting: str = ""
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    seconds: float | None = None
    gmm: float | None = None
    boundaries: float | None = None
    regions: float | None = None
    classes: float | None = None
    d_in: int | None = None
    d_1: int | None = None
    d_2: int | None = None
    d_out: int | None = None
    reached: float | None = None
    proved_minimum: int | None = None


def split_of(row: Row, settings: Settings, split: int) -> Parts:
    """Training and test set with standardised features; synthetic sets are sampled for each split."""
    seed = settings.seed + split
    dataset = datasets.load(row.dataset, random_state=seed, pima_path=settings.pima_path)
    train, test = dataset.split(seed)
    scaler = StandardScaler().fit(train.X)
    return replace(train, X=scaler.transform(train.X)), replace(test, X=scaler.transform(test.X))


def design(row: Row, train: Dataset, seed: int, **changes: Any) -> FFMLPClassifier:
    """The designed network of a row; ``changes`` replace parameters of the paper."""
    parameters = {"n_components": row.n_components, "error_threshold": row.error_threshold, **changes}
    clf = FFMLPClassifier(**parameters, design="region", random_state=seed)
    return clf.fit(train.X, train.y, blobs=None if "n_components" in changes else train.blobs)


def run_row(row: Row, settings: Settings) -> Iterator[Run]:
    """All runs of one row: the paper's methods, other classifiers, and the open questions."""
    for split in range(settings.n_splits):
        parts = train, _ = split_of(row, settings, split)
        seed = settings.seed + split
        start = perf_counter()
        clf = design(row, train, seed)
        yield _designed_run(row, "ff", split, clf, parts, seconds=perf_counter() - start)
        other = design(row, train, seed, discriminant="heteroscedastic")
        yield _designed_run(row, "ff_heteroscedastic", split, other, parts)
        for name, make in PEERS.items():
            start = perf_counter()
            peer = make(seed).fit(train.X, train.y)
            yield _run(row, name, split, peer, parts, seconds=perf_counter() - start)
        if split < settings.n_trained_splits:
            yield from _trained_runs(row, split, clf, parts, seed)
    yield from _optimal_runs(row, settings)
    yield from _sweep_runs(row, settings)


def _run(row: Row, method: str, split: int, model: Any, parts: Parts, **fields: Any) -> Run:
    """The run of a fitted model, with its accuracies on the training and the test set."""
    train, test = (model.score(part.X, part.y) for part in parts)
    return Run(row.key, method, split, train_accuracy=train, test_accuracy=test, **fields)


def _designed_run(
    row: Row, method: str, split: int, clf: FFMLPClassifier, parts: Parts, **fields: Any
) -> Run:
    sizes = dict(zip(("d_in", "d_1", "d_2", "d_out"), clf.network_.layer_sizes, strict=True))
    fields |= {**clf.timings_, **sizes, "proved_minimum": clf.pruning_path_.proved_minimum}
    return _run(row, method, split, clf, parts, **fields)


def _trained_run(
    row: Row, method: str, split: int, bp: BackpropClassifier, epoch: int, **fields: Any
) -> Run:
    """The run of a trained network, with its accuracies after an epoch."""
    train, test = bp.history_.train_accuracy[epoch], bp.history_.test_accuracy[epoch]
    fields |= {"train_accuracy": float(train), "test_accuracy": float(test)}
    return Run(row.key, method, split, **fields)


def _trained_runs(row: Row, split: int, clf: FFMLPClassifier, parts: Parts, seed: int) -> Iterator[Run]:
    """BP-MLP of the same architecture, and the robust accuracy of both networks.

    The results after 15 epochs come from the run of 50 epochs.
    """
    train, test = parts
    target = clf.score(test.X, test.y)
    yield from _robust_runs(row, "robust_ff", split, proved_accuracy(clf, test))
    yield from _robust_runs(row, "robust_ff_attacked", split, attacked_accuracy(clf, test))
    for start in ("ff", "random"):
        bp = trained(clf, start, train, test, seed)
        yield from _robust_runs(row, f"robust_bp_{start}", split, attacked_accuracy(bp, test))
        for n_epochs in (N_EPOCHS, FEW_EPOCHS):
            seconds = bp.history_.seconds[: n_epochs + 1].tolist()
            reached = compress(seconds, bp.history_.test_accuracy >= target)
            times = {"seconds": seconds[-1], "reached": next(reached, None)}
            yield _trained_run(row, f"bp_{start}_{n_epochs}", split, bp, n_epochs, **times)


def _robust_runs(row: Row, method: str, split: int, accuracies: NDArray) -> Iterator[Run]:
    """One run for each radius."""
    for radius, accuracy in zip(RADII, accuracies, strict=True):
        yield Run(row.key, method, split, f"radius={radius:g}", test_accuracy=float(accuracy))


def trained(
    clf: FFMLPClassifier, start: str, train: Dataset, test: Dataset, seed: int
) -> BackpropClassifier:
    """Backpropagation from the designed network ("ff") or from random weights ("random")."""
    network = clf.network_ if start == "ff" else None
    options: Any = {"initial_network": network, "n_epochs": N_EPOCHS, "random_state": seed}
    bp = BackpropClassifier(clf.network_.layer_sizes[1:3], **options)
    return bp.fit(train.X, train.y, test.X, test.y)


def _optimal_runs(row: Row, settings: Settings) -> Iterator[Run]:
    """Is greedy pruning optimal? The proved minimum on the first split of the rows with pruning."""
    if row.error_threshold is None:
        return
    parts = train, _ = split_of(row, settings, 0)
    start = perf_counter()
    clf = design(row, train, settings.seed, pruning="optimal", time_limit=settings.optimal_seconds)
    yield _designed_run(row, "ff_optimal", 0, clf, parts, seconds=perf_counter() - start)


def _sweep_runs(row: Row, settings: Settings) -> Iterator[Run]:
    """Does backpropagation help larger networks? A sweep of components and thresholds."""
    parts = train, test = split_of(row, settings, 0)
    for n_components in settings.sweep_components:
        for threshold in (0.05, 0.01, None):
            clf = design(row, train, settings.seed, n_components=n_components, error_threshold=threshold)
            setting = f"k={n_components}, threshold={threshold}"
            yield _designed_run(row, "sweep_ff", 0, clf, parts, setting=setting)
            bp = trained(clf, "ff", train, test, settings.seed)
            yield _trained_run(row, "sweep_bp_ff", 0, bp, N_EPOCHS, setting=setting)


def n_runs(row: Row, settings: Settings) -> int:
    """The number of runs that `run_row` makes, for a progress bar."""
    return (
        settings.n_splits * (2 + len(PEERS))
        + (4 + 4 * len(RADII)) * settings.n_trained_splits
        + (row.error_threshold is not None)
        + 6 * len(settings.sweep_components)
    )


def reproduce(
    rows: list[Row], settings: Settings, folder: Path, on_run: Callable[[Run], None]
) -> tuple[list[Run], dict[str, str]]:
    """Run the rows that the folder does not have yet; return all runs, and why rows are missing."""
    claim(folder, settings)
    (folder / "runs").mkdir(exist_ok=True)
    missing = {}
    for row in rows:
        path = folder / "runs" / f"{row.key}.csv"
        if path.exists():
            continue
        runs = []
        try:
            for run in run_row(row, settings):
                runs.append(run)
                on_run(run)
        except datasets.DatasetUnavailableError as error:
            missing[row.key] = str(error)
            continue
        write_records(path, runs, Run)
    runs = [
        run
        for row in rows
        if row.key not in missing
        for run in read_records(folder / "runs" / f"{row.key}.csv", Run)
    ]
    write_records(folder / "runs.csv", runs, Run)
    return runs, missing
