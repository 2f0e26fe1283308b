import pytest


@pytest.fixture
def file(tmp_path):
    """Writes a data file and returns its path."""

    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write
