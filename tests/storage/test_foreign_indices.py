"""Indices in a file that scikit-learn, SciPy and NumPy use without a check."""

import numpy as np
import pytest
from forgeries import refusal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import ffmlp

pytest.importorskip("skops")
rng = np.random.default_rng(0)
NUMBERS = np.column_stack([rng.integers(6, size=60), rng.integers(2, size=60)]).astype(float)
NUMBERS[:3, 0] = np.nan
TEXTS = np.char.mod("town %g", NUMBERS).astype(object)
Y = NUMBERS[:, 1] > 0


def fitted(X, **parameters):
    encoder = OneHotEncoder(sparse_output=False, **parameters)
    state = np.random.RandomState(0)
    return make_pipeline(encoder, ffmlp.FFMLPClassifier(design="blob", random_state=state)).fit(X, Y)


@pytest.mark.parametrize("X", [NUMBERS, TEXTS], ids=["numbers", "texts"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"handle_unknown": "ignore"},
        {"drop": "first"},
        {"drop": "if_binary"},
        {"max_categories": 3},
        {"max_categories": 3, "drop": "first", "handle_unknown": "infrequent_if_exist"},
        {"min_frequency": 12, "drop": "if_binary"},
    ],
)
def test_encoders_of_any_kind_are_read(X, parameters, tmp_path):
    pipeline = fitted(X, **parameters)
    ffmlp.save(pipeline, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), pipeline.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("_n_features_outs", lambda part: part[:1], "differ in length"),
        ("_n_features_outs", lambda part: [part[0] - 1, part[1]], "1 outputs for 3 groups"),
        ("_n_features_outs", lambda part: [float(part[0]), part[1]], "TypeError"),
        ("_drop_idx_after_grouping", lambda part: part + 5, "drops group 5 of 3"),
        ("_drop_idx_after_grouping", lambda part: part - 1, "drops group -1 of 3"),
        ("_drop_idx_after_grouping", lambda part: part[:1], "differ in length"),
        ("_infrequent_enabled", lambda part: False, "2 outputs for 7 groups"),
        ("_infrequent_indices", lambda part: [part[0] + 9, None], "integers from 0 to 6"),
        ("_default_to_infrequent_mappings", lambda part: [part[0] * 10**6, None], "from 0 to 6"),
        ("_default_to_infrequent_mappings", lambda part: [part[0] - 1, None], "from 0 to 6"),
        ("_default_to_infrequent_mappings", lambda part: [part[0] * 0.5, None], "from 0 to 6"),
        ("categories_", lambda part: [part[0][::-1], part[1]], "not sorted"),
        ("categories_", lambda part: [part[0][:, None], part[1]], "not a list"),
    ],
)
def test_indices_of_encoders_point_to_their_output(name, change, problem, tmp_path):
    """SciPy wrote where they point: the process died."""
    pipeline = fitted(NUMBERS, max_categories=3, drop="first")
    encoder = pipeline[0]
    setattr(encoder, name, change(getattr(encoder, name)))
    ffmlp.save(pipeline, tmp_path / "m")
    assert problem in refusal(tmp_path / "m")


@pytest.mark.parametrize("position", [-1, 625, 10**6])
def test_random_generators_point_to_a_word_of_their_state(position, tmp_path):
    """NumPy read where they point, when such a classifier was fitted again."""
    pipeline = fitted(NUMBERS)
    name, words, *_ = np.random.RandomState(0).get_state()
    pipeline[-1].random_state.set_state((name, words, position))
    ffmlp.save(pipeline, tmp_path / "m")
    assert f"at word {position} of 624" in refusal(tmp_path / "m")
