"""The built site: accessible, at home on a phone, and without requests to other hosts."""

from pathlib import Path

import pytest
from browser import accessibility_violations, chromium, console_errors, requests, set_width

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
# One page of each kind.
KINDS = (
    "index",
    "tutorial",
    "guide/index",
    "guide/designs",
    "guide/explanations",
    "gallery/index",
    "gallery/plot_02_xor_by_stages",
    "guide/data_files",
    "api/index",
    "api/generated/ffmlp.FFMLPClassifier",
    "paper/accuracy",
    "paper/answers",
    "paper/stages",
    "benchmarks/index",
    "design",
    "search",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: see CONTRIBUTING.md")
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("page", "theme"), [*((page, "light") for page in KINDS), *((page, "dark") for page in KINDS[::3])]
)
def test_pages_are_accessible(browser, page, theme):
    set_width(browser, 1400)
    show(browser, page, theme)
    assert accessibility_violations(browser) == []
    assert requests(browser) == []
    assert console_errors(browser) == []


@pytest.mark.parametrize("width", [390, 800, 1400])
@pytest.mark.parametrize("page", KINDS)
def test_nothing_is_wider_than_the_screen(browser, page, width):
    set_width(browser, width)
    show(browser, page, "light")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def show(browser, page, theme):
    browser.get((SITE / f"{page}.html").as_uri())
    # Colours that are still changing would be judged on their way.
    style = "<style>* { transition: none !important }</style>"
    browser.execute_script("document.head.insertAdjacentHTML('beforeend', arguments[0])", style)
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
