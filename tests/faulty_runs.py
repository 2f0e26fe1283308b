"""Commands to which something happens, and what they may leave."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from iris_files import fit_iris

import ffmlp
from ffmlp.benchmark.runs import BenchmarkRun
from ffmlp.report.records import read_records

# Moments of each fault and command; for a long run, set a larger number.
MOMENTS = int(os.environ.get("FFMLP_FAULTS", "1"))
TEMPORARY = re.compile(r"\.ffmlp-[0-9a-f]{16}")


@dataclass(frozen=True)
class Command:
    """A command, the path that it writes, if any, and what it reads from standard input."""

    arguments: str
    output: str | None = None
    stdin: str | None = None
    resumes: bool = False

    @property
    def words(self):
        target = [] if self.output is None else ["--out" if self.resumes else "-o", self.output]
        return [*self.arguments.split(), *target]


FIT = "--target species --id flower --design blob --n-components 1"
BENCHMARK = "benchmark --data iris.csv --target species --splits 1 --models lda ffmlp-blob"
COMMANDS = {
    "fit": Command(f"fit iris.csv {FIT}", "out/new.model"),
    "fit stdin": Command(f"fit - {FIT}", "out/new.model", "iris.csv"),
    "predict csv": Command("predict iris.model new.csv --proba --block-rows 20", "out/p.csv"),
    "predict gz": Command("predict iris.model new.csv --keep --block-rows 20", "out/p.csv.gz"),
    "predict parquet": Command("predict iris.model new.csv --block-rows 20", "out/p.parquet"),
    "predict folder": Command("predict iris.model parts", "out/p"),
    "predict stdin": Command("predict iris.model -", "out/p.csv", "new.csv"),
    "predict stdout": Command("predict iris.model new.csv -o -"),
    "evaluate": Command("evaluate iris.model iris.csv"),
    "explain": Command("explain iris.model iris.csv --row 2 --counterfactual"),
    "inspect": Command("inspect iris.model"),
    "drift": Command("drift iris.model iris.csv new.csv", "out/d.png"),
    "report": Command("report iris.model iris.csv", "out/r.html"),
    "export onnx": Command("export iris.model --to onnx", "out/m.onnx"),
    "export text": Command("export iris.model --to text", "out/m.txt"),
    "benchmark": Command(BENCHMARK, "out/b", resumes=True),
    "reproduce": Command("reproduce --rows iris --splits 2 --quick --jobs 1", "out/r", resumes=True),
}


class Server:
    """The process that runs commands; see `fault_server`."""

    def __init__(self, temporary):
        tests, source = Path(__file__).parent, Path(ffmlp.__file__).parents[1]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{source}{os.pathsep}{tests}",
            "OMP_NUM_THREADS": "1",
        }
        environment |= {"OPENBLAS_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0"}
        command = [sys.executable, str(tests / "fault_server.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, env=environment, **pipes)
        self.temporary = temporary

    def run(self, *runs):
        """The outcomes of commands that run at the same time."""
        self._process.stdin.write(json.dumps(runs) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Bench:
    """Runs commands in new folders with the same inputs; knows how each ends without a fault."""

    def __init__(self, root):
        self._root, self._n_folders, self._references = root, 0, {}
        self.inputs, temporary = root / "inputs", root / "temporary"
        for folder in (self.inputs, temporary, self.inputs / "parts"):
            folder.mkdir()
        self.server = Server(temporary)
        _, frame = fit_iris(self.inputs)
        frame.to_csv(self.inputs / "new.csv", index=False)
        frame[:60].to_parquet(self.inputs / "parts" / "a.parquet")
        frame[60:].to_parquet(self.inputs / "parts" / "b.parquet")

    def folder(self):
        """A new folder with the inputs."""
        self._n_folders += 1
        folder = self._root / str(self._n_folders)
        shutil.copytree(self.inputs, folder)
        (folder / "out").mkdir()
        return folder

    def request(self, name, folder, *options, **fault):
        """What the server is asked to do."""
        command = COMMANDS[name]
        stdin = None if command.stdin is None else str(folder / command.stdin)
        return {"arguments": [*command.words, *options], "folder": str(folder), "stdin": stdin,
                "temporary": str(self.server.temporary), **fault}  # fmt: skip

    def run(self, name, folder, *options, **fault):
        """How a command ended."""
        (outcome,) = self.server.run(self.request(name, folder, *options, **fault))
        return outcome

    def reference(self, name):
        """A run without faults: how it ended, and what it wrote."""
        if name not in self._references:
            folder = self.folder()
            outcome = self.run(name, folder)
            assert outcome["code"] == 0, outcome
            self._references[name] = outcome, content(folder, name), folder / "out"
        return self._references[name][:2]

    def written(self, name):
        """A new folder with the inputs, and with what the command has written."""
        folder = self.folder()
        shutil.copytree(self._references[name][2], folder / "out", dirs_exist_ok=True)
        return folder

    def leftovers(self, folder):
        """Temporary files and folders that were not removed."""
        names = [*folder.rglob("*"), *self.server.temporary.iterdir()]
        return [
            path for path in names if path.name.startswith(".") or path.parent == self.server.temporary
        ]


def content(folder, name):
    """The files that a command wrote, by their names; None if there are none."""
    output = COMMANDS[name].output
    path = None if output is None else folder / output
    if path is None or not path.exists():
        return None
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return {str(file.relative_to(folder)): _timeless(file, name) for file in files}


def _timeless(file, name):
    """What does not differ from run to run: models and benchmarks have the times of fits."""
    if file.suffix == ".gz":
        return gzip.decompress(file.read_bytes())
    if file.suffix == ".model":
        return ffmlp.export_text(ffmlp.load(file))
    if name != "benchmark" or file.suffix == ".json":
        return file.read_bytes()
    if file.suffix == ".csv":
        times = dict.fromkeys(("fit_seconds", "predict_seconds"))
        return [replace(run, **times) for run in read_records(file, BenchmarkRun)]
    return file.read_bytes()[-8:] if file.suffix != ".md" else b""  # the ends of pages and pictures


def moments(rng, reference):
    """Random moments of a run like this one: at an event, or after some seconds."""
    for _ in range(MOMENTS):
        if rng.integers(2):
            yield {"seconds": rng.random() * reference["seconds"]}
        else:
            yield {"event": int(rng.integers(1, reference["n_events"] + 1))}
