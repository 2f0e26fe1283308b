"""Commands as tests run them, and how they end."""

from ffmlp.cli import main


def ended(*arguments):
    """The exit code of a command, in whatever way it ends."""
    try:
        return main(list(map(str, arguments)))
    except SystemExit as end:
        return end.code


def refused(capsys, *arguments):
    """The error of a command that ends with exit code 2: one line, after any notes."""
    assert ended(*arguments) == 2
    *notes, error = capsys.readouterr().err.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("ffmlp: ")
    return error


def names_in(folder):
    """The names of the files and folders in a folder."""
    return sorted(path.name for path in folder.iterdir())
