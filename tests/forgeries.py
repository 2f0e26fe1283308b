"""Model files as someone with bad intentions would write them."""

import hashlib
import io
import json
import zipfile

import numpy as np

from ffmlp.model_files import FORMAT_VERSION

_STRANGE_KINDS = [
    ("os", "system", "FunctionNode"),
    ("builtins", "eval", "TypeNode"),
    ("subprocess", "Popen", "ConstructorFromReduceNode"),
    ("operator", "methodcaller", "OperatorFuncNode"),
    ("ffmlp.readout", "Readout", "ObjectNode"),
    ("numpy", "bool", "NdArrayNode"),
    ("numpy", "float32", "NdArrayNode"),
]


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


def files_with_a_changed_type(payload, n_files, seed=1):
    """Files with a fitting checksum in which one type is exchanged for another, trusted or not."""
    schema = json.loads(zipfile.ZipFile(io.BytesIO(payload)).read("schema.json"))
    text = json.dumps(schema)
    nodes = [node for node in nodes_of(schema) if node["__loader__"] != "JsonNode"]
    kinds = sorted({(node["__module__"], node["__class__"], node["__loader__"]) for node in nodes})
    rng = np.random.default_rng(seed)
    for _ in range(n_files):
        changed = json.loads(text)
        places = [node for node in nodes_of(changed) if node["__loader__"] != "JsonNode"]
        # A kind first: most places are the types of dictionary keys.
        kind = kinds[rng.integers(len(kinds))]
        places = [node for node in places if (node["__module__"], node["__class__"]) == kind[:2]]
        node = places[rng.integers(len(places))]
        choice = (kinds + _STRANGE_KINDS)[rng.integers(len(kinds) + len(_STRANGE_KINDS))]
        node["__module__"], node["__class__"] = choice[:2]
        if rng.integers(2):
            node["__loader__"] = choice[2]
        yield wrapped(with_schema(payload, lambda _, new=changed: json.dumps(new)))


def nodes_of(schema):
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from nodes_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes_of(value)
