"""Models of Iris that several tests fit with the command line."""

import numpy as np
from sklearn.datasets import load_iris

from ffmlp.cli import main


def fit_iris(folder):
    """Fit a model of Iris with an extra category and an id; returns its path and the features."""
    data = load_iris(as_frame=True)
    frame = data.data.set_axis(["a", "b", "c", "d"], axis=1)
    frame = frame.assign(size=np.where(data.data.iloc[:, 0] > 5.8, "large", "small"))
    frame["flower"] = [f"flower {number}, iris" for number in range(len(frame))]
    frame["species"] = data.target_names[data.target]
    frame.to_csv(folder / "iris.csv", index=False)
    arguments = ["--target", "species", "--id", "flower", "-o", str(folder / "iris.model"), "--quiet"]
    assert main(["fit", str(folder / "iris.csv"), *arguments]) == 0
    return folder / "iris.model", frame.drop(columns="species")


def fit_incomplete_iris(folder):
    """Fit a model of Iris with a category and some missing cells; returns the folder of both files."""
    data = load_iris(as_frame=True)
    frame = data.data.set_axis(["sepal length", "sepal width", "petal length", "petal width"], axis=1)
    frame["size"] = np.where(frame["sepal length"] > 5.8, "large & <wide>", "small")
    frame["species"] = data.target_names[data.target]
    frame.loc[[3, 77], "petal width"] = np.nan
    frame.to_csv(folder / "iris.csv", index=False)
    arguments = ["--target", "species", "--design", "blob", "-o", str(folder / "iris.model"), "--quiet"]
    assert main(["fit", str(folder / "iris.csv"), *arguments]) == 0
    return folder
