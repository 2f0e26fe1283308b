import json
from base64 import b64decode

import numpy as np
import pytest
from problems import with_trees

from ffmlp.storage.json_form import json_form


def read_array(part):
    if "base64" in part:
        flat = np.frombuffer(b64decode(part["base64"]), np.dtype(part["dtype"]).newbyteorder("<"))
    else:
        flat = np.array(part["values"], part["dtype"])
    return flat.reshape(part["shape"])


def test_a_network_keeps_its_tags_and_the_bits_of_its_arrays():
    _, _, clf = with_trees()
    form = json.loads(json.dumps(json_form(clf.network_), allow_nan=False))
    planes, stages = form["hyperplanes"], form["stages"]
    assert (form["tag"], planes["tag"]) == ("network", "hyperplanes")
    assert (stages["tag"], stages["trees"]["tag"]) == ("corrected-readout-stages", "trees")
    np.testing.assert_array_equal(read_array(planes["weights"]), clf.network_.hyperplanes.weights)
    np.testing.assert_array_equal(read_array(form["labels"]), clf.classes_)


def test_short_arrays_can_be_read():
    assert json_form(np.array([[1.5, 2.0]])) == {
        "dtype": "float64",
        "shape": [1, 2],
        "values": [1.5, 2.0],
    }
    assert json_form(np.array(["a"], object)) == {"dtype": "object", "shape": [1], "values": ["a"]}
    assert np.isnan(read_array(json_form(np.array([np.nan, 1.0])))[0])


def test_a_value_that_is_no_part_of_a_network_is_refused():
    with pytest.raises(TypeError, match="set has no JSON form"):
        json_form({1})
