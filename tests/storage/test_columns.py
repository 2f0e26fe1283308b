"""Stored columns of tables: as they were, and what is refused."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from forgeries import refusal, with_text
from problems import DESIGNS, designed, mixed_table, unseen_rows

import ffmlp
from ffmlp.cli import main
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import read_predictor
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
COLUMNS = ["age", "fare", "sex", "town"]  # numbers first, as in a table model


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed_table()
    return designed("blob", X[COLUMNS], y)


def table_model(clf):
    return TableModel(("age", "fare"), ("sex", "town"), "fate", None, Dialect(), {}, clf)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_model_of_a_table_comes_back_as_it_was(design, tmp_path):
    X, y = mixed_table()
    clf = designed(design, X, y, categorical_features=["sex", "town"])
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    rows = pd.concat([X, unseen_rows()], ignore_index=True)
    np.testing.assert_array_equal(again.predict_proba(rows), clf.predict_proba(rows))
    assert again.categorical_features == ["sex", "town"]
    assert again.network_.columns.names == ("age", "sex", "fare", "town")
    for part, same in zip(clf.network_.columns.parts, again.network_.columns.parts, strict=True):
        assert type(part) is type(same)
        assert getattr(part, "categories", None) == getattr(same, "categories", None)
    assert [str(page) for page in again.explain(rows[-6:])] == [
        str(page) for page in clf.explain(rows[-6:])
    ]


def with_part(clf, number, **changes):
    """The columns, one of them changed."""
    parts = list(clf.network_.columns.parts)
    parts[number] = replace(parts[number], **changes)
    return replace(clf.network_.columns, parts=tuple(parts))


def with_imputation(clf, **changes):
    return replace(clf.network_.columns, imputation=replace(imputation(clf), **changes))


def without_last(clf):
    return replace(clf.network_.columns, parts=clf.network_.columns.parts[:-1])


CHANGES = {
    "a row of shares too few": lambda clf: with_part(clf, 3, shares=shares(clf)[:-1]),
    "a share too many": lambda clf: with_part(clf, 3, shares=np.hstack([shares(clf), shares(clf)])),
    "shares that are NaN": lambda clf: with_part(clf, 3, shares=shares(clf) * np.nan),
    "an infinite share": lambda clf: with_part(clf, 3, shares=np.maximum(shares(clf), np.inf)),
    "shares in single precision": lambda clf: with_part(clf, 3, shares=shares(clf).astype(np.float32)),
    "shares that are texts": lambda clf: with_part(clf, 3, shares=shares(clf).astype(str)),
    "a category twice": lambda clf: with_part(clf, 2, categories=("man", "man")),
    "a category too many": lambda clf: with_part(clf, 2, categories=("child", "man", "woman")),
    "a category that is a number": lambda clf: with_part(clf, 2, categories=(1, "woman")),
    "a class that does not exist": lambda clf: with_part(clf, 2, classes=(0, 9)),
    "a negative class": lambda clf: with_part(clf, 2, classes=(0, -1)),
    "no class": lambda clf: with_part(clf, 2, classes=(), shares=np.empty((4, 0))),
    "a median that is NaN": lambda clf: with_part(clf, 0, fill=np.nan),
    "a median that is a text": lambda clf: with_part(clf, 0, fill="40"),
    "a name that is a number": lambda clf: with_part(clf, 0, name=3),
    "a column too few": without_last,
    "no columns": lambda clf: replace(clf.network_.columns, parts=()),
    "an input too few": lambda clf: with_imputation(clf, centre=np.zeros(3)),
    "precisions of another shape": lambda clf: with_imputation(clf, precisions=np.eye(6)[None, 1:]),
    "means of too few blobs": lambda clf: with_imputation(clf, means=imputation(clf).means[1:]),
    "no blobs": lambda clf: with_imputation(
        clf, log_weights=np.empty(0), means=np.empty((0, 6)), precisions=np.empty((0, 6, 6))
    ),
    "precisions that are NaN": lambda clf: with_imputation(
        clf, precisions=np.nan * imputation(clf).precisions
    ),
    "precisions that are singular": lambda clf: with_imputation(
        clf, precisions=0 * imputation(clf).precisions
    ),
    "precisions that are singular in parts": lambda clf: with_imputation(
        clf, precisions=np.broadcast_to(np.eye(6)[::-1], imputation(clf).precisions.shape).copy()
    ),
    "a unit of zero": lambda clf: with_imputation(clf, scale=0 * imputation(clf).scale),
}  # fmt: skip


def imputation(clf):
    return clf.network_.columns.imputation


def shares(clf):
    return clf.network_.columns.parts[3].shares


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_forged_columns_are_refused(fitted, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    clf = copy(fitted)
    clf.network_ = replace(clf.network_, columns=CHANGES[name](fitted))
    table_model(clf).save(tmp_path / "m")
    assert "m does not hold a usable model" in refusal(tmp_path / "m")
    unseen_rows().to_csv("new.csv", index=False)
    assert main(["predict", "m", "new.csv", "-o", "o.csv"]) == 2
    captured = capsys.readouterr()
    assert "does not hold a usable model" in captured.err
    assert not (tmp_path / "o.csv").exists()


def test_the_model_of_these_changes_is_read_without_them(fitted, tmp_path):
    table_model(fitted).save(tmp_path / "m")
    assert read_predictor(tmp_path / "m") is not None
    ffmlp.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"CategoryColumn"', '"NumberColumn"'),
        ('"Imputation"', '"Imputations"'),
        ('"shares"', '"share"'),
        ('"CategoryColumn"', '"Imputation"'),
        ('"woman"', "0"),
        ('"fill"', '"fills"'),
        ('"numbers": [', '"numbers": ["c", '),
    ],
)
def test_forged_forms_are_refused(fitted, old, new, tmp_path):
    path = tmp_path / "m"
    table_model(fitted).save(path)
    path.write_bytes(with_text(path.read_bytes(), old, new))
    assert "usable model" in refusal(path)


def test_networks_without_columns_take_no_missing_numbers(tmp_path):
    X, y = mixed_table()
    X = X[["age", "fare"]].fillna(0.0)
    clf = designed("blob", X, y)
    before = clf.predict_proba(X)
    clf.network_ = replace(clf.network_, columns=None)
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), before)
    with pytest.raises(ValueError, match="contains NaN"):
        again.predict(X.mask(X > 50))
