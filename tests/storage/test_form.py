"""The walk over annotations: what it writes, what it reads, and what it refuses."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from problems import with_trees

from ffmlp.arrays import Below, Flags, Floats, Indices, Shape
from ffmlp.network.network import Network
from ffmlp.storage.form import read, write


@dataclass(frozen=True, eq=False)
class Part:
    table: Annotated[Floats, Shape("n", "k")]
    flags: Annotated[Flags, Shape("n")]
    rows: Annotated[Indices, Shape("i"), Below("n", least=-1)]
    labels: Annotated[np.ndarray[Any, np.dtype[Any]], Shape("k")]
    number: float
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    parts: Annotated[tuple[Part, ...], Shape("P")]
    best: Annotated[int, Below("P")]
    other: Part | None = None


def part(n=3, k=2, **changes):
    labels = np.array([f"label {number}" for number in range(k)], object)
    fields = {"table": np.ones((n, k)), "flags": np.zeros(n, bool), "rows": np.arange(n) - 1,
              "labels": labels, "number": 1.5, "name": "x"}  # fmt: skip
    return Part(**fields | changes)


def same(one, two):
    assert type(one) is type(two)
    if isinstance(one, tuple):
        assert len(one) == len(two)
        [same(*pair) for pair in zip(one, two, strict=True)]
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two)
        assert one.dtype.kind == two.dtype.kind
    elif hasattr(one, "__dataclass_fields__"):
        [same(getattr(one, name), getattr(two, name)) for name in one.__dataclass_fields__]
    else:
        assert one == two or (one != one and two != two)


sizes = st.integers(1, 4)


@given(sizes, sizes, st.floats(allow_infinity=False), st.none() | st.text(), st.data())
def test_what_is_written_is_read(n, k, number, name, data):
    table = data.draw(arrays.arrays(float, (n, k), elements=st.floats(allow_infinity=False)))
    whole = Pair((part(), part(n, k, table=table, number=number, name=name)), 1, part(1))
    same(read(json.loads(json.dumps(write(whole), allow_nan=False)), Pair, "pair"), whole)


def test_a_network_is_the_same_after_lists():
    _, _, clf = with_trees()
    form = json.loads(json.dumps(write(clf.network_), allow_nan=False))
    assert (form["type"], form["stages"]["type"]) == ("Network", "CorrectedReadoutStages")
    assert form["stages"]["temperature"] == 1.0
    same(read(form, Network, "network"), clf.network_)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"table": np.ones((3, 1))}, "labels has the size 2, where 1 is needed"),
        ({"flags": np.zeros(2, bool)}, "flags has the size 2, where 3 is needed"),
        ({"flags": np.zeros(3)}, "flags has values of the wrong type"),
        ({"table": np.ones((3, 2, 1))}, "table has values of the wrong type"),
        ({"rows": np.array([3])}, "rows must have integers from -1 to 2"),
        ({"rows": np.array([-2])}, "rows must have integers from -1 to 2"),
        ({"rows": np.array([0.0])}, "rows has values of the wrong type"),
        ({"number": "1"}, "number has the wrong type str"),
        ({"number": True}, "number has the wrong type bool"),
        ({"name": 3}, "name has the wrong type int"),
        ({"labels": np.array([[1, 2]])}, "labels has values of several types"),
    ],
)
def test_what_the_annotations_do_not_allow_is_refused(changes, problem):
    for whole, place in ((part(**changes), "it"), (Pair((part(**changes),), 0), "it.parts[0]")):
        with pytest.raises(ValueError) as caught:
            read(write(whole), type(whole), "it")
        assert str(caught.value).startswith(f"{place}.{problem}")


def test_other_objects_are_refused():
    form = write(Pair((part(),), 0))
    for change, problem in (
        ({"type": "Part"}, "it has the wrong type Part"),
        ({"best": 1}, "best must have integers from 0 to 0"),
        ({"best": None}, "best has the wrong type NoneType"),
        ({"other": form}, "other has the wrong type Pair"),
        ({"parts": form}, "parts has the wrong type Pair"),
        ({"more": 1}, "it has an unknown more"),
        ({"parts": [form["parts"][0] | {"table": [[1.0], [1.0, 2.0], []]}]}, "lists of the same length"),
        ({"parts": [form["parts"][0] | {"table": "table.npy"}]}, "lists of the same length"),
    ):
        with pytest.raises(ValueError, match=problem):
            read(form | change, Pair, "it")
    with pytest.raises(ValueError, match="it has no best"):
        read({"type": "Pair", "parts": []}, Pair, "it")
    with pytest.raises(ValueError, match="it has the wrong type list"):
        read([], Pair, "it")


def test_a_value_without_a_form_is_not_written():
    with pytest.raises(ValueError, match=r"parts\.0\.name of type set is not stored"):
        write(Pair((part(name={1}),), 0))
