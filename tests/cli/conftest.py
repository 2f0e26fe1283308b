import pytest


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """On a busy machine, a command may take long enough for them. Tests of progress ask for all."""
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", float("inf"))
