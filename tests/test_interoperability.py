"""The classifier inside other tools: scikit-learn's meta-estimators, data frames, SHAP, joblib."""

import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed
from problems import IRIS, overlapping, xor
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ffmlp import FFMLPClassifier

pd = pytest.importorskip("pandas")

DESIGNS = ("paper", "region", "blob", "readout")
X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])


def quick(design):
    """A design with nothing to choose."""
    given = {
        "paper": {"n_components": 2, "error_threshold": 0.05},
        "region": {"n_components": 2, "error_threshold": 0.05},
        "blob": {"n_components": 2, "error_threshold": None},
        "readout": {"max_leaves": 0},
    }
    return FFMLPClassifier(design=design, gaussianise=False, random_state=0, **given[design])


def flowers():
    """Iris with a column of words, missing values and names of columns and classes."""
    frame = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    frame["site"] = pd.Series(np.where(X[:, 0] > 5.8, "hill", "plain"), dtype="category")
    frame.loc[::11, "sepal width"] = np.nan
    return frame, pd.Series(NAMES[Y], name="species")


@pytest.mark.parametrize("design", DESIGNS)
def test_column_transformer_and_pipeline_give_the_network_the_names_of_columns(design):
    frame, species = flowers()
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), frame.columns[:4].tolist()),
            ("words", OneHotEncoder(sparse_output=False), ["site"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, quick(design)).fit(frame, species)
    assert pipeline[-1].feature_names_in_.tolist()[-2:] == ["site_hill", "site_plain"]
    assert pipeline[-1].network_.meaning(0, 5) == "feature site_plain"
    assert pipeline.score(frame, species) > 0.9
    assert set(pipeline.predict(frame)) == set(NAMES)
    # The paper shrinks no covariance, so collinear inputs can spoil it.
    assert cross_val_score(pipeline, frame, species, cv=3).mean() > (0.7 if design == "paper" else 0.85)


def test_grid_search_over_designs_and_steps():
    pipeline = make_pipeline(StandardScaler(), FFMLPClassifier(random_state=0, gaussianise=False))
    grid = {
        "ffmlpclassifier__design": ["region", "blob"],
        "ffmlpclassifier__n_components": [1, 2],
        "standardscaler": [StandardScaler(), "passthrough"],
    }
    search = GridSearchCV(pipeline, grid, cv=3, scoring=["accuracy", "neg_log_loss"], refit="accuracy")
    search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_accuracy"]).all()
    assert search.best_score_ > 0.9
    assert search.predict(X).shape == Y.shape


@pytest.mark.parametrize(
    ("design", "method"), [*zip(DESIGNS, ["sigmoid", "isotonic", "temperature", "sigmoid"], strict=True)]
)
def test_calibration(design, method):
    samples, y = overlapping(400)
    calibrated = CalibratedClassifierCV(quick(design), method=method, cv=3).fit(samples, y)
    probabilities = calibrated.predict_proba(samples)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    # Frequencies of small regions are often 0 or 1, but these classes overlap.
    assert ((probabilities > 0.05) & (probabilities < 0.95)).any(axis=1).mean() > 0.5


@pytest.mark.parametrize("design", DESIGNS)
def test_ensembles(design):
    bag = BaggingClassifier(quick(design), n_estimators=4, max_features=3, random_state=0).fit(X, Y)
    assert bag.score(X, Y) > 0.9
    normals = [estimator.hyperplanes_.weights.tolist() for estimator in bag.estimators_]
    assert all(normals[0] != other for other in normals[1:])
    members = [("a", quick(design)), ("b", LogisticRegression(max_iter=1000))]
    assert VotingClassifier(members, voting="soft").fit(X, Y).score(X, Y) > 0.9
    assert StackingClassifier(members, cv=3).fit(X, Y).score(X, Y) > 0.9
    one_vs_rest = OneVsRestClassifier(quick(design)).fit(X, Y)
    assert len(one_vs_rest.estimators_) == 3
    assert one_vs_rest.score(X, Y) > 0.9


@pytest.mark.parametrize("design", DESIGNS)
def test_permutation_importance_finds_the_features_that_matter(design):
    rng = np.random.default_rng(0)
    samples, y, _ = xor()
    with_noise = np.column_stack([samples, rng.normal(size=(len(samples), 2))])
    clf = quick(design).fit(with_noise, y)
    importance = permutation_importance(clf, with_noise, y, n_repeats=3, random_state=0).importances_mean
    assert importance[:2].min() > 5 * np.abs(importance[2:]).max()


@pytest.mark.parametrize("response_method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("design", DESIGNS)
def test_decision_boundary_display(design, response_method):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    samples, y, _ = xor(200)
    clf = quick(design).fit(samples, y)
    display = DecisionBoundaryDisplay.from_estimator(
        clf, samples, response_method=response_method, grid_resolution=20
    )
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    own = getattr(clf, response_method)(grid)
    own = own[:, 1] if own.ndim == 2 else own
    np.testing.assert_array_equal(display.response.ravel(), own)


def test_metadata_routing_brings_weights_and_blobs_to_the_classifier():
    samples, y, blobs = xor()
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = quick("region").set_fit_request(sample_weight=True, blobs=True)
        clf.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        pipeline.fit(samples, y, sample_weight=weight, blobs=blobs)
        scaled = StandardScaler().fit_transform(samples)
        alone = quick("region").fit(scaled, y, weight, blobs=blobs)
        np.testing.assert_array_equal(pipeline[-1].hyperplanes_.weights, alone.hyperplanes_.weights)
        assert len(pipeline[-1].blobs_) == 4
        assert pipeline[-1].regions_.counts.sum() == weight.sum()
        results = cross_validate(
            pipeline, samples, y, cv=3, params={"sample_weight": weight, "blobs": blobs}
        )
        assert results["test_score"].min() > 0.9


@pytest.mark.parametrize("design", DESIGNS)
def test_data_frames_of_pandas_and_polars_are_the_same(design):
    polars = pytest.importorskip("polars")
    names = ["a", "b", "c", "d"]
    frames = [pd.DataFrame(X, columns=names), polars.DataFrame(X, schema=names, orient="row")]
    plain = quick(design).fit(X, NAMES[Y])
    for frame, target in zip(frames, [pd.Series(NAMES[Y]), polars.Series(NAMES[Y])], strict=True):
        clf = quick(design).fit(frame, target)
        assert clf.feature_names_in_.tolist() == names
        # Frames are stored by columns, so sums may round differently.
        np.testing.assert_allclose(clf.predict_proba(frame), plain.predict_proba(X), atol=1e-9)
        reordered = frame[["b", "a", "c", "d"]]
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(reordered)
    # What was fitted with one kind of frame reads the other.
    np.testing.assert_array_equal(clf.predict(frames[0]), clf.predict(frames[1]))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_shap_explains_probabilities(design):
    shap = pytest.importorskip("shap")
    clf = quick(design).fit(X, Y)
    explainer = shap.Explainer(clf.predict_proba, shap.maskers.Independent(X, max_samples=20))
    explanation = explainer(X[::30])
    assert explanation.values.shape == (5, 4, 3)
    # Shapley values add up from the mean prediction of the background to the prediction.
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, clf.predict_proba(X[::30]), atol=1e-9)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_fit_and_predict_as_one_process_does(backend):
    clf = quick("readout").fit(X, Y)
    parts = np.array_split(X, 3)
    predicted = Parallel(n_jobs=2, backend=backend)(delayed(clf.predict_proba)(part) for part in parts)
    np.testing.assert_array_equal(np.vstack(predicted), clf.predict_proba(X))
    fitted = Parallel(n_jobs=2, backend=backend)(
        delayed(clone(clf).set_params(design=design).fit)(X, Y) for design in DESIGNS
    )
    for design, other in zip(DESIGNS, fitted, strict=True):
        here = clone(clf).set_params(design=design).fit(X, Y)
        np.testing.assert_allclose(other.predict_proba(X), here.predict_proba(X), atol=1e-9)
    assert cross_val_score(clf, X, Y, cv=3, n_jobs=2).mean() > 0.9
