import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the C library is found by name elsewhere")

NOISE = 'b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" + bytes([10])'


def output(script):
    start = f"import ctypes, os\nNOISE = {NOISE}\n"
    start += "from ffmlp.robustness.stray_output import without_stray_output\n"
    run = [sys.executable, "-c", start + script]
    return subprocess.run(run, capture_output=True, text=True, check=True)


def test_only_the_stray_message_is_left_out():
    done = output("""
print("before")
with without_stray_output:
    ctypes.CDLL(None).printf(NOISE)
    print("between", flush=True)
    ctypes.CDLL(None).printf(b"other" + bytes([10]))
    os.write(2, b"error")
print("after")
""")
    assert sorted(done.stdout.split()) == ["after", "before", "between", "other"]
    assert done.stdout.endswith("after\n")
    assert done.stderr == "error"


def test_threads_share_the_filter():
    done = output("""
from concurrent.futures import ThreadPoolExecutor

def noisy(number):
    with without_stray_output:
        ctypes.CDLL(None).printf(NOISE)
        os.write(1, b"%d," % number)

with ThreadPoolExecutor(8) as pool:
    list(pool.map(noisy, range(200)))
os.write(1, b"end")
""")
    *numbers, end = done.stdout.split(",")
    assert sorted(map(int, numbers)) == list(range(200))
    assert end == "end"


def test_an_error_passes_through_and_output_is_restored():
    done = output("""
try:
    with without_stray_output:
        ctypes.CDLL(None).printf(NOISE)
        raise ValueError("wrong")
except ValueError as error:
    print(error)
""")
    assert done.stdout == "wrong\n"


def test_a_process_without_standard_output_is_left_alone():
    done = output("""
os.close(1)
with without_stray_output:
    pass
os.write(2, b"fine")
""")
    assert "fine" in done.stderr
