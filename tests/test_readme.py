import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_python_blocks_print_what_the_readme_shows():
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == README.count("```python") > 0
    for code, expected in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, {})
        assert printed.getvalue() == expected
