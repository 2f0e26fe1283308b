import pytest
from browser import chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        started.set_script_timeout(60)
        yield started
