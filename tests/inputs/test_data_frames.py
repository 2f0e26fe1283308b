"""Tables as they are: every form of a table gives the same model and the same predictions."""

import pickle
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from problems import designed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from ffmlp import FFMLPClassifier
from ffmlp.inputs.columns import CategoryColumn, NumberColumn

pd = pytest.importorskip("pandas")
N = 200


def table(seed=0):
    """Two numbers, a category and a boolean as lists, with None in some cells; and labels."""
    rng = np.random.default_rng(seed)
    columns = {
        "x": rng.normal(size=N),
        "k": rng.integers(0, 5, N),
        "town": rng.choice(["u", "v", "w"], N),
        "paid": rng.random(N) > 0.5,
    }
    y = np.where(columns["x"] + 2 * (columns["town"] == "u") + columns["paid"] > 1, "yes", "no")
    hidden = rng.random((4, N)) < 0.1
    cells = {
        name: [None if gone else value for value, gone in zip(values.tolist(), row, strict=True)]
        for (name, values), row in zip(columns.items(), hidden, strict=True)
    }
    return cells, y


def typed(cells):
    """Each column with the type that a careful person gives it."""
    types = {"x": "float64", "k": "Int64", "town": "category", "paid": "boolean"}
    return pd.DataFrame({name: pd.Series(cells[name], dtype=kind) for name, kind in types.items()})


def objects(cells, missing):
    return pd.DataFrame(cells, dtype=object).map(lambda cell: missing if cell is None else cell)


def polars_frame(cells, town):
    pl = pytest.importorskip("polars")
    types = {
        "String": pl.String,
        "Categorical": pl.Categorical,
        "Enum": pl.Enum(["w", "never", "v", "u"]),
    }
    return pl.DataFrame(cells).with_columns(pl.col("town").cast(types[town]))


def arrow_backed(cells):
    pytest.importorskip("pyarrow")
    return typed(cells).convert_dtypes(dtype_backend="pyarrow")


def arrow_dictionary(cells):
    pa = pytest.importorskip("pyarrow")
    return typed(cells).astype({"town": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))})


FORMS = {
    "types": typed,
    "nullable floats and strings": lambda cells: typed(cells).astype({"x": "Float64", "town": "string"}),
    "python strings": lambda cells: typed(cells).astype({"town": "string[python]"}),
    "str and category": lambda cells: typed(cells).astype({"town": "str", "paid": "category"}),
    "ordered categories": lambda cells: typed(cells).astype(
        {"town": pd.CategoricalDtype(["w", "never", "v", "u"], ordered=True)}
    ),
    "objects with None": lambda cells: objects(cells, None),
    "objects with NaN": lambda cells: objects(cells, np.nan),
    "objects with NA": lambda cells: objects(cells, pd.NA),
    "Arrow": arrow_backed,
    "Arrow dictionary": arrow_dictionary,
    "Polars strings": lambda cells: polars_frame(cells, "String"),
    "Polars categories": lambda cells: polars_frame(cells, "Categorical"),
    "Polars enum": lambda cells: polars_frame(cells, "Enum"),
    "array with None": lambda cells: objects(cells, None).to_numpy(),
    "array with NaN": lambda cells: objects(cells, np.nan).to_numpy(),
    "array with NA": lambda cells: objects(cells, pd.NA).to_numpy(),
    "lists": lambda cells: objects(cells, None).to_numpy().tolist(),
}


@pytest.fixture(scope="module")
def fitted():
    """A classifier of typed columns, and what it says of other rows."""
    cells, y = table()
    clf = designed("readout", typed(cells), y)
    return clf, clf.predict_proba(typed(table(1)[0]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_table_give_the_same_bits(fitted, form):
    cells, y = table()
    new = FORMS[form](table(1)[0])
    clf = designed("readout", FORMS[form](cells), y)
    kinds = [NumberColumn, NumberColumn, CategoryColumn, CategoryColumn]
    assert list(map(type, clf.network_.columns.parts)) == kinds
    categories = [part.categories for part in clf.network_.columns.parts[2:]]
    assert categories == [("u", "v", "w"), ("False", "True")]
    np.testing.assert_array_equal(clf.predict_proba(new), fitted[1])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("form", FORMS)
def test_a_fitted_classifier_takes_all_forms(fitted, form):
    np.testing.assert_array_equal(fitted[0].predict_proba(FORMS[form](table(1)[0])), fitted[1])


@pytest.mark.parametrize(
    "chosen",
    [
        ["k", "town", "paid"],
        np.array(["paid", "town", "k"]),
        [1, 2, 3],
        np.array([3, 2, 1]),
        [False, True, True, True],
        np.array([False, True, True, True]),
    ],
)
def test_categories_by_names_positions_or_a_mask(chosen):
    cells, y = table()
    X = typed(cells)
    clf = FFMLPClassifier(design="blob", categorical_features=chosen, random_state=0).fit(X, y)
    same = clone(clf).set_params(categorical_features="from_dtype").fit(X.astype({"k": "category"}), y)
    assert clf.network_.columns.parts[1].categories == ("0", "1", "2", "3", "4")
    np.testing.assert_array_equal(clf.predict_proba(X), same.predict_proba(X))


def test_an_array_of_numbers_may_have_categories():
    cells, y = table()
    X = typed(cells)[["x", "k"]].to_numpy(float, na_value=np.nan)
    clf = FFMLPClassifier(design="blob", categorical_features=[1], random_state=0).fit(X, y)
    assert clf.network_.columns.parts[1].categories == ("0", "1", "2", "3", "4")
    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1]}).astype({"x1": "category"})
    same = FFMLPClassifier(design="blob", random_state=0).fit(frame, y)
    np.testing.assert_array_equal(clf.predict_proba(X), same.predict_proba(frame))


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["road"], r"categorical_features names 'road'\. Columns: \['x', 'k', 'town', 'paid'\]\."),
        ([4], r"categorical_features names 4\. Columns"),
        ([-1], r"categorical_features names -1\. Columns"),
        ([1.0], r"categorical_features names 1\.0\. Columns"),
        (
            "town",
            "must be 'from_dtype', None, or names, positions or a mask of the 4 columns, got 'town'",
        ),
        ([True, False], r"or a mask of the 4 columns, got \[True, False\]"),
        ([[1, 2]], "names, positions or a mask of the 4 columns"),
        (None, "could not convert string to float: column 'town' is numeric, but has '[uvw]'"),
        (["paid"], "column 'town' is numeric, but has '[uvw]'. Make it categorical when fitting"),
    ],
)
def test_wrong_categorical_features_are_reported(chosen, message):
    cells, y = table()
    with pytest.raises(ValueError, match=message):
        FFMLPClassifier(design="blob", categorical_features=chosen).fit(typed(cells), y)


def test_no_categories_where_all_columns_are_numbers():
    cells, y = table()
    X = typed(cells)[["x", "k"]]
    by_type, none = (
        FFMLPClassifier(design="blob", categorical_features=given, random_state=0).fit(X, y)
        for given in ("from_dtype", None)
    )
    assert by_type.network_.columns.are_inputs
    np.testing.assert_array_equal(by_type.predict_proba(X), none.predict_proba(X))


DATES = {
    "NumPy": lambda: pd.Series(pd.date_range("2024", periods=N)),
    "durations": lambda: pd.Series([timedelta(days=1)] * N),
    "objects": lambda: pd.Series([None, *[date(2024, 1, 31)] * (N - 1)], dtype=object),
    "moments": lambda: pd.Series([datetime(2024, 1, 31)] * N, dtype=object),
    "categories": lambda: pd.Series(pd.date_range("2024", periods=N)).astype("category"),
}


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize("chosen", ["from_dtype", ["when", "town", "paid"]])
def test_dates_are_reported_by_the_name_of_their_column(kind, chosen):
    cells, y = table()
    X = typed(cells).assign(when=DATES[kind]())
    with pytest.raises(ValueError, match=r"column 'when' holds dates or times .* such as the year"):
        FFMLPClassifier(design="blob", categorical_features=chosen).fit(X, y)


def test_dates_of_polars_are_reported():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"when": [date(2024, 1, 31)] * N, "town": ["u"] * N})
    with pytest.raises(ValueError, match=r"column 'when' holds dates or times \(Date\)"):
        FFMLPClassifier(design="blob").fit(X, table()[1])


@pytest.mark.parametrize("kind", ["float64", "Float64", object])
def test_infinities_are_reported_by_the_name_of_their_column(fitted, kind):
    cells, y = table()
    X = typed(cells).astype({"x": kind})
    X.loc[7, "x"] = np.inf
    for use in (lambda: FFMLPClassifier().fit(X, y), lambda: fitted[0].predict(X)):
        with pytest.raises(ValueError, match="infinity or a value too large for float64 in column 'x'"):
            use()


@pytest.mark.parametrize("text", ["39.1 mm", "1.5"])
def test_text_in_a_column_of_numbers_is_reported_by_its_name(fitted, text):
    X = typed(table(1)[0]).astype({"k": object})
    X.loc[3, "k"] = text
    with pytest.raises(ValueError, match=f"could not convert.*column 'k' is numeric, but has '{text}'"):
        fitted[0].predict(X)


def test_cells_that_are_no_values_are_reported():
    cells, y = table()
    with pytest.raises(TypeError, match="each cell is a string or a number"):
        FFMLPClassifier().fit(typed(cells).assign(town=[[1, 2]] * N), y)


def test_an_unknown_category_has_the_shares_of_all(fitted):
    clf = fitted[0]
    town = clf.network_.columns.parts[2]
    y = table()[1]
    np.testing.assert_allclose(town.shares[-1], [np.mean(y == clf.classes_[town.classes[0]])])
    X = typed(table(1)[0])
    np.testing.assert_array_equal(
        clf.predict_proba(X.assign(town="elsewhere")), clf.predict_proba(X.assign(town="nowhere"))
    )
    inputs = clf.network_.inputs(np.array([[0.0, 1.0, -1.0, 0.0]]))
    np.testing.assert_array_equal(inputs[0, 2], town.shares[-1, 0])


def test_categories_without_samples_are_unknown():
    cells, y = table()
    never = pd.CategoricalDtype(["never", "u", "v", "w"])
    clf = FFMLPClassifier(design="blob").fit(typed(cells).astype({"town": never}), y)
    assert clf.network_.columns.parts[2].categories == ("u", "v", "w")


def test_missing_categories_are_a_category_of_their_own(fitted):
    town = fitted[0].network_.columns.parts[2]
    assert town.knows_missing
    cells, y = table()
    whole = [value or "u" for value in cells["town"]]
    clf = FFMLPClassifier(design="blob").fit(typed(cells | {"town": whole}), y)
    town = clf.network_.columns.parts[2]
    assert not town.knows_missing
    np.testing.assert_array_equal(town.shares[-2], town.shares[-1])


@pytest.mark.parametrize("kind", ["float64", "float32", "int32", "Int64", "Float64", object])
def test_numbers_in_a_frame_give_the_bits_of_their_array(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(-40, 40, (N, 3)).astype("float32" if kind == "float32" else "float64")
    y = (X[:, 0] * X[:, 1] > X[:, 2]).astype(int)
    frame = pd.DataFrame(X, columns=list("abc")).astype(kind)
    of_array, of_frame = designed("readout", X, y), designed("readout", frame, y)
    np.testing.assert_array_equal(of_frame.predict_proba(frame), of_array.predict_proba(X))
    np.testing.assert_array_equal(of_frame.decision_function(frame), of_array.decision_function(X))


def test_missing_numbers_are_medians_if_training_had_none():
    cells, y = table()
    X = typed(cells).dropna()
    clf = FFMLPClassifier(design="blob", random_state=0).fit(X, y[X.index])
    assert clf.network_.columns.imputation is None
    new = X.copy()
    new.loc[:, "k"] = pd.NA
    middle = np.sort(X["k"].to_numpy())[(len(X) - 1) // 2]
    np.testing.assert_array_equal(clf.predict_proba(new), clf.predict_proba(X.assign(k=middle)))
    numbers = FFMLPClassifier(design="blob", random_state=0).fit(X[["x"]], y[X.index])
    nothing = numbers.predict_proba(pd.DataFrame({"x": [np.nan, np.nan]}))
    median = pd.DataFrame({"x": 2 * [np.sort(X["x"].to_numpy())[(len(X) - 1) // 2]]})
    np.testing.assert_array_equal(nothing, numbers.predict_proba(median))


def test_columns_without_any_value_change_little():
    cells, y = table()
    X = typed(cells)
    score = FFMLPClassifier(design="blob", random_state=0).fit(X, y).score(X, y)
    nothing = {"float64": 3.0, "category": "a", "object": 3.0}  # objects without a text are numbers
    for kind, later in nothing.items():
        column = pd.Series([None] * N, dtype=kind)
        clf = FFMLPClassifier(design="blob", random_state=0).fit(X.assign(empty=column), y)
        assert clf.score(X.assign(empty=column), y) > score - 0.03
        assert np.isfinite(clf.predict_proba(X.assign(empty=later))).all()


def test_what_scikit_learn_does_with_a_frame():
    cells, y = table()
    X = typed(cells)
    clf = FFMLPClassifier(design="region", n_components=1, categorical_features=["town", "paid"])
    assert cross_val_score(clf, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(clf, {"n_components": [1, 2]}, cv=2).fit(X, y)
    best = search.best_estimator_
    assert best.feature_names_in_.tolist() == ["x", "k", "town", "paid"]
    assert best.n_features_in_ == 4
    assert clone(best).get_params() == best.get_params()
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        best.predict(X.rename(columns={"town": "city"}))
    tags = clf.__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
    assert tags.string


def test_a_failed_fit_leaves_the_classifier_as_it_was(fitted):
    clf = clone(fitted[0]).fit(*(typed(table()[0]), table()[1]))
    before = clf.predict_proba(typed(table(1)[0]))
    with pytest.raises(ValueError, match="holds dates"):
        clf.fit(typed(table()[0]).assign(when=DATES["NumPy"]()), table()[1])
    np.testing.assert_array_equal(clf.predict_proba(typed(table(1)[0])), before)


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_labels_of_nullable_types_are_those_of_numpy(kind):
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = pd.Series((X[:, 0] > 0).astype(int)).astype(kind)
    clf = FFMLPClassifier(1, design="blob").fit(X, y)
    assert clf.classes_.dtype.kind == ("i" if "nt64" in kind else "u" if "UInt" in kind else "b")
    assert clf.score(X, y) > 0.9
    with pytest.raises(ValueError, match="Input y contains NaN"):
        FFMLPClassifier(1, design="blob").fit(X, y.where(y.index != 3))


@pytest.mark.parametrize("cells", [[[1.0, 2.0]] * 4, [["u", "v"]] * 4])
def test_columns_of_one_name_are_refused(cells):
    X = pd.DataFrame(cells, columns=["a", "a"])
    message = "X has 2 columns named 'a'. Give each column a name of its own."
    with pytest.raises(ValueError, match=message):
        FFMLPClassifier(1).fit(X, [0, 1, 0, 1])
