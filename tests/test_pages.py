"""README and pages of the site: their code prints what they show, their numbers are recomputed."""

import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from doctest import ELLIPSIS, OutputChecker
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path

import pytest

from ffmlp.report.records import read_records
from ffmlp.reproduction.experiments import Run

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
# A block of code and, if it prints something, what it prints.
_BLOCK = re.compile(
    r"^```(python|bash)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
# What some pages need beside the core.
_PACKAGES = {
    "docs/guide/export.md": ("torch", "onnxruntime", "skl2onnx"),
    "docs/guide/larger_data.md": ("distributed",),
    "docs/tutorial.md": ("matplotlib", "pyarrow", "tqdm"),
}


def blocks(text):
    """Python, and commands whose output is shown; other commands are only named."""
    found = [match.groups(default="") for match in _BLOCK.finditer(text)]
    return [(language, code, shown) for language, code, shown in found if language == "python" or shown]


def printed(language, code, names):
    """What a block prints, to stdout and stderr."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        if language == "python":
            exec(code, names)
        else:
            from ffmlp.cli import main

            for line in code.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "ffmlp"
                assert main(arguments) == 0
    return out.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(TEXTS[page])])
def test_code_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    for package in ("daqp", "pandas", *_PACKAGES.get(page, ())):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for language, code, shown in blocks(TEXTS[page]):  # one after the other, as a reader runs them
        output = printed(language, code, names)
        assert output == shown or OutputChecker().check_output(shown, output, ELLIPSIS), output


def test_all_python_is_run():
    for text in TEXTS.values():
        assert sum(language == "python" for language, _, _ in blocks(text)) == text.count("```python")


def test_pictures_are_there_and_small_and_have_an_alternative_text():
    shown = 0
    for page, text in TEXTS.items():
        pictures = [(name, words) for words, name in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)]
        pictures += re.findall(r"```\{figure\} (\S+)\n:alt: (.*)", text)
        assert text.count("{figure}") + text.count("![") == len(pictures)
        for name, words in pictures:
            assert len(words.split()) >= 5, f"{page}: say what one sees on {name}"
            assert (ROOT / page).parent.joinpath(name).stat().st_size < 150_000
        shown += len(pictures)
    assert shown


def test_pages_are_short_enough_to_read():
    assert {page: text.count("\n") for page, text in TEXTS.items() if text.count("\n") > 400} == {}
    assert TEXTS["README.md"].count("\n") < 130  # two screens


def test_every_public_name_is_in_the_reference():
    listed = reference()
    for module in (
        "ffmlp",
        "ffmlp.dask",
        "ffmlp.plots",
        "ffmlp.datasets",
        "ffmlp.paper",
        "ffmlp.backprop",
    ):
        assert sorted(public_names(module)) == sorted(listed[module])
    assert sorted(public_names("ffmlp.robustness.attacks")) == sorted(listed["ffmlp.robustness.attacks"])


def reference():
    """The names in the tables of the reference, by module."""
    text = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    names, module = {}, ""
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            names.setdefault(module, []).append(line.strip())
    return names


def public_names(module):
    """Those of ``__all__``, or the classes and functions that a module defines."""
    loaded = pytest.importorskip(module, exc_type=ImportError)
    if hasattr(loaded, "__all__"):
        return loaded.__all__
    own = {name: value for name, value in vars(loaded).items() if not name.startswith("_")}
    return [name for name, value in own.items() if callable(value) and value.__module__ == module]


def test_every_number_of_the_reproduction_is_recomputed_from_its_runs():
    path = ROOT / "benchmarks" / "reproduction_docs.py"
    spec = spec_from_file_location("reproduction_docs", path)
    spec.loader.exec_module(script := module_from_spec(spec))
    runs = read_records(ROOT / "docs" / "paper" / "reproduction.csv", Run)
    quoted = []
    for name in script.PAGES:
        assert script.written(TEXTS[name], runs) == TEXTS[name]
        quoted += re.findall(r"<!-- reproduction: (.+?) -->", TEXTS[name])
    assert sorted(quoted) == sorted(script.QUOTES)
    # Other runs give other pages.
    changed = [replace(run, test_accuracy=0.5) if run.method == "ff" else run for run in runs]
    page = TEXTS["docs/paper/index.md"]
    assert script.written(page, changed) != page
