"""What the paper reports: the settings, accuracies, sizes and times of its Tables I to III."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Row:
    """One setting of the paper, and the accuracies in % (train, test) that it reports."""

    key: str
    title: str
    dataset: str
    n_components: int | Mapping[int, int]
    error_threshold: float | None
    reported: Mapping[str, tuple[float, float]]
    reported_seconds: Mapping[str, float]
    reported_sizes: tuple[int, int] | None = None


def _accuracies(methods: tuple[str, ...], *values: float) -> dict[str, tuple[float, float]]:
    return dict(zip(methods, zip(values[::2], values[1::2], strict=True), strict=True))


_table_1 = partial(_accuracies, ("ff", "bp_ff_50", "bp_random_50", "bp_random_15"))
_table_2 = partial(_accuracies, ("ff", "bp_random_50", "bp_random_15"))


def _seconds(*values: float) -> dict[str, float]:
    names = ("gmm", "boundaries", "regions", "classes", "total", "bp_random_15", "bp_random_50")
    return dict(zip(names, values, strict=True))


ROWS = (
    Row(
        "xor", "XOR", "xor", 2, 0.05,
        _table_1(100.0, 99.83, 100.0, 99.83, 99.83, 99.42, 93.20, 92.90),
        _seconds(0, 0.01756, 0.00093, 0.00007, 0.01855, 2.88595, 8.50156), (4, 4),
    ),
    Row(
        "three_blobs", "3-Gaussian-blobs", "three_blobs", 1, None,
        _table_1(99.67, 99.33, 99.67, 99.33, 99.68, 99.38, 99.48, 99.17),
        _seconds(0, 0.01119, 0.00126, 0.00008, 0.01253, 2.78903, 8.26536), (6, 6),
    ),
    Row(
        "nine_blobs_0.1", "9-Gaussian-blobs (0.1)", "nine_blobs", 1, 0.1,
        _table_1(89.11, 88.58, 70.89, 71.08, 84.68, 85.75, 78.71, 78.33),
        _seconds(0, 0.22982, 0.00698, 0.00066, 0.23746, 2.77764, 8.34885),
    ),
    Row(
        "nine_blobs_0.3", "9-Gaussian-blobs (0.3)", "nine_blobs", 1, 0.3,
        _table_1(88.11, 88.83, 88.06, 88.58, 81.62, 81.35, 61.71, 61.12),
        _seconds(0, 2.11159, 0.00156, 0.00010, 2.11325, 2.79140, 8.51242), (8, 9),
    ),
    Row(
        "circle_and_ring_4", "circle-and-ring (4)", "circle_and_ring", {0: 4, 1: 1}, 0.1,
        _table_1(88.83, 87.25, 89.00, 86.50, 81.93, 82.80, 70.57, 71.25),
        _seconds(0.02012, 0.01202, 0.00056, 0.00006, 0.03277, 1.50861, 3.79068),
    ),
    Row(
        "circle_and_ring_16", "circle-and-ring (16)", "circle_and_ring", {0: 16, 1: 1}, 0.1,
        _table_1(83.17, 80.50, 85.67, 88.00, 86.20, 85.05, 66.20, 65.30),
        _seconds(0.04232, 0.05182, 0.00205, 0.00020, 0.09640, 1.43951, 3.80061),
    ),
    Row(
        "two_moons", "2-new-moons", "two_moons", 2, 0.1,
        _table_1(88.17, 91.25, 88.17, 91.25, 83.97, 87.60, 82.10, 86.60),
        _seconds(0.01835, 0.01111, 0.00053, 0.00006, 0.03006, 1.44454, 3.64791),
    ),
    Row(
        "four_moons", "4-new-moons", "four_moons", 3, 0.05,
        _table_1(95.75, 95.38, 87.50, 87.00, 86.90, 84.00, 85.00, 82.37),
        _seconds(0.03712, 11.17161, 0.00206, 0.00021, 11.21100, 1.98338, 5.71387), (18, 28),
    ),
    Row(
        "iris", "Iris", "iris", 2, 0.05,
        _table_2(96.67, 98.33, 65.33, 64.67, 47.11, 48.33),
        _seconds(0.02112, 0.02632, 0.00011, 0.00002, 0.04757, 0.73724, 1.60543), (4, 3),
    ),
    Row(
        "wine", "Wine", "wine", 2, 0.05,
        _table_2(97.17, 94.44, 85.66, 79.72, 64.34, 61.39),
        _seconds(0.01238, 0.03551, 0.00015, 0.00003, 0.04807, 0.81173, 1.72276), (6, 6),
    ),
    Row(
        "breast_cancer", "B.C.W.", "breast_cancer", 2, 0.05,
        _table_2(96.77, 94.30, 95.89, 97.02, 89.79, 91.49),
        _seconds(0.01701, 0.03375, 0.00026, 0.00003, 0.05106, 1.08800, 2.73232), (2, 2),
    ),
    Row(
        "pima", "Pima", "pima", 4, 0.1,
        _table_2(91.06, 73.89, 80.34, 75.54, 77.02, 73.76),
        _seconds(0.03365, 0.16127, 0.00074, 0.00039, 0.19604, 0.96707, 2.32731), (18, 88),
    ),
)  # fmt: skip

ROWS_BY_KEY = {row.key: row for row in ROWS}
