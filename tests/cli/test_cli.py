import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shlex import split

import pytest
from commands import ended, refused

from ffmlp.cli import COMMANDS, inspect, main
from ffmlp.cli.console import Console


def require(*packages):
    """Skip a test unless these packages are there, and those of the command line."""
    for package in ("pandas", "pyarrow", "tqdm", *packages):
        pytest.importorskip(package)


def test_help_shows_every_command_with_an_example_and_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    assert done.value.code == 0
    page = capsys.readouterr().out
    for modules in COMMANDS.values():
        for name, module in modules.items():
            assert f"  {name} " in page
            assert f"$ ffmlp {name} " in page
            with pytest.raises(SystemExit):
                main([name, "--help"])
            assert module.EXAMPLE in " ".join(capsys.readouterr().out.split())
    assert all(code in page for code in ("  0    ", "  2    ", "  130  "))
    assert max(map(len, page.splitlines())) <= 90


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "missing COMMAND. See ffmlp --help."),
        ("mars", "unknown command 'mars'. See ffmlp --help."),
        ("fit", "missing --target, DATA, -o/--output. See ffmlp fit --help."),
        ("predict m", "missing DATA, -o/--output. See ffmlp predict --help."),
        ("fit t.csv --taget y -o m", "unknown option '--taget' (did you mean --target?)."),
        ("inspect m --row=3", "unknown option '--row'. See ffmlp inspect --help."),
        ("inspect m -z", "unknown option '-z'. See ffmlp inspect --help."),
        ("inspect m n", "unexpected argument 'n'. See ffmlp inspect --help."),
        ("export m --to xml -o x", "--to must be one of onnx, torch, text, got xml."),
        ("fit t.csv --cv many", "--cv must be an integer, got many."),
        ("fit t.csv --test-size few", "--test-size must be a number, got few."),
        ("fit t.csv --n-components 2.5", "--n-components must be auto or an integer, got"),
        ("fit t.csv -o", "-o/--output needs a value."),
        ("fit t.csv --ignore --json", "--ignore needs at least one value."),
        ("fit t.csv --cv 2 --test-size .2", "--test-size and --cv cannot be used together."),
    ],
)
def test_wrong_options_are_reported_in_one_line_with_exit_code_2(arguments, message, capsys):
    error = refused(capsys, *split(arguments))
    # Whether argparse quotes values depends on its version.
    assert message.replace("'", "") in error.replace("'", "")


def test_a_column_may_be_named_like_an_option(here):
    require()
    lines = [f"{row},{'ab'[row > 30]}" for row in range(60)]
    (here / "t.csv").write_text("\n".join(["x,--the label", *lines]))
    assert main(["fit", "t.csv", "--target", "--the label", "-o", "m.model", "--quiet"]) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_error_of_a_library_in_the_course_of_a_signal_is_that_signal(number, code, monkeypatch):
    def run(options):
        try:
            signal.raise_signal(number)
        finally:
            raise AttributeError("what was to be cleaned up is not there")

    monkeypatch.setattr(inspect, "run", run)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        assert ended("inspect", "m") == code
    finally:
        signal.signal(signal.SIGINT, usual)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_commands_may_run_in_other_threads():
    with ThreadPoolExecutor() as pool:
        assert pool.submit(ended, "--version").result() == 0


def test_the_commands_are_known_without_importing_numpy():
    program = "import sys, ffmlp.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_progress_has_the_time_left_of_each_pass(capsys, monkeypatch):
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", 10.0)
    clock = iter(range(0, 4000, 80))
    monkeypatch.setattr("ffmlp.cli.console.monotonic", lambda: next(clock))
    console = Console(argparse.Namespace(json=False, quiet=False))
    with console.passes("fitting", 800, n_passes=2) as on_section:
        for number in (1, 2, 3):
            for done in (1, 3, 4):
                on_section(number, done, 4)
    assert capsys.readouterr().err.splitlines() == [
        line
        for name in ("1 of 2", "2 of 2", "3 of 3")
        for line in (
            f"fitting, pass {name}: 200 rows of 800",  # at the start
            f"fitting, pass {name}: 600 rows of 800, 1 min 20 s left",  # two sections in 160 s
            f"fitting, pass {name}: 800 rows of 800",
        )
    ]


ATTACK = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e"  # colour, title of the window, cleared screen, direction


def test_names_and_labels_do_not_reach_the_terminal_as_commands(here, monkeypatch, capsys):
    require("matplotlib", "daqp")
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", -1.0)  # all progress is printed
    name, other, folder = f"t{ATTACK}.csv", f"m{ATTACK}.model", f"out{ATTACK}"
    rows = [f"{row % 7},{'uv'[row % 2]}{ATTACK},{'pq'[row % 7 > 3]}{ATTACK}\n" for row in range(60)]
    (here / name).write_text(f"a{ATTACK},c,y\n" + "".join(rows), encoding="utf-8")
    commands = [
        ["fit", name, "--target", "y", "-o", "m.model"],
        ["inspect", "m.model"],
        ["inspect", "m.model", "--json"],
        ["explain", "m.model", name, "--row", "1"],
        ["explain", "m.model", name, "--row", "1", "--json"],
        ["evaluate", "m.model", name],
        ["predict", "m.model", name, "-o", "o.csv"],
        ["predict", "m.model", name, "-o", "o.csv"],  # which exists
        ["fit", name, "--target", f"z{ATTACK}", "-o", "n.model"],
        ["fit", name, "--target", "y", "--design", "blob", "--test-size", "0", "-o", other],
        ["evaluate", other, name, "--json"],
        ["drift", other, name, name, "-o", f"d{ATTACK}.svg"],
        ["drift", other, f"gone{ATTACK}.csv", name, "-o", "d.svg"],
        ["report", f"gone{ATTACK}.model", name, "-o", "r.html"],
        ["report", other, name, "-o", f"r{ATTACK}.txt"],
        ["export", other, "--to", "text", "-o", f"m{ATTACK}.txt"],
        ["predict", other, name, "-o", f"p{ATTACK}.csv", "--flag-unfamiliar", "--keep"],
        ["benchmark", "--data", name, "--models", "lda", "--splits", "1", "--out", folder],
        ["benchmark", "--data", name, "--models", ATTACK],
        ["reproduce", "--rows", "pima", "--pima", f"p{ATTACK}.csv", "--out", folder],
        [f"fit{ATTACK}"],
        ["fit", f"--{ATTACK}", name],
    ]
    seen = ""
    for command in commands:
        ended(*command)
        captured = capsys.readouterr()
        shown = captured.out + captured.err
        assert shown.replace("\n", "").isprintable(), command
        if command[0] == "inspect" and "--json" in command:
            assert json.loads(captured.out)["labels"] == [f"p{ATTACK}", f"q{ATTACK}"]  # as they were
        seen += shown
    assert "a\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\u202e" in seen


def test_names_and_labels_cannot_look_like_lines_of_the_output(here, capsys):
    require()
    lie = "\naccuracy:    1.000"
    rows = [f'{row % 7},"{"uv"[row % 2]}{lie}","{"pq"[row % 7 > 3]}{lie}"\n' for row in range(60)]
    (here / "t.csv").write_text(f'"a{lie}",c,y\n' + "".join(rows))
    commands = [
        ["fit", "t.csv", "--target", "y", "-o", "m.model", "--test-size", "0"],
        ["inspect", "m.model"],
        ["explain", "m.model", "t.csv", "--row", "1", "--counterfactual"],
        ["evaluate", "m.model", "t.csv"],
        ["predict", "m.model", "t.csv", "-o", f"o{lie}.csv"],
        ["benchmark", "--data", "t.csv", "--models", "lda", "--splits", "1", "--out", f"b{lie}"],
    ]
    for command in commands:
        if command[0] != "benchmark" or importlib.util.find_spec("matplotlib"):
            assert main(command) == 0
        assert not [line for line in capsys.readouterr().out.split("\n") if line.startswith("accuracy:")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command", [["inspect"], ["inspect", "--json"], ["predict", "t.csv", "-o", "-"]]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_errors_of_standard_output_name_it(here, command, unbuffered):
    require()
    (here / "t.csv").write_text("x,y\n" + "".join(f"{row},{'ab'[row > 30]}\n" for row in range(60)))
    assert main(["fit", "t.csv", "--target", "y", "-o", "m.model", "--quiet", "--design", "blob"]) == 0
    program = [sys.executable, "-m", "ffmlp.cli", command[0], "m.model", *command[1:]]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.stderr == "ffmlp: standard output: No space left on device.\n"
    assert done.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
def test_a_terminal_gets_no_control_characters_of_cells(here, capfdbinary):
    require()
    import pty

    rows = "".join(f'{row},"{ATTACK}\nx",{"ab"[row > 30]}\n' for row in range(60))
    (here / "t.csv").write_text(f"x,c{ATTACK},y\n{rows}", encoding="utf-8")
    fit = ["fit", "t.csv", "--target", "y", "--ignore", f"c{ATTACK}", "-o", "m.model", "--quiet"]
    assert main([*fit, "--design", "blob"]) == 0
    command = ["predict", "m.model", "t.csv", "-o", "-", "--keep", "--quiet"]
    assert main(command) == 0  # to a file
    assert capfdbinary.readouterr().out.startswith(f'x,c{ATTACK},y,predicted_y\n0,"{ATTACK}\n'.encode())
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "ffmlp.cli", *command], stdout=theirs) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # at the end, on Linux
            while part := os.read(ours, 65536):
                seen += part
        os.close(ours)
    assert process.returncode == 0
    lines = seen.decode().replace("\r\n", "\n").split("\n")
    assert len(lines) == 62
    assert all(line.isprintable() for line in lines)
    assert lines[1].startswith("0,\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\u202e\\nx,a,a")


def test_errors_in_a_circle_end_a_command(monkeypatch, capsys):
    """Libraries that hand an error from thread to thread make it the context of its own cause."""

    def circle(options):
        cause = ValueError("the cause")
        error = ValueError("the whole")
        error.__cause__, cause.__context__ = cause, error
        raise error

    monkeypatch.setattr("ffmlp.cli.inspect.run", circle)
    assert refused(capsys, "inspect", "any.model") == "ffmlp: the whole"


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "t.csv"), OSError("broken")])
def test_errors_of_the_system_name_the_file(capsys, monkeypatch, error):
    def failing(options):
        raise error

    monkeypatch.setattr("ffmlp.cli.inspect.run", failing)
    shown = "t.csv: Permission denied." if error.filename else "broken"
    assert refused(capsys, "inspect", "any.model") == f"ffmlp: {shown}"
