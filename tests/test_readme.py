import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/explanations.md"])
def test_python_blocks_print_what_the_page_shows(page):
    pytest.importorskip("quadprog")
    text, names = (ROOT / page).read_text(encoding="utf-8"), {}
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == text.count("```python") > 0
    for code, expected in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)  # one after the other, as a reader runs them
        assert printed.getvalue() == expected


def test_the_page_on_export_prints_what_it_shows(tmp_path, monkeypatch):
    for package in ("skops", "torch", "onnxruntime", "skl2onnx"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, flags=re.DOTALL)
    assert len(blocks) == page.count("```python") > 0
    names = {}
    for code, expected in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


def test_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert shown
    for name in shown:
        assert (ROOT / name).stat().st_size < 150_000
