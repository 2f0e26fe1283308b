import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

from ffmlp.storage import whole_files
from ffmlp.storage.whole_files import whole_file, whole_folder, write_whole


@pytest.fixture(params=["without a name", "with a hidden name"], autouse=True)
def temporary_files(request, monkeypatch):
    """Both kinds of temporary files: Linux has files without a name."""
    if request.param == "with a hidden name":
        monkeypatch.setattr(whole_files, "_NAMELESS", None)


def test_a_file_is_replaced_on_success_and_kept_on_failure(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_other_new_files(tmp_path):
    write_whole(tmp_path / "file", b"")
    (tmp_path / "other").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="pipe is not a regular file"):
        write_whole(path, b"content")
    assert path.is_fifo()


def test_a_folder_appears_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder"
    with whole_folder(path) as new:
        (new / "first").write_text("1")
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["first"]
    with pytest.raises(KeyboardInterrupt), whole_folder(path) as new:  # noqa: PT012
        (new / "second").write_text("2")
        raise KeyboardInterrupt
    assert [file.name for file in path.iterdir()] == ["first"]
    with whole_folder(path) as new:
        (new / "second").write_text("2")
    assert [file.name for file in path.iterdir()] == ["second"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_made_in_the_meantime_is_not_replaced(tmp_path):
    path = tmp_path / "folder"

    def write():
        with whole_folder(path, replace=False) as new:
            (new / "mine").write_text("1")
            path.mkdir()
            (path / "other").write_text("2")

    with pytest.raises(ValueError, match="folder was made by another command in the meantime"):
        write()
    assert [file.name for file in path.iterdir()] == ["other"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    with whole_folder(tmp_path / "folder"):
        pass
    assert (tmp_path / "folder").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_names_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("n" * 255)
    for content in (b"old", b"new"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_of_several_writers_one_succeeds(tmp_path):
    path, together, outcomes = tmp_path / "file", threading.Barrier(4), []

    def write(content):
        try:
            with whole_file(path, replace=False) as temporary:
                temporary.write_bytes(content)
                together.wait()
        except ValueError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(content)

    threads = [threading.Thread(target=write, args=(b"%d" % number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (written,) = (outcome for outcome in outcomes if isinstance(outcome, bytes))
    assert path.read_bytes() == written
    messages = [outcome for outcome in outcomes if outcome != written]
    assert len(messages) == 3
    assert all("file was made by another command" in message for message in messages)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space") as caught, whole_file(tmp_path / "file"):
        raise full
    assert caught.value.filename == str(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_errors_do_not_name_temporary_files(tmp_path):
    def write(whole, temporary):
        with whole(tmp_path / "output") as new:
            raise OSError(errno.EACCES, "Permission denied", str(new if temporary else "input"))

    for whole in (whole_file, whole_folder):
        for temporary, name in ((True, str(tmp_path / "output")), (False, "input")):
            with pytest.raises(PermissionError) as caught:
                write(whole, temporary)
            assert caught.value.filename == name


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, files have names at once")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_no_file(number, tmp_path):
    program = """
import sys
from pathlib import Path
from ffmlp.storage.whole_files import whole_file
with whole_file(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    print("written", flush=True)
    sys.stdin.read()
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "file")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, **pipes) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(number)
        process.wait()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=["in one step", "in two steps"])
def steps(request, monkeypatch):
    """Both ways to replace a folder: Linux can exchange two."""
    if request.param == "in two steps":
        monkeypatch.setattr(whole_files, "_exchanged", lambda first, second: False)


def test_a_folder_with_files_is_replaced(steps, tmp_path):
    path = tmp_path / ("n" * 255)
    for content in ("old", "new"):
        with whole_folder(path) as new:
            (new / content).write_text(content)
        assert [file.name for file in path.iterdir()] == [content]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    path, rename = tmp_path / "folder", type(tmp_path).rename

    def write():
        with whole_folder(path) as new:
            (new / "new").write_text("2")
            monkeypatch.setattr(type(tmp_path), "rename", refused)

    def refused(source, target):
        if source.name == "new":
            raise OSError(errno.EIO, "Input/output error")
        return rename(source, target)

    path.mkdir()
    (path / "old").write_text("1")
    monkeypatch.setattr(whole_files, "_exchanged", lambda first, second: False)
    with pytest.raises(OSError, match="Input/output"):
        write()
    assert [file.name for file in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("before", [[], ["a", "gone"]])
def test_a_folder_that_is_replaced_keeps_its_permissions(steps, before, tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    for name in before:
        (path / name).write_text("old")
        (path / name).chmod(0o600)
    path.chmod(0o700)
    with whole_folder(path) as new:
        for name in ("a", "b"):
            (new / name).write_text("new")
            (new / name).chmod(0o644)
    assert path.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.iterdir()}
    assert modes == {"a": 0o600 if before else 0o644, "b": 0o644}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path):
    file, folder = tmp_path / ".ffmlp-0123456789abcdef", tmp_path / ".ffmlp-fedcba9876543210"
    kept, young, mine = tmp_path / ".ffmlp-only-copy", tmp_path / ".ffmlp-young", tmp_path / ".mine"
    file.write_text("half")
    (folder / "new").mkdir(parents=True)
    (folder / "new" / "half").write_text("half")
    (kept / "old").mkdir(parents=True)  # what a folder was to replace, in two steps
    for path in (young, mine):
        path.write_text("")
    with whole_folder(tmp_path / "folder") as new:
        for path in (file, folder, kept, mine, new.parent):
            os.utime(path, (0, 0))
        write_whole(tmp_path / "file", b"content")
        assert new.parent.exists()  # it is in use
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"folder", "file", kept.name, young.name, ".mine"}
