"""Runs as the experiments make them, with accuracies of our choice."""

from dataclasses import replace

from ffmlp.reproduction.experiments import DEVIATIONS, PEERS, Run

TIMES = {"gmm": 0.001, "boundaries": 0.002, "regions": 0.0001, "classes": 0.0001}
SIZES = {"d_in": 4, "d_1": 4, "d_2": 3, "d_out": 3, "n_blobs": 6}


def runs_of(row, start=None, **accuracies):
    """Runs with these test accuracies in %, split by split."""
    return [
        Run(row, method, split, start, train_accuracy=0.9, test_accuracy=accuracy / 100)
        for method, values in accuracies.items()
        for split, accuracy in enumerate(values)
    ]


def all_runs(row="iris", n_splits=3):
    """All runs of a row; FF-MLP has a test accuracy of 0.95, 0.96, … by split."""
    runs = []
    for split in range(n_splits):
        own = {"train_accuracy": 0.99, "test_accuracy": 0.95 + 0.01 * split}
        designed = {**own, **TIMES, **SIZES, "seconds": 0.004, "silent": 0.1, "proved_minimum": 2}
        for method in ("literal", "ff", "ff_heteroscedastic", "ff_optimal"):
            runs.append(Run(row, method, split, **designed))
        runs += [Run(row, method, split, **own) for method in DEVIATIONS]
        runs += [Run(row, m, split, None, "", 0.35, 0.3, seconds=0.1) for m in ("majority", *PEERS)]
        drops = {"batch_drops": 0, "train_drops": 4, "test_drops": 5}
        begin = {"start_train_accuracy": 0.98, "start_test_accuracy": 0.94}
        trained = Run(row, "bp_ff_50", split, **own, **begin, **drops, seconds=0.5)
        runs += [replace(trained, method=f"bp_{start}_50") for start in ("literal", "ff")]
        for start in range(2):
            # The first start is stuck.
            accuracy = 0.4 if start == 0 else 0.9
            for method in ("bp_random_50", "bp_random_15", "bp_paper_sizes_50"):
                changes = {"train_accuracy": accuracy, "test_accuracy": accuracy}
                runs.append(replace(trained, method=method, start=start, **changes))
        for radius in ("0", "0.1"):
            for method in ("ff", "ff_attacked", "ff_bare", "bp_ff", "bp_random"):
                setting = f"radius={radius}"
                runs.append(Run(row, f"robust_{method}", split, setting=setting, test_accuracy=0.9))
        large = {**designed, "setting": "k=4, threshold=None", "d_1": 40}
        runs.append(Run(row, "sweep_ff", split, **large))
        swept = {"start_test_accuracy": 0.6, "test_accuracy": 0.63, "train_accuracy": 0.9}
        runs.append(Run(row, "sweep_bp_ff", split, setting=large["setting"], **swept))
    return runs
