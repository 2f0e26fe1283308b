"""Model files with a fitting checksum that are small, and would take much memory."""

import io
import json
import subprocess
import sys
from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
import pytest
from forgeries import DATA, attributes, forged, refusal, table_model
from problems import DESIGNS

import ffmlp
from ffmlp.storage import archives

pytest.importorskip("pandas")
pytest.importorskip("skops")
# Megabytes that a forged file may take beyond an honest one.
MOST_MEGABYTES = 300


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def with_zeros(schema, members):
    """An array that is 1000 times as large as the file."""
    members["zeros.npy"] = npy(np.zeros(60_000_000, np.int64))
    attributes(schema, "pruning-path")["deleted"]["file"] = "zeros.npy"


def with_spaces(schema, members):
    return json.dumps(schema) + 400_000_000 * " "


def with_one_array_many_times(schema, members):
    members["zeros.npy"] = npy(np.zeros(4_000_000))
    timings, array = attributes(schema, "classifier")["timings_"], attributes(schema, "selection")
    for number in range(50):
        timings["content"][f"step {number}"] = {**array["log_losses"], "file": "zeros.npy"}
        timings["key_types"]["content"].append(deepcopy(timings["key_types"]["content"][0]))


def with_empty_lists(schema, members):
    return json.dumps({**schema, "more": [[] for _ in range(1_500_000)]})


def with_many_values(schema, members):
    """As large a schema as a file of 9 MB may have."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    return json.dumps({**schema, "more": [[] for _ in range(3_000_000)]}, separators=(",", ":"))


def with_a_long_text_and_zeros(schema, members):
    """One character that takes 4 bytes in memory, and so do all others of its text."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    members["zeros.npy"], members["more.npy"] = npy(np.zeros(5_300_000, int)), npy(np.zeros(5_300_000))
    path, metadata = attributes(schema, "pruning-path"), schema["content"]["metadata"]
    path["deleted"]["file"], path["error_rates"]["file"] = "zeros.npy", "more.npy"
    long = json.loads(json.loads(metadata["content"])) | {"more": 12_000_000 * "x" + "\N{GRINNING FACE}"}
    metadata["content"] = json.dumps(json.dumps(long, ensure_ascii=False), ensure_ascii=False)
    return json.dumps(schema, ensure_ascii=False)


def with_a_longer_array(schema, members):
    """The header of an array says that it is larger than it is."""
    name = attributes(schema, "hyperplanes")["biases"]["file"]
    members[name] = npy(np.zeros(10**6))[:200]


def with_an_array_that_nothing_names(schema, members):
    """It is not read; the model is as it was."""
    members["zeros.npy"] = npy(np.zeros(60_000_000))


SIZES = [
    *(with_zeros, with_spaces, with_one_array_many_times, with_empty_lists),
    *(with_many_values, with_a_longer_array),
]


@pytest.fixture(scope="module")
def forged_sizes(tmp_path_factory):
    """A folder of files with sizes that are not those of a model."""
    folder = tmp_path_factory.mktemp("forged")
    for change in SIZES:
        (folder / change.__name__).write_bytes(forged(change))
    return folder


@pytest.mark.parametrize("change", SIZES)
def test_sizes_are_limited_before_anything_is_unpacked(change, forged_sizes):
    message = refusal(forged_sizes / change.__name__)
    assert "does not hold a usable model" in message
    assert "bytes" in message


def megabytes_beyond(honest, paths, is_read):
    """The most memory that both readers take beyond a file, in a process of their own."""
    program = """
import resource, sys
from pathlib import Path
import ffmlp
from ffmlp.tabular.predictor import read_predictor
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
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
    honest, unnamed = DATA / "columns-2.model", tmp_path / "unnamed.model"
    unnamed.write_bytes(forged(with_an_array_that_nothing_names))
    assert megabytes_beyond(honest, sorted(forged_sizes.iterdir()), False) < MOST_MEGABYTES
    assert megabytes_beyond(honest, [unnamed], True) < MOST_MEGABYTES


@on_linux
def test_long_texts_and_large_arrays_together_take_little_memory(tmp_path):
    """Each alone is as large as a file of 9 MB allows."""
    (tmp_path / "m").write_bytes(forged(with_a_long_text_and_zeros))
    assert megabytes_beyond(DATA / "columns-2.model", [tmp_path / "m"], False) < MOST_MEGABYTES


@on_linux
@pytest.mark.parametrize("design", DESIGNS)
def test_copies_of_one_hyperplane_take_little_memory(models, design, tmp_path):
    """They take some kilobytes in a file."""
    clf = copy(models[design])
    clf.network_ = with_copies(clf.network_, 300_000)
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
    monkeypatch.setattr(archives, "ARRAY_BYTES", 500_000)
    clf = copy(models["region"])
    clf.pruning_path_ = replace(
        clf.pruning_path_, deleted=np.zeros(10**6, int), error_rates=np.zeros(10**6)
    )
    ffmlp.save(clf, tmp_path / "m")
    assert len(ffmlp.load(tmp_path / "m").pruning_path_.deleted) == 10**6
    ffmlp.save(models["region"], tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < 50_000
