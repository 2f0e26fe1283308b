"""Model files as someone with bad intentions would write them."""

import builtins
import hashlib
import io
import json
import zipfile
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

from ffmlp.storage.model_files import FORMAT_VERSION
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import read_predictor
from ffmlp.tabular.table_model import TableModel

DATA = Path(__file__).parent / "data"
_STRANGE_KINDS = [
    ("os", "system", "FunctionNode"),
    ("builtins", "eval", "TypeNode"),
    ("subprocess", "Popen", "ConstructorFromReduceNode"),
    ("operator", "methodcaller", "OperatorFuncNode"),
    ("ffmlp.design.least_squares", "Readout", "ObjectNode"),
    ("numpy", "bool", "NdArrayNode"),
    ("numpy", "float32", "NdArrayNode"),
]


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


def with_schema(payload, change):
    """The payload after a change of the text of its schema."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content.decode()) if name == "schema.json" else content)
    return out.getvalue()


def files_with_a_changed_type(payload, n_files, parts=None, seed=1):
    """Files with a fitting checksum in which one type is exchanged for another, trusted or not.

    Of the whole model, or of some attributes of its classifier.
    """
    schema = json.loads(zipfile.ZipFile(io.BytesIO(payload)).read("schema.json"))
    text = json.dumps(schema)
    nodes = [node for node in _changeable(schema, parts) if node["__loader__"] != "JsonNode"]
    kinds = sorted({(node["__module__"], node["__class__"], node["__loader__"]) for node in nodes})
    rng = np.random.default_rng(seed)
    for _ in range(n_files):
        changed = json.loads(text)
        places = [node for node in _changeable(changed, parts) if node["__loader__"] != "JsonNode"]
        # A kind first: most places are the types of dictionary keys.
        kind = kinds[rng.integers(len(kinds))]
        places = [node for node in places if (node["__module__"], node["__class__"]) == kind[:2]]
        node = places[rng.integers(len(places))]
        choice = (kinds + _STRANGE_KINDS)[rng.integers(len(kinds) + len(_STRANGE_KINDS))]
        node["__module__"], node["__class__"] = choice[:2]
        if rng.integers(2):
            node["__loader__"] = choice[2]
        yield wrapped(with_schema(payload, lambda _, new=changed: json.dumps(new)))


def _changeable(schema, parts):
    if parts is None:
        return list(nodes_of(schema))
    (classifier,) = (node for node in nodes_of(schema) if node["__class__"] == "classifier")
    attributes = classifier["content"]["content"]
    return [node for part in parts for node in nodes_of(attributes[part])]


def with_pickled_arrays(payload):
    """The payload with pickled objects in the place of its arrays, which are told in `unpickled`."""
    out, pickled = io.BytesIO(), io.BytesIO()
    np.save(pickled, np.array([_Command()], object), allow_pickle=True)
    with zipfile.ZipFile(io.BytesIO(payload)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickled.getvalue() if name.endswith(".npy") else old.read(name))
    return out.getvalue()


unpickled = []


class _Command:
    def __reduce__(self):
        return _run, ()


def _run():
    unpickled.append("something")


def refusal(path):
    """The message of both readers of a model file, which must be the same."""
    messages = []
    for read in (read_predictor, TableModel.load):
        with pytest.raises(ValueError) as caught:
            read(path)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    return messages[0]


def nodes_of(schema):
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from nodes_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes_of(value)


def table_model(clf):
    numbers, categories = ("age", "fare"), ("sex", "town")
    return TableModel(numbers, categories, "class", None, Dialect(), {"rows": 10}, clf)


def forged(change):
    """The stored model of a table after a change of its schema and of its other members."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload_of(DATA / "columns-2.model"))) as old:
        members = {name: old.read(name) for name in old.namelist()}
    schema = json.loads(members.pop("schema.json"))
    text = change(schema, members) or json.dumps(schema)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name, member in members.items():
            new.writestr(name, member)
        new.writestr("schema.json", text)
    return wrapped(content.getvalue())


def attributes(schema, tag):
    (part,) = (node for node in nodes_of(schema) if node["__class__"] == tag)
    return part["content"]["content"]
