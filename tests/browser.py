"""Headless Chromium for tests of pages, and axe-core for their accessibility."""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AXE = Path(os.environ.get("FFMLP_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--allow-file-access-from-files",
)


@contextmanager
def chromium(folder, width=1400, height=900):
    """A browser with an empty profile in a folder; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("Chromium and ChromeDriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={folder}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def set_width(browser, width, height=900):
    """Make the page this wide, as a phone does; a window is never narrower than 500 pixels."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def console_errors(browser):
    """The errors that the page has written to the console since the last call."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def requests(browser):
    """The addresses requested since the last call, except files, data and the empty tab."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [part["params"] for part in messages if part["method"] == "Network.requestWillBeSent"]
    return [
        part["request"]["url"]
        for part in sent
        if not part["request"]["url"].startswith(("file:", "data:", "blob:", "chrome:"))
    ]


def accessibility_violations(browser):
    """What axe-core finds: the rule, and the elements that break it."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm install --no-package-lock")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done);")
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]]
