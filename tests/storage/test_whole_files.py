import os

import pytest

from ffmlp.storage.whole_files import whole_file, whole_folder, write_whole


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


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    with whole_folder(tmp_path / "folder"):
        pass
    assert (tmp_path / "folder").stat().st_mode == (tmp_path / "usual").stat().st_mode
