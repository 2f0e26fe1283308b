"""What all tests share. Property tests have no deadlines: a busy machine is no error."""

import pytest
from hypothesis import settings
from iris_files import fit_incomplete_iris, fit_iris

settings.register_profile("untimed", settings.default, deadline=None)  # in other respects as before
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A model of Iris with a category and an id, and its features."""
    return _fitted(fit_iris, tmp_path_factory)


@pytest.fixture(scope="session")
def iris(tmp_path_factory):
    """A folder with a table of Iris, which has a category and missing cells, and a model of it."""
    return _fitted(fit_incomplete_iris, tmp_path_factory)


def _fitted(fit, tmp_path_factory):
    for package in ("pandas", "pyarrow", "tqdm"):
        pytest.importorskip(package)
    return fit(tmp_path_factory.mktemp("iris"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(tmp_path):
    """Writes a data file and returns its path."""

    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write
