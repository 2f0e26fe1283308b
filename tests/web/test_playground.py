"""The playground in a browser."""

import pytest
from browser import accessibility_violations, console_errors, requests, set_width
from problems import mixed_table

from ffmlp.web.joining import playground_page

pytest.importorskip("pandas")

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


def dropped_table(browser, name="table.csv"):
    """Drop a CSV file of numbers, categories and missing cells."""
    frame, y = mixed_table(400)
    return drop(browser, frame.assign(kind=y).to_csv(index=False), name)


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


def test_columns_of_a_table_are_chosen(page):
    assert dropped_table(page) == ""
    page.execute_script("document.querySelector('[name=inputs][value=drawn]').click()")
    choose(page, "across", "1")
    choose(page, "up", "2")
    assert page.execute_script("return playground.bench.inputs") == [1, 2]
    choose(page, "up", "1")
    assert page.execute_script("return playground.bench.inputs") == [2, 1]
    assert "distinct values" in choose(page, "target", "age")
    assert page.execute_script("return playground.bench.settings.target") == "kind"


def test_nonsense_is_refused_with_a_message(page):
    before = accuracy(page)
    assert "Line 3 does not have the 2 cells" in drop(page, "a,b\n1,2\n3")
    assert "not a text file" in drop(page, "\x00\x01\x02PNG")
    assert accuracy(page) == before
    assert page.execute_script("return playground.bench.settings.set") == "nine_blobs"


def test_a_thousand_random_acts(page):
    for seed in range(10):
        if seed == 5:
            dropped_table(page)
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
    dropped_table(page)
    for scheme in ("light", "dark"):
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
    dropped_table(page, "a_file_with_quite_a_long_name_for_a_phone_screen.csv")
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


def test_a_damaged_link_is_reported(page, place):
    page.get("about:blank")
    page.get(f"{place}#AAAA")
    assert "damaged" in settled(page)
    assert accuracy(page)["train"] > 0.85


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
