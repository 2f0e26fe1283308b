"""The page of `ffmlp report` in a browser: what it shows, what it predicts, who can use it."""

import time

import numpy as np
import pytest
from browser import accessibility_violations, console_errors, requests, set_width
from problems import mixed_table
from sklearn.datasets import make_classification

from ffmlp.cli import main
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")

pytest.importorskip("tqdm")

HOSTILE = '</script><img src=x onerror="window.hacked=1">'
WIDTHS = (390, 800, 1400)


def reported(folder, frame, target, *options):
    """A model of a table and the page on it."""
    frame.to_csv(folder / "table.csv", index=False)
    paths = [str(folder / name) for name in ("table.csv", "table.model", "page.html")]
    fit = ["fit", paths[0], "--target", target, "-o", paths[1], "--quiet", *options]
    assert main(fit) == 0
    assert main(["report", paths[1], paths[0], "-o", paths[2], "--quiet"]) == 0
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table with missing cells, whose names, categories and classes look like HTML."""
    frame, y = mixed_table(400)
    frame = frame.rename(columns={"sex": HOSTILE})
    frame["town"] = frame["town"].replace("Ely", HOSTILE)
    frame["status"] = np.where(y == "lost", HOSTILE, y)
    return reported(tmp_path_factory.mktemp("hostile"), frame, "status", "--design", "blob")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table of forty columns and twenty classes with long names."""
    X, y = make_classification(
        1200, 40, n_informative=12, n_classes=20, n_clusters_per_class=1, class_sep=2.0, random_state=0
    )
    frame = pd.DataFrame(X, columns=[f"measurement {j} of the machine" for j in range(40)])
    frame["kind"] = [f"a kind of machine with number {label}" for label in y]
    options = ("--design", "blob", "--n-components", "1")
    return reported(tmp_path_factory.mktemp("large"), frame, "kind", *options)


def opened(browser, folder, width=1400, scheme="light"):
    set_width(browser, width)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get("about:blank")
    console_errors(browser), requests(browser)  # those of other pages
    browser.get((folder / "page.html").as_uri())
    wait(browser, "return document.documentElement.dataset.ready === 'yes'")
    wait(browser, "return document.querySelector('.changes h3') !== null")
    return browser


def wait(browser, condition):
    """Wait until a condition in JavaScript holds."""
    for _ in range(300):
        if browser.execute_script(condition):
            return
        time.sleep(0.05)
    raise AssertionError(condition)


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((part) => part.textContent)"
    return browser.execute_script(script, selector)


def shortened(name, longest):
    """A name without its middle."""
    tail = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[: longest - 1 - tail]}…{name[-tail:]}"


def press(browser, selector):
    """Press a button, wherever the page is scrolled to."""
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def enter(browser, name, value):
    """Give a column another cell, as a person does with the keyboard: a number, a category or None."""
    script = """
    const [name, value] = arguments;
    const column = [...document.querySelectorAll(".column")].find(
      (part) => part.querySelector("label.name").textContent === name);
    const change = (element) => element.dispatchEvent(new Event("change"));
    const [box, number, menu] = ["[type=checkbox]", "[type=number]", "select"].map(
      (kind) => column.querySelector(kind));
    if (menu) {
      const text = value ?? "(missing)";
      menu.value = [...menu.options].find((option) => option.text === text).value;
      return change(menu);
    }
    if (box && box.checked !== (value === null)) { box.checked = value === null; change(box); }
    if (value !== null) { number.value = value; change(number); }
    """
    browser.execute_script(script, name, value)


def cells(frame, number):
    """A row as plain values, None where it is missing; numbers as a person would enter them."""
    return {
        name: None if pd.isna(cell) else cell if isinstance(cell, str) else round(float(cell), 3)
        for name, cell in frame.iloc[number].items()
    }


def test_names_that_look_like_html_are_text(browser, hostile):
    page = opened(browser, hostile)
    assert page.execute_script("return window.hacked === undefined && !document.images.length")
    assert HOSTILE in texts(page, "label.name")
    assert shortened(HOSTILE, 18) in texts(page, ".probabilities .name")
    assert HOSTILE in texts(page, ".column option")
    page.execute_script("for (const part of document.querySelectorAll('summary')) part.click()")
    assert page.execute_script("return window.hacked === undefined && !document.images.length")
    assert (console_errors(page), requests(page)) == ([], [])


def test_the_nearest_change_is_applied_and_undone(browser, hostile):
    page = opened(browser, hostile)
    before = texts(page, ".headline strong")
    wait(page, "return document.querySelector('.changes button:enabled') !== null")
    then = texts(page, ".changes p strong")
    press(page, ".changes button")
    assert texts(page, ".headline strong") == [shortened(text, 40) for text in then]
    press(page, ".begin button")
    assert texts(page, ".headline strong") == before


def test_entered_rows_and_printed_changes_have_the_probabilities_and_classes_of_python(browser, hostile):
    """Changes are entered with the digits that the page shows, in the page and in Python."""
    model = TableModel.load(hostile / "table.model")
    frame = pd.read_csv(hostile / "table.csv")[model.features]
    page = opened(browser, hostile)

    def probabilities(row):
        shown = pd.DataFrame([row]).astype(dict.fromkeys(model.numbers, float))
        return model.probabilities(shown)[0]

    n_promised = 0
    for number in range(0, 90, 6):
        row = cells(frame, number)
        for name, cell in row.items():
            enter(page, name, cell)
        expected = [f"{100 * share:.1f}%" for share in probabilities(row)]
        assert texts(page, ".probabilities .value") == expected
        wait(page, "return document.querySelector('.changes button:enabled') !== null")
        promised = "".join(texts(page, ".changes p:has(+ .scroll) strong"))
        if not promised:
            continue  # only another category would do
        names, values = texts(page, ".changes tbody th"), texts(page, ".changes tbody td:last-child")
        for name, value in zip(names, values, strict=True):
            row[name] = float(value.replace("−", "-"))
            enter(page, name, row[name])
        assert texts(page, ".headline strong") == [shortened(promised, 40)]
        assert model.labels[probabilities(row).argmax()] == promised
        n_promised += 1
    assert n_promised > 4
    assert console_errors(page) == []


@pytest.mark.parametrize(
    ("name", "scheme"), [("hostile", "light"), ("hostile", "dark"), ("large", "light")]
)
def test_nothing_is_cut_and_everyone_can_read_it(browser, name, scheme, request):
    page = opened(browser, request.getfixturevalue(name), 1400, scheme)
    page.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert accessibility_violations(page) == []
    for width in WIDTHS:
        set_width(page, width)
        assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_the_keyboard_is_enough(browser, hostile):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    page = opened(browser, hostile)
    slider = page.find_element("css selector", ".cell input[type=range]:enabled")
    value = page.execute_script("return arguments[0].valueAsNumber", slider)
    slider.send_keys(keys.ARROW_RIGHT, keys.ARROW_RIGHT)
    assert page.execute_script("return arguments[0].valueAsNumber", slider) > value
    assert page.find_element("css selector", ".begin button").is_enabled()
    page.find_element("css selector", "#rows tbody tr:nth-child(3) button").send_keys(keys.ENTER)
    menu = page.find_element("css selector", ".begin select")
    assert menu.get_property("value") == "2"
    assert page.switch_to.active_element == menu
    summary = page.find_element("css selector", "#calibration summary")
    summary.send_keys(keys.ENTER)
    wait(page, "return document.querySelector('#calibration th') !== null")
    assert texts(page, "#calibration th")[:2] == ["mean probability", "accuracy"]
    # In one step: parts of the page may be drawn anew meanwhile.
    script = "return [...document.querySelectorAll('.scroll')].map((part) => part.tabIndex)"
    assert set(page.execute_script(script)) == {0}


def test_many_columns_and_classes_stay_readable(browser, large):
    page = opened(browser, large)
    assert len(texts(page, ".column")) == 30
    filter_box = page.find_element("css selector", "input[type=search]")
    filter_box.send_keys("measurement 39")
    assert texts(page, "label.name") == ["measurement 39 of the machine"]
    assert len(texts(page, ".heat tbody tr")) == 20
    shares = page.execute_script(
        "return [...document.querySelectorAll('.heat tbody tr')].map((line) => "
        "[...line.querySelectorAll('td[title]')].reduce((sum, cell) => sum + "
        "Number(cell.style.getPropertyValue('--share')), 0))"
    )
    np.testing.assert_allclose(shares, 1.0, atol=0.02)
    assert len(texts(page, ".probabilities li")) == 8
    assert console_errors(page) == []
