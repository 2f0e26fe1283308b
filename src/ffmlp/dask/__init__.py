"""The same designs for tables that do not fit into memory or lie on a cluster (extra ``dask``)."""

from ffmlp.extras import require

require("ffmlp.dask", "dask")

from ffmlp.dask.estimator import FFMLPClassifier  # noqa: E402

__all__ = ["FFMLPClassifier"]
