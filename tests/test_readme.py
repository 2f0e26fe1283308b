import re
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path

import pytest

from ffmlp.reports.records import read_records
from ffmlp.reproduction.experiments import Run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/explanations.md", "docs/larger_data.md"])
def test_python_blocks_print_what_the_page_shows(page):
    for package in ("daqp", "pandas", "distributed"):
        pytest.importorskip(package)
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


def test_every_number_of_the_reproduction_is_recomputed_from_its_runs():
    path = ROOT / "benchmarks" / "reproduction_docs.py"
    spec = spec_from_file_location("reproduction_docs", path)
    spec.loader.exec_module(script := module_from_spec(spec))
    runs = read_records(ROOT / "docs" / "reproduction.csv", Run)
    quoted = []
    for name in script.PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        assert script.written(page, runs) == page
        quoted += re.findall(r"<!-- reproduction: (.+?) -->", page)
    assert sorted(quoted) == sorted(script.QUOTES)
    # Other runs give other pages.
    changed = [replace(run, test_accuracy=0.5) if run.method == "ff" else run for run in runs]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert script.written(page, changed) != page
