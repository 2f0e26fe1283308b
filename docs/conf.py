"""The site: pages in Markdown, a gallery of examples that run, and the reference from the docstrings."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.application import Sphinx

import ffmlp
from ffmlp.cli import main as run_command
from ffmlp.datasets import make_loans

sys.path.insert(0, str(Path(__file__).parent))  # gallery_figures

project, author, version = "ffmlp", "The ffmlp developers", ffmlp.__version__
copyright = author  # noqa: A001
release = version
language = "en"
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
# The name in single quotes of a docstring is a link where there is something of that name.
default_role = "autolink"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
# Docstrings say what parameters are.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "image_scrapers": ("gallery_figures.described_figures",),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "plot_gallery": "True",
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "ffmlp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "logo": {"text": "ffmlp"},
    "github_url": "https://github.com/ffmlp/ffmlp",
    "header_links_before_dropdown": 6,
    # The field with the keys of its shortcut has another name than it shows.
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# The pages of one file that the command line makes, in the folder of the tutorial's model.
PAGES = {"report.html": ("report", "loans.model", "loans.csv"), "playground.html": ("playground",)}


def write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the pages of one file beside those of the site."""
    if error is not None or app.builder.format != "html":
        return
    with TemporaryDirectory() as folder:
        table, model = Path(folder, "loans.csv"), Path(folder, "loans.model")
        make_loans().to_csv(table, index=False)
        options = ("--target", "approved", "--id", "application", "--max-neurons", "30")
        _run("fit", str(table), *options, "-o", str(model))
        for name, (command, *files) in PAGES.items():
            paths = (str(Path(folder, file)) for file in files)
            _run(command, *paths, "-o", str(Path(app.outdir, name)), "--force")


def _run(*arguments: str) -> None:
    if run_command([*arguments, "--quiet"]):
        raise RuntimeError(f"ffmlp {' '.join(arguments)} failed")


def setup(app: Sphinx) -> None:
    """Write the pages after the site."""
    app.connect("build-finished", write_pages)
