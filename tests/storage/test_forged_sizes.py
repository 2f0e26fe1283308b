"""Model files with a fitting checksum that are small, and would take much memory."""

import io
import json
import subprocess
import sys
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from forgeries import changed, honest_model, refusal, table_model
from problems import DESIGNS

import ffmlp
from ffmlp.design.pruning import PruningPath
from ffmlp.storage import model_files

pytest.importorskip("pandas")
# Megabytes that a forged file may take beyond an honest one.
MOST_MEGABYTES = 300


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def with_zeros(form, members):
    """An array that is 1000 times as large as the file."""
    members[form["classifier"]["pruning_path"]["deleted"]] = npy(np.zeros(60_000_000, np.int64))


def with_spaces(form, members):
    return json.dumps(form) + 400_000_000 * " "


def with_one_array_many_times(form, members):
    form["network"]["columns"]["parts"] += 50 * form["network"]["columns"]["parts"][-1:]


def with_empty_lists(form, members):
    form["metadata"]["more"] = [[] for _ in range(1_500_000)]


def with_many_values(form, members):
    """As large a JSON as a file of 9 MB may have."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    form["metadata"]["more"] = [[] for _ in range(3_000_000)]
    return json.dumps(form, separators=(",", ":"))


def with_a_long_text_and_zeros(form, members):
    """One character that takes 4 bytes in memory, and so do all others of its text."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    path = form["classifier"]["pruning_path"]
    members[path["deleted"]] = npy(np.zeros(5_300_000, int))
    members[path["error_rates"]] = npy(np.zeros(5_300_000))
    form["metadata"]["more"] = 12_000_000 * "x" + "\N{GRINNING FACE}"
    return json.dumps(form, ensure_ascii=False)


def with_a_longer_array(form, members):
    """The header of an array says that it is larger than it is."""
    members[form["network"]["hyperplanes"]["biases"]] = npy(np.zeros(10**6))[:200]


def with_a_long_header(form, members):
    """The header of an array is longer than any other."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + 100_000_000 * b" " + b"\n"
    content = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header
    members[form["network"]["hyperplanes"]["biases"]] = content + np.zeros(1).tobytes()


def with_an_array_that_nothing_names(form, members):
    members["zeros.npy"] = npy(np.zeros(60_000_000))


SIZES = [
    *(with_zeros, with_spaces, with_empty_lists, with_many_values, with_a_longer_array),
    *(with_a_long_header, with_an_array_that_nothing_names, with_a_long_text_and_zeros),
]


@pytest.fixture(scope="module")
def forged_sizes(tmp_path_factory):
    """A folder of files with sizes that are not those of a model."""
    folder = tmp_path_factory.mktemp("forged")
    for change in SIZES:
        (folder / change.__name__).write_bytes(changed(honest_model(), change))
    return folder


@pytest.mark.parametrize("change", SIZES)
def test_sizes_are_limited_before_anything_is_unpacked(change, forged_sizes):
    message = refusal(forged_sizes / change.__name__)
    assert "does not hold a usable model" in message
    assert "bytes" in message


def megabytes_beyond(honest, paths, is_read):
    """The most memory that both readers take beyond a file, in a process of their own."""
    program = """
import re, sys
from pathlib import Path
import ffmlp
from ffmlp.tabular.predictor import read_predictor
def peak():
    # Unlike the peak of `resource`, not at least that of the process that started this one.
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024
readers = ffmlp.load, read_predictor
for read in readers:
    read(Path(sys.argv[2]))
before = peak()
for path in map(Path, sys.argv[3:]):
    for read in readers:
        try:
            read(path)
            is_read = True
        except ValueError:
            is_read = False
        if is_read != (sys.argv[1] == "True"):
            raise SystemExit(f"{path} was {'read' if is_read else 'refused'}")
print(peak() - before)
"""
    arguments = [sys.executable, "-c", program, str(is_read), str(honest), *map(str, paths)]
    return int(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in another unit")


@on_linux
def test_forged_sizes_take_little_memory(forged_sizes, tmp_path):
    """A long text and large arrays, each alone, are as large as a file of 9 MB allows."""
    (tmp_path / "honest").write_bytes(honest_model())
    paths = sorted(forged_sizes.iterdir())
    assert megabytes_beyond(tmp_path / "honest", paths, False) < MOST_MEGABYTES


def test_one_array_is_not_read_many_times(tmp_path):
    (tmp_path / "m").write_bytes(changed(honest_model(), with_one_array_many_times))
    assert "or it is there twice" in refusal(tmp_path / "m")


@on_linux
@pytest.mark.parametrize("design", DESIGNS)
def test_copies_of_one_hyperplane_take_little_memory(models, design, tmp_path):
    """They take some kilobytes in a file."""
    clf = copy(models[design])
    clf.network_ = with_copies(clf.network_, 300_000)
    clf.pruning_path_ = PruningPath(np.zeros(0, int), np.zeros(0), 0.5, np.arange(300_000))
    table_model(models[design]).save(tmp_path / "honest")
    table_model(clf).save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1_000_000
    assert megabytes_beyond(tmp_path / "honest", [tmp_path / "m"], True) < MOST_MEGABYTES


def with_copies(network, number):
    """The network with a number of copies of its first hyperplane, as both readers accept it."""
    some, stages = np.zeros(number, int), network.stages
    changes = {
        name: getattr(stages, name)[some] for name in ("pairs", "even", "odd") if hasattr(stages, name)
    }
    if hasattr(stages, "regions"):
        changes["regions"] = replace(
            stages.regions, codes=stages.regions.codes[:4, some], counts=stages.regions.counts[:4]
        )
    return replace(
        network, hyperplanes=network.hyperplanes.select(some), stages=replace(stages, **changes)
    )


def test_what_compresses_well_is_saved_so_that_it_is_read(models, tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "MOST_BYTES", 500_000)
    clf = copy(models["region"])
    n_kept = len(clf.pruning_path_.kept)
    clf.pruning_path_ = PruningPath(
        np.arange(n_kept, n_kept + 10**6), np.zeros(10**6), 0.5, np.arange(n_kept)
    )
    ffmlp.save(clf, tmp_path / "m")
    assert len(ffmlp.load(tmp_path / "m").pruning_path_.deleted) == 10**6
    ffmlp.save(models["region"], tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < 50_000
