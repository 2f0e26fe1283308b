"""Model files as someone with bad intentions would write them."""

import builtins
import hashlib
import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from types import CodeType

import numpy as np
import pytest
from problems import designed, mixed_table

import ffmlp
from ffmlp.storage.model_files import FORMAT_VERSION
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import read_predictor
from ffmlp.tabular.table_model import TableModel

_STRANGE_TYPES = ["os.system", "eval", "Popen", "FFMLPClassifier", "Columns", "", None, 3, ["Trees"]]


def recorded_calls(monkeypatch):
    """A list that grows with each command and each text that is run as code."""
    ran, evaluate = [], builtins.eval

    def recorded(source, *rest, **options):
        if isinstance(source, CodeType):  # an annotation
            return evaluate(source, *rest, **options)
        ran.append(source)

    monkeypatch.setattr("builtins.eval", recorded)
    for name in ("os.system", "subprocess.Popen", "operator.methodcaller"):
        monkeypatch.setattr(name, lambda *arguments, **options: ran.append(arguments))
    return ran


def payload_of(path):
    return path.read_bytes().partition(b"\n")[2]


def wrapped(payload, version=FORMAT_VERSION):
    """A file whose header fits its content."""
    checksum = hashlib.sha256(payload).hexdigest()
    return f"ffmlp model {version} {checksum} {len(payload)}\n".encode() + payload


def changed(content, change):
    """The content of a file after a change of its JSON values and of its other members.

    The change may return another text of the JSON.
    """
    with zipfile.ZipFile(io.BytesIO(content.partition(b"\n")[2])) as old:
        members = {name: old.read(name) for name in old.namelist()}
    form, out = json.loads(members.pop("model.json")), io.BytesIO()
    text = change(form, members) or json.dumps(form)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name, member in members.items():
            new.writestr(name, member)
        new.writestr("model.json", text)
    return wrapped(out.getvalue())


def with_text(content, old, new):
    """The content of a file, another text in its JSON."""

    def change(form, members):
        assert old in json.dumps(form)
        return json.dumps(form).replace(old, new)

    return changed(content, change)


@cache
def honest_model():
    """The content of the model file of a table, with trees, and missing cells in the table."""
    X, y = mixed_table()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        table_model(designed("readout with trees", X[["age", "fare", "sex", "town"]], y)).save(path)
        return path.read_bytes()


def places(value):
    """Each list and object in JSON values, with each index or name in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        yield value, key
        if isinstance(part, dict | list):
            yield from places(part)


def files_with_a_changed_type(content, n_files, parts=("network", "classifier"), seed=1):
    """Files with a fitting checksum in which a type or the name of an array is another one."""
    rng = np.random.default_rng(seed)

    def change(form, members):
        found = [place for part in parts for place in places(form[part])]
        keys = ["type"] if rng.integers(2) else ["weights", "biases", "pairs", "codes", "even", "values"]
        found = [place for place in found if place[1] in keys]
        others = [part[key] for part, key in found]
        part, key = found[rng.integers(len(found))]
        choices = others + _STRANGE_TYPES + sorted(members)
        part[key] = choices[rng.integers(len(choices))]

    return [changed(content, change) for _ in range(n_files)]


def with_pickled_arrays(content):
    """The content with pickled objects in the place of its arrays, which are told in `unpickled`."""
    pickled = io.BytesIO()
    np.save(pickled, np.array([_Command()], object), allow_pickle=True)
    return changed(
        content, lambda form, members: members.update(dict.fromkeys(members, pickled.getvalue()))
    )


unpickled = []


class _Command:
    def __reduce__(self):
        return _run, ()


def _run():
    unpickled.append("something")


def refusal(path, readers=(read_predictor, TableModel.load)):
    """The message of both readers of a model file, which must be the same."""
    messages = set()
    for read in readers:
        with pytest.raises(ValueError) as caught:
            read(path)
        messages.add(str(caught.value))
    (message,) = messages
    return message


def refusal_of_the_whole(path):
    """The message about a part that a prediction does not use: the other reader takes the file."""
    assert read_predictor(path) is not None
    return refusal(path, (ffmlp.load,))


def table_model(clf):
    numbers, categories = ("age", "fare"), ("sex", "town")
    return TableModel(numbers, categories, "class", None, Dialect(), {"rows": 10}, clf)
