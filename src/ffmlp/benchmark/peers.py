"""The classifiers that ``ffmlp benchmark`` compares: the designs of FF-MLP and their peers.

Each model is a function that makes a classifier from a seed. All run on one thread. Models that depend
on the scale of the features standardise them. Models that cannot take tables with categories and
missing values are given one-hot categories and the median for missing numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ffmlp.classifier import FFMLPClassifier
from ffmlp.extras import common_name, why_missing


class SampledNetworkClassifier(ClassifierMixin, BaseEstimator):
    """SWIM: a hidden layer of tanh neurons sampled from pairs of samples, then least squares.

    Width and regularisation are as in the example of the package ``swimnetworks``.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: NDArray, y: NDArray) -> SampledNetworkClassifier:
        """Sample the hidden layer and solve for the output layer."""
        from swimnetworks import Dense, Linear

        self.classes_, numbers = np.unique(y, return_inverse=True)
        hidden = Dense(
            layer_width=512, activation="tanh", parameter_sampler="tanh", random_seed=self.random_state
        )
        self.network_ = Pipeline([("hidden", hidden), ("output", Linear(regularization_scale=1e-10))])
        self.network_.fit(X, np.eye(len(self.classes_))[numbers])
        return self

    def predict(self, X: NDArray) -> NDArray:
        """The class of the largest output."""
        return self.classes_[self.network_.transform(X).argmax(axis=1)]


def _realmlp(seed: int) -> Any:
    import torch
    from pytabkit import RealMLP_TD_Classifier

    torch.set_num_threads(1)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)  # it prints before every fit
    return RealMLP_TD_Classifier(device="cpu", random_state=seed, n_threads=1, verbosity=0)


def _catboost(seed: int) -> Any:
    # Without allow_writing_files=False, each fit writes a folder catboost_info.
    return import_module("catboost").CatBoostClassifier(
        thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False
    )


def _scaled(classifier: Any) -> Pipeline:
    return make_pipeline(StandardScaler(), classifier)


FFMLP_MODELS: dict[str, Callable[[int], Any]] = {
    "ffmlp": lambda seed: FFMLPClassifier(random_state=seed),
    "ffmlp-smooth": lambda seed: FFMLPClassifier(max_leaves=0, random_state=seed),
    "ffmlp-region": lambda seed: FFMLPClassifier(
        n_components=2, error_threshold=0.05, design="region", random_state=seed
    ),
    "ffmlp-paper": lambda seed: FFMLPClassifier(
        n_components=2, error_threshold=0.05, design="paper", random_state=seed
    ),
    "ffmlp-blob": lambda seed: FFMLPClassifier(design="blob", random_state=seed),
    "ffmlp-small": lambda seed: FFMLPClassifier(max_neurons=50, random_state=seed),
}

MODELS: dict[str, Callable[[int], Any]] = {
    **FFMLP_MODELS,
    "lda": lambda seed: LinearDiscriminantAnalysis(),
    # Unregularised, QDA refuses collinear features and classes of fewer samples than features.
    "qda": lambda seed: _scaled(QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")),
    "logistic": lambda seed: _scaled(LogisticRegression(max_iter=1000)),
    "svm": lambda seed: _scaled(SVC()),
    "forest": lambda seed: RandomForestClassifier(n_estimators=200, random_state=seed),
    "extratrees": lambda seed: ExtraTreesClassifier(n_estimators=200, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "mlp": lambda seed: _scaled(MLPClassifier(max_iter=300, random_state=seed)),
    "xgboost": lambda seed: import_module("xgboost").XGBClassifier(n_jobs=1, random_state=seed),
    "lightgbm": lambda seed: import_module("lightgbm").LGBMClassifier(
        n_jobs=1, random_state=seed, verbose=-1
    ),
    "catboost": _catboost,
    "ebm": lambda seed: import_module("interpret.glassbox").ExplainableBoostingClassifier(
        n_jobs=1, random_state=seed
    ),
    "swim": lambda seed: _scaled(SampledNetworkClassifier(seed)),
    "realmlp": _realmlp,
}

# Models that take categories and missing values themselves, with the parameters that they need for it.
TAKE_TABLES: dict[str, dict[str, Any]] = {
    **{name: {} for name in FFMLP_MODELS},
    "boosting": {},
    "xgboost": {"enable_categorical": True},
    "lightgbm": {},
    "ebm": {},
}


def made(model: str, seed: int, X: Any) -> Any:
    """A classifier for samples X: an array of numbers, or a data frame with categories."""
    classifier = MODELS[model](seed)
    if isinstance(X, np.ndarray):
        return classifier
    if model in TAKE_TABLES:
        return classifier.set_params(**TAKE_TABLES[model])
    categories = [name for name in X if str(X[name].dtype) == "category"]
    if model == "catboost":  # a missing category must have a name
        return make_pipeline(FunctionTransformer(_texts), classifier.set_params(cat_features=categories))
    numbers = [name for name in X if name not in categories]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [(SimpleImputer(strategy="median"), numbers), (encoder, categories)]
    return make_pipeline(make_column_transformer(*steps), classifier)


def _texts(X: Any) -> Any:
    texts = {name: X[name].astype(object).fillna("") for name in X if str(X[name].dtype) == "category"}
    return X.assign(**texts)


# The optional package that a model needs.
PACKAGES = {
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "ebm": "interpret",
    "swim": "swimnetworks",
    "realmlp": "pytabkit",
}


def missing_package(model: str) -> str | None:
    """How to install the package that a model needs; None if the model can be run."""
    package = PACKAGES.get(model)
    return None if package is None else why_missing(package, f"the model {model!r}")


def package_version(model: str) -> str:
    """The optional package of a model with its version, as in "catboost 1.2.10"; empty without one."""
    package = PACKAGES.get(model)
    if package is None:
        return ""
    name = common_name(package)
    return f"{name} {version(name)}"


def select_models(names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The models to run (all that are installed if names is None), and why the others are missing."""
    if names is None:
        missing = {model: reason for model in MODELS if (reason := missing_package(model))}
        return [model for model in MODELS if model not in missing], missing
    for name in names:
        if name not in MODELS:
            raise ValueError(f"Unknown model {name!r}. Available: {', '.join(MODELS)}.")
        if reason := missing_package(name):
            raise ImportError(reason)
    return list(dict.fromkeys(names)), {}


def n_parameters(model: Any) -> int | None:
    """The number of parameters of a fitted model; None for trees, where it is not comparable.

    Standardisation is not counted: it can be merged into the first layer.
    """
    if isinstance(model, Pipeline):
        return n_parameters(model[-1])
    if isinstance(model, FFMLPClassifier):
        # The matrices of stages 2 and 3 may be large: they are not made just to be counted.
        weights = sum((before + 1) * after for before, after in pairwise(model.network_.weighted_sizes))
        trees = model.network_.stages.trees
        return weights if trees is None else weights + trees.thresholds.size + trees.values.size
    if isinstance(model, LinearDiscriminantAnalysis | LogisticRegression):
        return model.coef_.size + model.intercept_.size
    if isinstance(model, QuadraticDiscriminantAnalysis):
        n_classes, n_features = model.means_.shape
        return n_classes * (1 + n_features + n_features * (n_features + 1) // 2)
    if isinstance(model, SVC):
        return model.support_vectors_.size + model.dual_coef_.size + model.intercept_.size
    if isinstance(model, MLPClassifier):
        return sum(weights.size for weights in (*model.coefs_, *model.intercepts_))
    if isinstance(model, SampledNetworkClassifier):
        return sum(int(layer.n_parameters) for layer in model.network_)
    if type(model).__name__ == "RealMLP_TD_Classifier":
        return sum(weights.numel() for weights in model.alg_interface_.model.parameters())
    return None
