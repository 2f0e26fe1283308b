"""Inputs on which an attack once succeeded: they are checked again, without sanitizers."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("ffmlp.network._trees", reason="not compiled")
for name in ("pandas", "pyarrow", "onnx", "onnxruntime"):
    pytest.importorskip(name)

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
INPUTS = sorted(CORPUS.glob("*/*.input"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_once_failed_does_not_fail_again(path):
    assert import_module(f"fuzz.{path.parent.name}").check(path.read_bytes())
