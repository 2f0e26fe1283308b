import subprocess
import sys

import pytest

import ffmlp


def test_every_name_is_there():
    for name in ffmlp.__all__:
        assert getattr(ffmlp, name).__name__ == name
    assert set(ffmlp.__all__) <= set(dir(ffmlp))
    with pytest.raises(AttributeError, match="'ffmlp' has no attribute 'nothing'"):
        ffmlp.nothing  # noqa: B018


def test_the_command_line_starts_without_scikit_learn():
    code = "import sys, ffmlp.cli; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
