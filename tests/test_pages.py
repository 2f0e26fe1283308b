"""README and pages of the site: their code prints what they show, their numbers are recomputed."""

import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from doctest import ELLIPSIS, OutputChecker
from importlib import import_module
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
        pictures += re.findall(r"```\{(?:figure|image)\} (\S+)\n:alt: (.*)", text)
        pictures += re.findall(r'<img src="(\S+)" alt="([^"]*)"', text)
        assert len(re.findall(r"\{figure\}|\{image\}|!\[|<img", text)) == len(pictures)
        for name, words in pictures:
            assert len(words.split()) >= 5, f"{page}: say what one sees on {name}"
            assert is_drawn_by_an_example(name) or (
                (ROOT / page).parent.joinpath(name).stat().st_size < 150_000
            )
        shown += len(pictures)
    assert shown


def is_drawn_by_an_example(name):
    """Whether the build of the site draws this picture, with an example of the gallery."""
    drawn = re.fullmatch(r"(?:\.\./)?gallery/images/sphx_glr_(plot_\w+)_(\d{3})\.png", name)
    if not drawn:
        return False
    example, number = drawn.groups()
    code = (ROOT / "examples" / "gallery" / f"{example}.py").read_text(encoding="utf-8")
    return 1 <= int(number) <= code.count("sphinx_gallery_alternative_text")


def test_pictures_for_light_pages_have_the_words_of_those_for_dark_ones():
    picture = re.compile(r"```\{image\} (\S+)-(light|dark)\.png\n:alt: (.*)\n:class: only-(\w+)\n")
    for text in TEXTS.values():
        pictures = picture.findall(text)
        assert all(theme == shown for _, theme, _, shown in pictures)
        assert 2 * len({(name, words) for name, _, words, _ in pictures}) == len(pictures)


def test_pages_are_short_enough_to_read():
    assert {page: text.count("\n") for page, text in TEXTS.items() if text.count("\n") > 400} == {}
    assert TEXTS["README.md"].count("\n") < 130  # two screens
    plain = [text for text in TEXTS.values() if not re.search(r"\{figure\}|\{image\}|!\[|<img", text)]
    assert [text.partition("\n")[0] for text in plain if len(text.replace("|", " ").split()) > 800] == []


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
    script = loaded(ROOT / "benchmarks" / "reproduction_docs.py")
    runs = read_records(ROOT / "docs" / "paper" / "reproduction.csv", Run)
    quoted = []
    for name in script.PAGES:
        assert script.written(TEXTS[name], runs) == TEXTS[name]
        quoted += re.findall(r"<!-- reproduction: (.+?) -->", TEXTS[name])
    assert sorted(quoted) == sorted(script.QUOTES)
    for name, table in script.TABLES.items():
        assert (ROOT / name).read_text(encoding="utf-8") == table(runs)
    # Other runs give other pages.
    changed = [replace(run, test_accuracy=0.5) if run.method == "ff" else run for run in runs]
    page = TEXTS["docs/paper/index.md"]
    assert script.written(page, changed) != page


def test_the_figures_of_the_readme_are_those_of_the_page_on_benchmarks():
    page = section(TEXTS["docs/benchmarks/index.md"], "Accuracy on 20 real data sets")
    readme = section(TEXTS["README.md"], "Beside its peers")
    assert differences(readme, page) == []
    # A digit that differs is seen, wherever it is.
    for before, after in (("91.50", "91.51"), ("0.238", "0.228"), ("| 1.87 |", "| 1.77 |")):
        assert len(differences(readme.replace(before, after), page)) == 1


def section(text, title):
    """The text of a page from a title to the next one."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def differences(readme, page):
    """The rows of the README's table that the page does not have, by name and with all its numbers."""
    columns = ("accuracy, %", "log-loss", "median fit, s")
    rows = [(name, [row[column] for column in columns]) for name, row in table_rows(readme)]
    assert len(rows) >= 5
    listed = [
        (name, [row[column].split(" ±")[0] for column in columns]) for name, row in table_rows(page)
    ]
    return [
        (name, numbers)
        for name, numbers in rows
        # The page adds versions and settings to the names.
        if not any(other.startswith(name) and numbers == shown for other, shown in listed)
    ]


def table_rows(text):
    """The first cell of each row of a table, and its other cells by the names of their columns."""
    lines = [line for line in text.replace("**", "").splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [(cells[0], dict(zip(header[1:], cells[1:], strict=True))) for cells in rows]


def test_the_map_names_every_package_and_what_exists():
    map_ = section((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "Where things are")
    source = ROOT / "src" / "ffmlp"
    rows = re.findall(r"^\| `([\w/]+/)` \| (.*) \|$", map_, re.MULTILINE)
    packages = {path.parent for path in source.glob("*/__init__.py")} - {source}
    assert {source / name for name, _ in rows} >= packages
    for package, cells in rows:
        for name in re.findall(r"`([\w/]+\.(?:py|js))`", cells):
            assert (source / package / name).is_file(), f"{package}{name}"
    names = re.findall(r"`((?:\w+\.)+\w+)`", map_.partition("### The way of the data")[2])
    assert len(names) > 30
    for name in names:
        assert exists(name), name


def exists(name):
    """Whether a dotted name below ``ffmlp`` is a module, or something in one."""
    module, _, rest = name.partition(".")
    found = import_module(f"ffmlp.{module}")
    for part in rest.split("."):
        if not hasattr(found, part):
            try:
                found = import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError as error:  # or a package of an extra is missing
                return not error.name.startswith("ffmlp")
        else:
            found = getattr(found, part)
    return True


def test_every_picture_that_a_script_draws_is_there_in_both_themes(tmp_path):
    for package in ("matplotlib", "PIL"):
        pytest.importorskip(package)
    script = loaded(ROOT / "docs" / "pictures.py")
    committed = {path.name for path in script.IMAGES.glob("*-light.png")}
    assert {f"{name}-light.png" for name in script.PICTURES} == committed
    script.main(tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(f"{name}-{theme}.png" for name in script.PICTURES for theme in script.THEMES)
    for name in drawn:
        # Letters may differ by the version of matplotlib, but not what is drawn.
        sizes = [(folder / name).read_bytes()[16:24] for folder in (tmp_path, script.IMAGES)]
        assert sizes[0] == sizes[1]


def loaded(path):
    """A script as a module."""
    spec = spec_from_file_location(path.stem, path)
    spec.loader.exec_module(script := module_from_spec(spec))
    return script
