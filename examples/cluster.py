"""A fit on a cluster of two workers, from rows that are never in one place (extra ``dask``)."""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from ffmlp.dask import FFMLPClassifier

N_BLOCKS, ROWS_OF_BLOCK = 8, 20_000


def block(block_info=None):
    """Samples and, in the last column, their labels."""
    number = block_info[None]["chunk-location"][0]
    rng = np.random.default_rng(number)
    X = rng.normal(size=(ROWS_OF_BLOCK, 6))
    return np.column_stack([X, X[:, 0] * X[:, 1] + X[:, 2] > 0])


def main():
    chunks = ((ROWS_OF_BLOCK,) * N_BLOCKS, (7,))
    table = da.map_blocks(block, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    X, y = table[:, :-1], table[:, -1].astype(int)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):
        clf = FFMLPClassifier(random_state=0).fit(X, y)
        accuracy = (clf.predict(X) == y).mean().compute()
    print(f"{len(X)} rows in {N_BLOCKS} partitions, read in {len(clf.pass_seconds_)} passes")
    print(f"{clf.n_leaves_} leaves, training accuracy {100 * accuracy:.1f} %")
    row = next(iter(clf.to_local().explain(np.array([[0.5, -0.5, 1.0, 0.0, 0.0, 0.0]]))))
    print(row)


if __name__ == "__main__":
    main()
