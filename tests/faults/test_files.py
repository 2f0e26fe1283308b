"""Disks that fill up, files that vanish, are cut or cannot be read, and commands that write the same."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pandas")
from faulty_runs import COMMANDS, MOMENTS, content

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and files without names")
WRITERS = [name for name, command in COMMANDS.items() if command.output is not None]
READERS = [name for name in COMMANDS if name != "reproduce"]
FAULTS = {
    "the model vanishes": ["vanish", "iris.model"],
    "the data vanish": ["vanish", "iris.csv", "new.csv", "parts"],
    "the data are cut": ["cut", "iris.csv", "new.csv", "parts/b.parquet"],
    "the data cannot be read": ["unreadable", "iris.csv", "new.csv", "parts"],
    "the folder vanishes": ["vanish", "out"],
    "the folder cannot be written": ["unreadable", "out"],
}


def events(rng, reference):
    return rng.integers(1, reference["n_events"] + 1, MOMENTS).tolist()


def check_outcome(bench, folder, outcome, *parts):
    """Done, or an error in one line; nothing temporary is left."""
    assert outcome["code"] in (0, 2), outcome
    assert "Traceback" not in outcome["errors"], outcome
    if outcome["code"] == 2:
        last = outcome["errors"].splitlines()[-1]
        assert last.startswith("ffmlp: "), last
        assert any(part in last for part in parts), last
    assert bench.leftovers(folder) == [], outcome


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_fills_up_leaves_whole_files(name, bench):
    reference, written = bench.reference(name)
    rng = np.random.default_rng([1, *name.encode()])
    for event in events(rng, reference):
        folder = bench.folder()
        outcome = bench.run(name, folder, fault=["full"], event=event)
        named = COMMANDS[name].output, str(bench.server.temporary)
        check_outcome(bench, folder, outcome, *named)
        found = content(folder, name)
        if COMMANDS[name].resumes:
            assert (found or {}).keys() <= written.keys()
            assert bench.run(name, folder)["code"] == 0
            assert content(folder, name) == written
        else:
            assert found == (written if outcome["code"] == 0 else None)


@pytest.mark.parametrize("name", READERS)
def test_files_that_change_are_reported(name, bench):
    reference, written = bench.reference(name)
    rng = np.random.default_rng([2, *name.encode()])
    for fault, event in zip(rng.choice(list(FAULTS), MOMENTS), events(rng, reference), strict=True):
        folder = bench.folder()
        outcome = bench.run(name, folder, fault=FAULTS[fault], event=event)
        if fault == "the folder cannot be written":  # nor can anything be removed from it
            (folder / "out").chmod(0o755)
            for path in bench.leftovers(folder):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        check_outcome(bench, folder, outcome, *FAULTS[fault][1:], "standard input", "out")
        if outcome["code"] == 2 and not COMMANDS[name].resumes:
            assert content(folder, name) is None
        elif outcome["code"] == 0 and fault not in ("the folder vanishes", "the data are cut"):
            assert content(folder, name) == written


@pytest.mark.parametrize("name", [name for name in WRITERS if not COMMANDS[name].resumes])
def test_a_file_that_another_command_made_is_not_replaced(name, bench):
    reference, written = bench.reference(name)
    rng = np.random.default_rng([3, *name.encode()])
    for event in events(rng, reference):
        folder = bench.folder()
        path = folder / COMMANDS[name].output
        outcome = bench.run(name, folder, fault=["other", str(path)], event=event)
        check_outcome(bench, folder, outcome, COMMANDS[name].output)
        if path.is_dir():  # the other one came after the end
            assert outcome["code"] == 0
            assert content(folder, name) == written
        else:
            assert path.read_bytes() == b"of another command"


@pytest.mark.parametrize("name", WRITERS)
def test_of_two_commands_that_write_the_same_one_succeeds_or_replaces(name, bench):
    written = bench.reference(name)[1]
    for force in [[], ["--force"]] * ((MOMENTS + 1) // 2):
        folder, both = bench.folder(), bool(force) or COMMANDS[name].resumes
        options = force if not COMMANDS[name].resumes else []
        outcomes = bench.server.run(*[bench.request(name, folder, *options)] * 2)
        codes = sorted(outcome["code"] for outcome in outcomes)
        assert codes == ([0, 0] if both else [0, 2]), outcomes
        for outcome in outcomes:
            check_outcome(bench, folder, outcome, COMMANDS[name].output)
        assert content(folder, name) == written


@pytest.fixture
def small_disk(bench, tmp_path):
    """A folder that holds some kilobytes."""
    if os.geteuid():
        pytest.skip("only the superuser may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_small_disk_stays_empty(name, bench, small_disk):
    command, folder = COMMANDS[name], bench.folder()
    (folder / "out").rmdir()
    (folder / "out").symlink_to(small_disk)
    outcome = bench.run(name, folder)
    check_outcome(bench, folder, outcome, command.output)
    if not command.resumes:
        assert outcome["code"] == 2 or content(folder, name) == bench.reference(name)[1]
        assert outcome["code"] == 0 or list(small_disk.iterdir()) == []
