"""A process that runs commands in copies of itself, to each of which something happens.

It reads requests as lines of JSON and answers each with one. Packages are imported once, so that a
command takes no longer than its work.
"""

import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path

from reproduction_runs import all_runs

PACKAGES = ["matplotlib.figure", "onnx", "pandas", "pyarrow.parquet", "tqdm", "daqp"]
MODULES = ["benchmark.leaderboard", "benchmark.runs", "export", "plots", "report.layout",
           "reproduction.findings", "reproduction.figures", "tabular.predictions"]  # fmt: skip
# What the moments of faults are counted by: whatever opens or changes files.
EVENTS = ("open", "os.", "shutil.", "tempfile.")
WAITING = (signal.SIGINT, signal.SIGTERM)
# Bytes of output that need no reader.
PIPE = 2**20
# Rights of the superuser to read and write what it has no permission for.
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
CAPABILITY_VERSION = 0x20080522


def serve():
    """Answer one request after the other."""
    from ffmlp import cli
    from ffmlp.reproduction import experiments

    for name in [*PACKAGES, *(f"ffmlp.{module}" for module in MODULES)]:
        import_module(name)
    # The files are the point: their content takes minutes.
    experiments.run_split = lambda row, settings, split: all_runs(row.key, settings.n_splits)
    # Signals wait until the command is ready for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITING)
    parser = cli._parser
    cli._parser = lambda *given: (signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITING), parser(*given))[1]
    for line in sys.stdin:
        processes = [started(cli.main, **request) for request in json.loads(line)]
        print(json.dumps([finished(*process) for process in processes]), flush=True)


def started(main, arguments, folder, temporary, fault=None, event=None, seconds=None, stdin=None):
    """A copy that runs a command, its output, and the signal that it will get."""
    pipes = [os.pipe() for _ in range(3)]  # the output, the errors, and the number of events
    pid = os.fork()
    if not pid:
        for number, end in (
            (0, os.open(stdin or os.devnull, os.O_RDONLY)),
            (1, pipes[0][1]),
            (2, pipes[1][1]),
        ):
            os.dup2(end, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = temporary
        without_rights()
        n_events, code = counted_events(fault, event), 99
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            traceback.print_exc()
        finally:
            os.write(pipes[2][1], str(n_events[0]).encode())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    for _, end in pipes:
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, PIPE)
        os.close(end)
    return pid, [start for start, _ in pipes], fault, seconds, time.monotonic()


def without_rights():
    """Permissions count for the superuser, too."""
    if os.geteuid():
        return
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, in two halves
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.capget(header, sets) == 0
    sets[0] &= ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    assert libc.capset(header, sets) == 0


def counted_events(fault, event):
    """The number of events in this process, in a list; at one of them, the fault happens."""
    count = [0]

    def hook(name, arguments):
        if name.startswith(EVENTS):
            count[0] += 1
            if count[0] == event:
                happen(*fault)

    sys.addaudithook(hook)
    return count


def happen(what, *paths):
    """A signal, a full disk, or a change of files."""
    if what.startswith("SIG"):
        os.kill(os.getpid(), signal.Signals[what])
    elif what == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for path in map(Path, paths):
        if what == "vanish" and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif what == "vanish":
            path.unlink(missing_ok=True)
        elif what == "cut":
            os.truncate(path, path.stat().st_size // 2)
        elif what == "unreadable":
            path.chmod(0)
        elif what == "other":
            path.write_bytes(b"of another command")


def finished(pid, pipes, fault, seconds, start):
    """What became of a copy."""
    if seconds is not None:
        time.sleep(max(0.0, start + seconds - time.monotonic()))
        os.kill(pid, signal.Signals[fault[0]])
    _, status = os.waitpid(pid, 0)
    spent, texts = time.monotonic() - start, []
    for end in pipes:
        with os.fdopen(end, "rb") as file:
            texts.append(file.read().decode())
    return {"code": os.waitstatus_to_exitcode(status), "seconds": spent, "output": texts[0],
            "errors": texts[1], "n_events": int(texts[2] or 0)}  # fmt: skip


if __name__ == "__main__":
    serve()
