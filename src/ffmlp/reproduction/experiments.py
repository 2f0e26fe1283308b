"""The paper's experiments, repeated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ffmlp import datasets
from ffmlp.arrays import Floats
from ffmlp.backprop import BackpropClassifier, History
from ffmlp.benchmark.peers import MODELS
from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.design.designs import design_network
from ffmlp.design.problem import Progress
from ffmlp.parameters import training_intake
from ffmlp.report.records import claim, read_records, write_records
from ffmlp.reproduction.reported import Row
from ffmlp.robustness.attacks import pgd, random_search

# Euclidean distances in standard deviations of the features.
RADII = (0.0, 0.05, 0.1, 0.2, 0.4)
# Attacks are slow: only the first test samples are used.
MAX_SAMPLES = 300


def proved_accuracy(clf: FFMLPClassifier, test: Dataset) -> Floats:
    """Exact robust accuracy at each of `RADII`, from the distances to another class."""
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = clf.predict(X) == y
    distance = clf.robustness(X).distance
    return np.array([np.mean(right & (distance > radius)) for radius in RADII])


def attacked_accuracy(
    model: FFMLPClassifier | BackpropClassifier, test: Dataset, radii: tuple[float, ...] = RADII
) -> Floats:
    """Accuracy under attack at each radius: an upper bound of the robust accuracy.

    The attacks are PGD and random search. Where the neurons of a network are silent, PGD has no gradient
    to follow.
    """
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = model.predict(X) == y
    accuracies = []
    for radius in radii:
        for attack in (partial(pgd, n_steps=20, n_restarts=2), random_search):
            # An attack that succeeded at a smaller radius succeeds at this one, too.
            if radius > 0 and right.any():
                right[right] = ~attack(model, X[right], radius).succeeded
        accuracies.append(np.mean(right))
    return np.array(accuracies)


N_EPOCHS = 50
FEW_EPOCHS = 15
# A fall of the accuracy from one epoch to the next that counts as a drop.
DROP = 0.05
PEERS = {name: MODELS[name] for name in ("lda", "svm", "forest", "boosting", "mlp")}

# The designed networks of a row, by the parameters in which they differ from our region design.
DESIGNED: dict[str, dict[str, Any]] = {
    "literal": {"design": "paper"},
    "ff": {},
    "ff_heteroscedastic": {"discriminant": "heteroscedastic"},
}
# From the paper to the letter to our region design, one deviation after the other. With shrunk
# covariances, too, it is our region design.
DEVIATIONS: dict[str, dict[str, Any]] = {
    "literal_nearest": {"design": "region"},
    "literal_closed_form": {"design": "region", "discriminant": "lda"},
}

# Training and test set of a split.
Parts = tuple[Dataset, Dataset]


@dataclass(frozen=True)
class Settings:
    """Seed, numbers of splits and starts, limits and sweeps of the experiments."""

    seed: int = 0
    n_splits: int = 20
    n_starts: int = 5
    n_robust_splits: int = 5
    n_sweep_splits: int = 3
    sweep_components: tuple[int, ...] = (2, 3, 4)
    optimal_seconds: float = 60.0
    pima_path: str | None = None

    @classmethod
    def quick(cls, seed: int = 0, pima_path: str | None = None) -> Settings:
        """The least that gives a verdict on every claim."""
        few = {"n_splits": 6, "n_starts": 2, "n_robust_splits": 1, "n_sweep_splits": 1}
        return cls(seed, **few, sweep_components=(4,), pima_path=pima_path)


@dataclass(frozen=True)
class Run:
    """One method on one split of one row. Fields that do not apply are empty.

    ``start`` numbers random starts and ``setting`` identifies a run of a sweep. ``silent`` is the share
    of test samples to which no neuron of l_2 of the bare network responds. ``seconds`` and the four
    steps of the design are times. The other fields are of trainings. ``start_train_accuracy`` and
    ``start_test_accuracy`` belong to the bare network at epoch 0. ``reached`` is the first epoch with
    the test accuracy of our designed network. Drops are epochs that lower an accuracy by five points or
    more: ``batch_drops`` count the training accuracy averaged over batches, ``train_drops`` the
    training accuracy at the end of an epoch.
    """

    row: str
    method: str
    split: int
    start: int | None = None
    setting: str = ""
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    start_train_accuracy: float | None = None
    start_test_accuracy: float | None = None
    silent: float | None = None
    n_blobs: int | None = None
    d_in: int | None = None
    d_1: int | None = None
    d_2: int | None = None
    d_out: int | None = None
    proved_minimum: int | None = None
    reached: int | None = None
    batch_drops: int | None = None
    train_drops: int | None = None
    test_drops: int | None = None
    seconds: float | None = None
    gmm: float | None = None
    boundaries: float | None = None
    regions: float | None = None
    classes: float | None = None


def split_of(row: Row, settings: Settings, split: int) -> Parts:
    """Training and test set with standardised features; synthetic sets are sampled for each split."""
    seed = settings.seed + split
    dataset = datasets.load(row.dataset, random_state=seed, pima_path=settings.pima_path)
    train, test = dataset.split(seed)
    scaler = StandardScaler().fit(train.X)
    return replace(train, X=scaler.transform(train.X)), replace(test, X=scaler.transform(test.X))


def design(row: Row, train: Dataset, seed: int, **changes: Any) -> FFMLPClassifier:
    """The designed network of a row; ``changes`` replace parameters of our region design."""
    parameters = {"n_components": row.n_components, "error_threshold": row.error_threshold}
    clf = FFMLPClassifier(**{**parameters, "design": "region", **changes}, random_state=seed)
    return clf.fit(train.X, train.y, blobs=None if "n_components" in changes else train.blobs)


def trained(
    clf: FFMLPClassifier,
    start: str,
    train: Dataset,
    test: Dataset,
    seed: int,
    *,
    sizes: tuple[int, int] | None = None,
    n_epochs: int | None = None,
) -> BackpropClassifier:
    """Backpropagation from the designed network ("design") or from random weights ("random").

    A random network has the neurons of the designed one, or ``sizes``. Without epochs, the result is the
    bare network.
    """
    network = clf.network_ if start == "design" else None
    n_epochs = N_EPOCHS if n_epochs is None else n_epochs
    options: Any = {"initial_network": network, "n_epochs": n_epochs, "random_state": seed}
    bp = BackpropClassifier(sizes or clf.network_.layer_sizes[1:3], **options)
    return bp.fit(train.X, train.y, test.X, test.y)


def run_split(row: Row, settings: Settings, split: int) -> Iterator[Run]:
    """All runs of one split: the paper's methods, other classifiers, and the open questions."""
    parts = train, _ = split_of(row, settings, split)
    seed = settings.seed + split
    design(row, train, seed)  # not timed: the first fit of a process is slower
    designed = {}
    for method, changes in DESIGNED.items():
        start = perf_counter()
        clf = designed[method] = design(row, train, seed, **changes)
        yield _designed_run(row, method, split, clf, parts, seconds=perf_counter() - start)
    yield from _deviation_runs(row, split, designed["literal"], parts, seed)
    for name, make in {"majority": lambda _: DummyClassifier(), **PEERS}.items():
        start = perf_counter()
        peer = make(seed).fit(train.X, train.y)
        yield _run(row, name, split, peer, parts, seconds=perf_counter() - start)
    yield from _trained_runs(row, settings, split, designed, parts)
    if split == 0:
        yield from _optimal_runs(row, settings, parts)
    if split < settings.n_robust_splits:
        yield from _robust_runs(row, split, designed["ff"], parts, seed)
    if split < settings.n_sweep_splits:
        yield from _sweep_runs(row, settings, split, parts)


def _run(row: Row, method: str, split: int, model: Any, parts: Parts, **fields: Any) -> Run:
    """The run of a fitted model, with its accuracies on the training and the test set."""
    train, test = (model.score(part.X, part.y) for part in parts)
    return Run(row.key, method, split, train_accuracy=train, test_accuracy=test, **fields)


def _designed_run(
    row: Row, method: str, split: int, clf: FFMLPClassifier, parts: Parts, **fields: Any
) -> Run:
    sizes = dict(zip(("d_in", "d_1", "d_2", "d_out"), clf.network_.layer_sizes, strict=True))
    _, l_2, _ = clf.network_.responses(parts[1].X)
    fields |= {**clf.timings_, **sizes, "n_blobs": len(clf.blobs_)}
    fields |= {"silent": float(np.mean(~l_2.any(axis=1)))}
    return _run(row, method, split, clf, parts, **fields)


def _deviation_runs(
    row: Row, split: int, literal: FFMLPClassifier, parts: Parts, seed: int
) -> Iterator[Run]:
    """What does each deviation from the paper's letter change?"""
    data = parts[0]
    samples, _ = training_intake(FFMLPClassifier(), data.X, data.y, None, data.blobs)
    for method, changes in DEVIATIONS.items():
        plan = replace(literal.selection_.plan, **changes)
        network = design_network(samples, plan, check_random_state(seed), Progress()).network
        train, test = (float(np.mean(network.labels[network.classes(p.X)] == p.y)) for p in parts)
        yield Run(row.key, method, split, train_accuracy=train, test_accuracy=test)


def _trained_runs(
    row: Row, settings: Settings, split: int, designed: dict[str, FFMLPClassifier], parts: Parts
) -> Iterator[Run]:
    """BP-MLP: from the designs, and from random weights with our numbers of neurons and the paper's."""
    train, test = parts
    target = designed["ff"].score(test.X, test.y)
    for method in ("literal", "ff"):
        bp = trained(designed[method], "design", train, test, settings.seed + split)
        yield _trained_run(row, f"bp_{method}_{N_EPOCHS}", split, bp.history_, N_EPOCHS)
    for start in range(settings.n_starts):
        seed = settings.seed + split + 1000 * start
        bp = trained(designed["ff"], "random", train, test, seed)
        first = compress(range(N_EPOCHS + 1), bp.history_.test_accuracy >= target)
        reached = next(first, None)
        for n_epochs in (N_EPOCHS, FEW_EPOCHS):
            fields = {"start": start, "reached": reached if n_epochs == N_EPOCHS else None}
            yield _trained_run(row, f"bp_random_{n_epochs}", split, bp.history_, n_epochs, **fields)
        if row.reported_sizes:
            if row.reported_sizes != designed["ff"].network_.layer_sizes[1:3]:  # else it is the same run
                bp = trained(designed["ff"], "random", train, test, seed, sizes=row.reported_sizes)
            method = f"bp_paper_sizes_{N_EPOCHS}"
            yield _trained_run(row, method, split, bp.history_, N_EPOCHS, start=start)


def _trained_run(row: Row, method: str, split: int, history: History, epoch: int, **fields: Any) -> Run:
    """The run of a trained network, with its accuracies after an epoch."""
    curves = {"batch": history.batch_accuracy, "train": history.train_accuracy}
    curves["test"] = history.test_accuracy
    for part in ("train", "test"):
        fields[f"start_{part}_accuracy"] = float(curves[part][0])
        fields[f"{part}_accuracy"] = float(curves[part][epoch])
    for part, curve in curves.items():
        fields[f"{part}_drops"] = n_drops(curve[: epoch + 1])
    return Run(row.key, method, split, seconds=float(history.seconds[epoch]), **fields)


def n_drops(accuracy: Floats) -> int:
    """The number of epochs that lower an accuracy by at least `DROP`."""
    # The accuracies are shares of samples: rounding must not decide.
    return int(np.count_nonzero(np.diff(accuracy) <= -DROP + 1e-9))


def _robust_runs(row: Row, split: int, clf: FFMLPClassifier, parts: Parts, seed: int) -> Iterator[Run]:
    """Is FF-MLP vulnerable to adversarial attacks? Robust accuracies at each radius."""
    train, test = parts
    accuracies: dict[str, NDArray] = {"robust_ff": proved_accuracy(clf, test)}
    accuracies["robust_ff_attacked"] = attacked_accuracy(clf, test)
    bare = trained(clf, "design", train, test, seed, n_epochs=0)
    accuracies["robust_ff_bare"] = attacked_accuracy(bare, test)
    for start, name in (("design", "ff"), ("random", "random")):
        bp = trained(clf, start, train, test, seed)
        accuracies[f"robust_bp_{name}"] = attacked_accuracy(bp, test)
    for method, at_radii in accuracies.items():
        for radius, accuracy in zip(RADII, at_radii.tolist(), strict=True):
            yield Run(row.key, method, split, setting=f"radius={radius:g}", test_accuracy=accuracy)


def _optimal_runs(row: Row, settings: Settings, parts: Parts) -> Iterator[Run]:
    """Is greedy pruning optimal? The proved minimum of the rows with pruning."""
    if row.error_threshold is None:
        return
    start = perf_counter()
    limit = settings.optimal_seconds
    clf = design(row, parts[0], settings.seed, pruning="optimal", time_limit=limit)
    fields = {"seconds": perf_counter() - start, "proved_minimum": clf.pruning_path_.proved_minimum}
    yield _designed_run(row, "ff_optimal", 0, clf, parts, **fields)


def _sweep_runs(row: Row, settings: Settings, split: int, parts: Parts) -> Iterator[Run]:
    """Does backpropagation help larger networks? A sweep of components and thresholds."""
    train, test = parts
    seed = settings.seed + split
    for n_components in settings.sweep_components:
        for threshold in (0.05, 0.01, None):
            clf = design(row, train, seed, n_components=n_components, error_threshold=threshold)
            setting = f"k={n_components}, threshold={threshold}"
            yield _designed_run(row, "sweep_ff", split, clf, parts, setting=setting)
            history = trained(clf, "design", train, test, seed).history_
            yield _trained_run(row, "sweep_bp_ff", split, history, N_EPOCHS, setting=setting)


def available(rows: Sequence[Row], settings: Settings) -> tuple[list[Row], dict[str, str]]:
    """The rows whose data sets are available, and why the others are not."""
    missing = {}
    for row in rows:
        try:
            datasets.load(row.dataset, pima_path=settings.pima_path)
        except datasets.DatasetUnavailableError as error:
            missing[row.key] = str(error)
    return [row for row in rows if row.key not in missing], missing


def run_part(row: Row, settings: Settings, split: int, path: Path) -> None:
    """Run one split of a row and write its runs."""
    with threadpool_limits(1), warnings.catch_warnings():
        # A network that stops at its iteration limit is part of the comparison.
        warnings.simplefilter("ignore", ConvergenceWarning)
        write_records(path, list(run_split(row, settings, split)), Run)


def open_parts(rows: Sequence[Row], settings: Settings, folder: Path) -> list[Callable[[], None]]:
    """Calls, in any order and by any process, that make the files which the folder does not have yet."""
    claim(folder, settings)
    (folder / "runs").mkdir(exist_ok=True)
    return [
        partial(run_part, row, settings, split, path)
        for row, split, path in _parts(rows, settings, folder)
        if not path.exists()
    ]


def collected(rows: Sequence[Row], settings: Settings, folder: Path) -> list[Run]:
    """All runs of the folder, which are also written to ``runs.csv``."""
    files = (path for _, _, path in _parts(rows, settings, folder))
    runs = [run for path in files for run in read_records(path, Run)]
    write_records(folder / "runs.csv", runs, Run)
    return runs


def _parts(rows: Sequence[Row], settings: Settings, folder: Path) -> Iterator[tuple[Row, int, Path]]:
    for row in rows:
        for split in range(settings.n_splits):
            yield row, split, folder / "runs" / f"{row.key}-{split:02}.csv"
