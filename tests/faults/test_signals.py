"""Commands that are killed, ended or interrupted at any moment: what they write is whole or absent."""

import os
import sys

import numpy as np
import pytest

pytest.importorskip("pandas")
from faulty_runs import COMMANDS, TEMPORARY, content, moments

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and files without names")
CODES = {"SIGKILL": -9, "SIGTERM": 143, "SIGINT": 130}


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_leaves_whole_files_and_no_others(name, number, bench):
    rng = np.random.default_rng([*name.encode(), *number.encode()])
    for moment in moments(rng, bench.reference(name)[0]):
        check_signal(bench, name, number, moment, replaces=bool(rng.integers(2)))


def check_signal(bench, name, number, moment, replaces):
    command, (reference, written) = COMMANDS[name], bench.reference(name)
    replaces = replaces and command.output is not None and not command.resumes
    folder = bench.written(name) if replaces else bench.folder()
    force = ["--force"] if replaces else []
    outcome = bench.run(name, folder, *force, fault=[number], **moment)
    # It may come after the end, and a library may raise its own error in its place.
    assert outcome["code"] in (0, 2, CODES[number]), outcome
    if not outcome["errors"].startswith("Exception ignored"):  # it came in a destructor
        assert "Traceback" not in outcome["errors"], outcome
    left = bench.leftovers(folder)
    if number == "SIGKILL":
        assert all(TEMPORARY.fullmatch(path.name) and path.parent == folder / "out" for path in left)
    else:
        assert left == [], (moment, outcome)
    found = content(folder, name)
    if command.resumes:
        assert (found or {}).keys() <= written.keys()
    else:
        assert found == written or (found is None and not replaces and outcome["code"] != 0), moment
    for path in left:
        os.utime(path, (0, 0))  # long ago
    if left or command.resumes:
        again = [] if command.output is None or command.resumes else ["--force"]
        assert bench.run(name, folder, *again)["code"] == 0
        assert content(folder, name) == written
        assert bench.leftovers(folder) == []
    if outcome["code"] == 0 and command.output is None and name != "inspect":
        assert outcome["output"] == reference["output"]
