"""The playground in a browser."""

import json

import numpy as np
import pytest
from browser import accessibility_violations, chromium, console_errors, requests, set_width

import ffmlp
from ffmlp import datasets
from ffmlp.web.joining import playground_page

pd = pytest.importorskip("pandas")

# Frames are drawn after a change; a busy machine takes its time.
_SETTLED = """
const done = arguments[arguments.length - 1];
const message = () => done(document.getElementById("message").textContent);
setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(message)), 40);
"""
_DROP = """
const transfer = new DataTransfer();
transfer.items.add(new File([arguments[0]], arguments[1]));
window.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
"""
_RANDOM = """
const [seed, count] = arguments;
let state = seed;
const uniform = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
const pick = (items) => items[Math.floor(uniform() * items.length)];
const seen = (query) => [...document.querySelectorAll(query)].filter((one) => one.offsetParent !== null);
const picture = document.getElementById("picture");
const pointer = (type, x, y) => picture.dispatchEvent(new PointerEvent(type, {
  clientX: x, clientY: y, button: 0, pointerId: 1, bubbles: true }));
picture.setPointerCapture = () => {};  // no pointer is really down
const place = () => {
  const box = picture.getBoundingClientRect();
  return [box.left + uniform() * box.width, box.top + uniform() * box.height];
};
const acts = [
  () => {
    pointer("pointerdown", ...place());
    for (let i = 0; i < 3; i++) pointer("pointermove", ...place());
    pointer(pick(["pointerup", "pointercancel"]), ...place());
  },
  () => { const at = place(); pointer("pointerdown", ...at); pointer("pointerup", ...at); },
  () => pointer("pointermove", ...place()),
  () => picture.dispatchEvent(new KeyboardEvent("keydown", { key: pick([
    "ArrowLeft", "ArrowUp", "Enter", "Delete", "n", "r", "R", "Escape", "Backspace", "x"]) })),
  () => pick(seen("button:not(#save):not(:disabled)")).click(),
  () => pick(seen("input[type=radio]")).click(),
  () => {
    const range = pick(seen("input[type=range]"));
    range.value = Number(range.min) + uniform() * (range.max - range.min);
    range.dispatchEvent(new Event("input"));
  },
  () => {
    const select = pick(seen("select"));
    select.value = pick([...select.options]).value;
    select.dispatchEvent(new Event("input"));
  },
  () => playground.redraw(),
];
for (let i = 0; i < count; i++) pick(acts)();
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("playground") / "page.html"
    path.write_text(playground_page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        started.set_script_timeout(60)
        yield started


@pytest.fixture
def page(browser, place):
    """The page as it is first shown; no test may leave an error in the console, or a request."""
    set_width(browser, 1400)
    browser.get("about:blank")
    requests(browser)  # those of the browser's own first page
    browser.get(place)
    settled(browser)
    yield browser
    assert console_errors(browser) == []
    assert requests(browser) == []


def settled(browser):
    """Wait for the next frames; the message that the page shows."""
    return browser.execute_async_script(_SETTLED)


def drop(browser, text, name="table.csv"):
    browser.execute_script(_DROP, text, name)
    return settled(browser)


def choose(browser, name, value):
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input'));", name, value,
    )  # fmt: skip
    return settled(browser)


def accuracy(browser):
    return browser.execute_script("return playground.bench.accuracy")


def table(n_rows, n_columns, seed=0):
    """Numbers of two classes, as CSV."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + 0.8 * y[:, None] * (np.arange(n_columns) % 3 == 0)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(n_columns)]).round(5)
    frame["class"] = np.array(["no", "yes"])[y]
    return frame


def mixed_table():
    """Numbers and categories, some of them missing, of three classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 400)
    frame = pd.DataFrame(
        {
            "size": rng.normal(y, 0.6),
            "colour": np.array(["red", "green", "blue", "grey"])[
                np.minimum(y + rng.integers(0, 2, 400), 3)
            ],
            "weight": rng.normal(2.0 * y, 1.0),
            "kind": np.array(["a", "b, c", 'd "e"'])[y],
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame


@pytest.mark.parametrize("name", datasets.SYNTHETIC)
def test_every_set_is_designed(page, name):
    choose(page, "set", name)
    for design, least in (("paper", 0.84), ("blob", 0.7), ("region", 0.85)):
        choose(page, "design", design)
        assert accuracy(page)["train"] > least
        assert accuracy(page)["test"] > least - 0.02


def test_every_stage_is_shown_and_played(page):
    texts = set()
    for stage in ("samples", "blobs", "hyperplanes", "pruning", "regions", "classes"):
        page.execute_script(f"document.querySelector('[data-stage={stage}]').click()")
        settled(page)
        texts.add(page.find_element("id", "explain").text)
    assert len(texts) == 6
    page.find_element("id", "play").click()
    settled(page)
    assert page.execute_script("return playground.page.stage") == "samples"
    page.find_element("id", "play").click()
    page.find_element("id", "curve").click()
    settled(page)
    assert 0 < int(page.find_element("id", "step").get_attribute("value")) < 23


def test_a_large_table_is_designed(page):
    assert drop(page, table(10_000, 20).to_csv(index=False)) == ""
    assert page.execute_script("return playground.bench.samples.N") == 20
    assert accuracy(page)["test"] > 0.8
    assert "cut through 20 inputs" in page.find_element("id", "explain").text


def test_columns_of_a_table_are_chosen(page):
    drop(page, table(300, 4).to_csv(index=False))
    page.execute_script("document.querySelector('[name=inputs][value=drawn]').click()")
    choose(page, "across", "1")
    choose(page, "up", "2")
    assert page.execute_script("return playground.bench.inputs") == [1, 2]
    choose(page, "up", "1")
    assert page.execute_script("return playground.bench.inputs") == [2, 1]
    assert "Two" not in choose(page, "target", "c1")
    assert "distinct values" in page.find_element("id", "message").text
    assert page.execute_script("return playground.bench.settings.target") == "class"


NONSENSE = {
    "": "empty",
    "   \n \n": "empty",
    "a,b,c": "one line",
    "a\n1\n2": "one column",
    "a,b\n1,2\n3": "Line 3 does not have the 2 cells",
    'a,b\n"1,2\n3,4': "never closed",
    "a,a\n1,x\n2,y": "Two columns have the name",
    "a,b\n1.5,0.1\n2.5,0.2\n" + "".join(f"{i}.25,{i}.75\n" for i in range(40)): "2 and 20 distinct",
    "\x00\x01\x02PNG": "not a text file",
    "a,class\n1,x\n2,y": "two columns besides",
    "name,class\n" + "".join(f"n{i},{i % 2}\n" for i in range(60)): "No column is left",
    "a,b,class\n" + "1e300,1,x\n2e300,3,y\n" * 9: "“a” has numbers beyond 1e+140",
    "<html><body>" + "lorem ipsum " * 50: "one line",
}


def test_nonsense_is_refused_with_a_message(page):
    before = accuracy(page)
    for text, words in NONSENSE.items():
        assert words in drop(page, text)
        assert accuracy(page) == before
        assert page.execute_script("return playground.bench.settings.set") == "nine_blobs"


def test_files_of_other_dialects(page):
    assert drop(page, "\ufeffa;b;y\r\n1,5;2;u\r\n2,5;3;v\r\n3,5;;u\r\n\r\n1,0;5;v\r\n") == ""
    assert page.execute_script("return [...playground.bench.table.X].slice(0, 4)") == [1.5, 2, 2.5, 3]
    assert page.execute_script("return playground.bench.table.labels") == ["u", "v"]


def test_a_thousand_random_acts(page):
    for seed in range(10):
        if seed == 5:
            drop(page, mixed_table().to_csv(index=False))
        page.execute_script(_RANDOM, seed, 100)
        settled(page)
        assert console_errors(page) == []
    assert 0.0 <= accuracy(page)["train"] <= 1.0


def test_real_clicks_and_drags(page):
    from selenium.webdriver import ActionChains, Keys

    page.find_element("css selector", "[name=tool][value=planes]").click()
    page.execute_script("document.querySelector('[data-stage=hyperplanes]').click(); scrollTo(0, 0)")
    settled(page)
    picture = page.find_element("id", "picture")
    n_planes = "return playground.bench.planes.n"
    before = page.execute_script(n_planes)
    ActionChains(page).drag_and_drop_by_offset(picture, 90, 60).perform()
    settled(page)
    assert page.execute_script("return playground.bench.isEdited")
    weights = page.execute_script("return [...playground.bench.planes.biases]")
    picture.send_keys("n", Keys.ARROW_RIGHT, "r")
    settled(page)
    assert page.execute_script(n_planes) == before + 1 or page.execute_script(n_planes) == before + 2
    assert page.execute_script("return [...playground.bench.planes.biases]") != weights
    page.find_element("id", "reset").click()
    settled(page)
    assert page.execute_script(n_planes) == before
    page.find_element("css selector", "[name=tool][value=samples]").click()
    n_samples = page.execute_script("return playground.bench.samples.n")
    ActionChains(page).move_to_element_with_offset(picture, -300, -200).click().perform()
    settled(page)
    assert page.execute_script("return playground.bench.samples.n") == n_samples + 1


def test_accessibility(page):
    schemes = ("light", "dark")
    drop(page, mixed_table().to_csv(index=False))
    for scheme in schemes:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        for tool in ("samples", "planes"):
            page.execute_script(f"document.querySelector('[name=tool][value={tool}]').click()")
            settled(page)
            assert accessibility_violations(page) == []
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_cut(page, width):
    set_width(page, width)
    drop(page, mixed_table().to_csv(index=False), "a_file_with_quite_a_long_name_for_a_phone_screen.csv")
    page.execute_script("document.querySelector('[name=tool][value=planes]').click()")
    settled(page)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    cut = page.execute_script(
        "return [...document.querySelectorAll('main *, header *, footer *')].filter((one) => {"
        "  const box = one.getBoundingClientRect();"
        "  return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);"
        "}).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert cut == []


def test_a_link_opens_what_was_shared(page, place):
    choose(page, "set", "two_moons")
    choose(page, "noise", "0.2")
    choose(page, "k", "3")
    page.execute_script(
        "const { bench } = playground; bench.addSample(0.5, 0.5, 1); bench.moveSample(3, 0.1, 0.2);"
        "bench.removeSample(0);"
        "const biases = bench.planes.biases.map((bias, l) => bias + (l === 0 ? 0.5 : 0));"
        "bench.setPlanes({ ...bench.planes, biases });"
        "document.querySelector('[data-stage=regions]').click()"
    )
    saved = page.execute_script("return playground.savedText()")
    page.find_element("id", "share").click()
    settled(page)
    link = page.current_url
    assert "#" in link
    page.get("about:blank")
    page.get(link)
    settled(page)
    assert page.execute_script("return playground.savedText()") == saved
    assert page.execute_script("return playground.page.stage") == "regions"


def test_a_link_carries_a_small_table(page):
    drop(page, mixed_table().to_csv(index=False))
    saved = page.execute_script("return playground.savedText()")
    page.find_element("id", "share").click()
    settled(page)
    link = page.current_url
    page.get("about:blank")
    page.get(link)
    settled(page)
    assert page.execute_script("return playground.savedText()") == saved


@pytest.mark.parametrize("fragment", ["x", "%", "AAAA", "q1YqSy0qzszPU7IyqgUA"])
def test_a_damaged_link_is_reported(page, place, fragment):
    page.get("about:blank")
    page.get(f"{place}#{fragment}")
    assert "damaged" in settled(page)
    assert accuracy(page)["train"] > 0.85


@pytest.mark.parametrize("design", ["region", "paper", "blob"])
def test_python_loads_what_the_page_saves(page, tmp_path, design):
    choose(page, "set", "four_moons")
    choose(page, "design", design)
    page.execute_script("document.querySelector('[name=tool][value=planes]').click()")
    page.execute_script("document.getElementById('add-plane').click()")
    path = tmp_path / "network.json"
    path.write_text(page.execute_script("return playground.savedText()"), encoding="utf-8")
    clf = ffmlp.load(path)
    points = np.random.default_rng(0).uniform(-2, 4, (3000, 2))
    found = page.execute_script("return playground.classesOf(arguments[0])", points.ravel().tolist())
    assert clf.predict(points).tolist() == clf.classes_[found].tolist()
    assert clf.network_.stages.design == design


def test_python_loads_a_network_of_a_table(page, tmp_path):
    frame = mixed_table()
    assert drop(page, frame.to_csv(index=False)) == ""
    path = tmp_path / "network.json"
    path.write_text(page.execute_script("return playground.savedText()"), encoding="utf-8")
    clf = ffmlp.load(path)
    assert clf.feature_names_in_.tolist() == ["size", "colour", "weight"]
    found = page.execute_script("return [...playground.bench.predicted.classes]")
    assert clf.predict(frame[["size", "colour", "weight"]]).tolist() == clf.classes_[found].tolist()
    assert json.loads(path.read_text())["network"]["columns"]["parts"][1]["type"] == "CategoryColumn"


def test_the_trained_rival_learns(page):
    choose(page, "set", "three_blobs")
    page.find_element("id", "train").click()
    for _ in range(100):
        settled(page)
        text = page.find_element("id", "rival-result").text
        shares = [
            float(word) for word in text.replace("\u202f", " ").replace("%", "").split() if "." in word
        ]
        if shares and min(shares) > 95:
            break
    page.find_element("id", "train").click()
    assert min(shares) > 95


def test_the_page_is_small():
    assert len(playground_page().encode()) < 1_000_000
