"""What the tree promises: which package needs which, and that some things are said in one place."""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ffmlp

SOURCE = Path(ffmlp.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# Modules that only one other module of their package imports, and why they are not part of it.
READ_ALONE = {
    "design.trees.growth": "how a tree grows, in integers; its correction of a readout comes after",
    "export.verifiers": "what verifiers read, a way out beside ONNX",
    "network.quick_classes": "a fast way to the classes, with the plain way as its oracle",
    "robustness.nearest_change": "a branch and bound with its proof, one of several exact methods",
    "tables.parquet_tables": "the parser of one format",
    "tables.text_tables": "the parser of one format",
}


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


NAMES = {name_of(path): path for path in MODULES}


def imports(path):
    """The module and the names of each import from this package, in functions too, but not for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ffmlp":
            yield tuple(node.module.split(".")[1:]), [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("ffmlp.")]
            yield from ((tuple(name.split(".")[1:]), []) for name in names)


def imported_modules(path):
    """The modules of this package that a module imports."""
    for module, names in imports(path):
        for name in names:
            yield (*module, name) if (*module, name) in NAMES else module
        if not names:
            yield module


def importers():
    """The modules that import each module, also by way of a package that passes its names on."""
    packages = [path for path in MODULES if path.name == "__init__.py"]
    passed_on = {
        (*name_of(package), name): module
        for package in packages
        for module, names in imports(package)
        for name in names
    }
    users = defaultdict(set)
    for path in set(MODULES) - set(packages):
        for module, names in imports(path):
            for imported in [(*module, name) for name in names] or [module]:
                source = imported if imported in NAMES else passed_on.get(imported, module)
                users[source].add(name_of(path))
    return users


def is_half(module):
    """Whether one thing has a module in ``network/``, where it predicts, and in ``design/``."""
    return all((room, *module[1:]) in NAMES for room in ("network", "design"))


def test_a_file_name_occurs_once():
    """Apart from commands, and from modules that are halves of one thing."""
    files = defaultdict(list)
    for module, path in NAMES.items():
        if path.name != "__init__.py" and module[0] != "cli":
            files[module[-1]].append(module)
    for first, *others in files.values():
        assert not others or (len(others) == 1 and is_half(first)), [first, *others]


def test_a_module_that_one_other_of_its_package_imports_is_part_of_it():
    """Apart from commands, halves of one thing, and modules that are read on their own."""
    alone = {}
    for module, (first, *others) in importers().items():
        is_module = module in NAMES and NAMES[module].name != "__init__.py"
        inside = first[:-1] == module[:-1] and not others
        if is_module and inside and module[0] != "cli" and not is_half(module):
            alone[".".join(module)] = ".".join(first)
    assert alone.keys() == READ_ALONE.keys(), alone


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
    for name in ffmlp.__all__:
        assert getattr(ffmlp, name).__name__ == name
    with pytest.raises(AttributeError, match="'ffmlp' has no attribute 'nothing'"):
        ffmlp.nothing  # noqa: B018


def test_the_command_line_starts_without_scikit_learn():
    code = "import sys, ffmlp.cli; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
