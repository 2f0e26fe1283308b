"""What the tree promises: which package needs which, and that some things are said in one place."""

import ast
import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ffmlp

SOURCE = Path(ffmlp.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


NAMES = {name_of(path) for path in MODULES}


def imported_modules(path):
    """The modules of this package that a module imports, inside of functions too, but not for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ffmlp":
            module = tuple(node.module.split(".")[1:])
            for alias in node.names:
                yield (*module, alias.name) if (*module, alias.name) in NAMES else module
        elif isinstance(node, ast.Import):
            yield from (tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("ffmlp."))


def test_imports_between_packages_have_no_cycle():
    graph = {}
    for path in MODULES:
        package = name_of(path)[:1]
        needed = {module[:1] for module in imported_modules(path)} - {package, ()}
        graph.setdefault(package, set()).update(needed)
    graph.pop((), None)  # the names of `ffmlp` itself are imported when they are first used
    order = list(TopologicalSorter(graph).static_order())
    assert (
        order.index(("inputs",))
        < order.index(("network",))
        < order.index(("design",))
        < order.index(("classifier",))
    )


def test_imports_between_modules_have_no_cycle():
    graph = {name_of(path): set(imported_modules(path)) - {()} for path in MODULES if name_of(path)}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("design", ["paper", "region", "blob", "readout"])
def test_a_network_predicts_with_numpy_alone(design, tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = ffmlp.FFMLPClassifier(design=design, random_state=0).fit(X, y)
    ffmlp.save(clf, tmp_path / "m")
    script = f"""
import sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sklearn", "scipy", "pandas", "joblib", "threadpoolctl"):
            raise ImportError(name)
sys.meta_path.insert(0, Refused())
import json
from pathlib import Path
import numpy as np
import ffmlp.network
from ffmlp.storage.model_files import read_network
network = read_network(Path({str(tmp_path / "m")!r})).network
samples = np.array({X[::15].tolist()})
winners = network.classes(samples)
network.responses(samples), network.forward(samples), network.confidences(samples)
network.leads(samples, winners), network.meaning(2, 0), network._repr_html_()
print(json.dumps([network.labels[winners].tolist(), network.probabilities(samples).tolist()]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    labels, probabilities = json.loads(done.stdout)
    assert labels == clf.predict(X[::15]).tolist()
    np.testing.assert_array_equal(probabilities, clf.predict_proba(X[::15]))


def test_only_designs_and_storage_know_the_stages_by_name():
    """What depends on the design is a method of its stages."""
    stages = ("RegionStages", "PaperStages", "BlobStages", "ReadoutStages", "TrainedStages")
    for path in MODULES:
        folder = path.relative_to(SOURCE).parts[0]
        if folder in ("network", "storage") or folder == "design":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(stages)
        # A trained module becomes a network of trained stages.
        assert used <= ({"TrainedStages"} if path.name == "torch_module.py" else set()), path


def test_missing_extras_are_reported_in_one_place():
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if path.name != "extras.py":
            assert "find_spec(" not in text.replace("def find_spec(", ""), path
            assert "pip install" not in text, path
            compiled = "as compiled" in text
            assert compiled or "except ImportError" not in text, path


def test_the_names_of_the_package_are_the_public_ones():
    assert dir(ffmlp) == sorted(ffmlp.__all__)
