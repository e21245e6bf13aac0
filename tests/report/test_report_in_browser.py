"""Reports in a real browser: drawn, quiet, and readable without a script."""

from collections.abc import Generator
from pathlib import Path

import pytest

from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    Histogram,
    LinePlot,
    Mark,
    Report,
    Section,
    Series,
)
from astra_mcp.report.html.writing import write_report

from browser import Browser, open_browser

pytestmark = pytest.mark.foreign

HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
)
DRAWN = """[...document.querySelectorAll("[data-plot] canvas")].map((canvas) => {
  const { width, height } = canvas;
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
  return new Set(pixels).size > 3 && canvas.getBoundingClientRect().width > 200;
})"""
"""Whether each plot has several colours and some width."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report with each kind of plot."""
    histogram = Histogram(
        caption=HOSTILE,
        x_label="hops",
        y_label="questions",
        bins=[(1, 2), (4, 12)],
        marks=[Mark(label=HOSTILE, at=3.7)],
    )
    lines = LinePlot(
        caption="Reward",
        x_label="step",
        y_label="reward",
        x=[0, 10, 20],
        series=[
            Series(name="a", values=[0.1, None, 0.5]),
            Series(name=HOSTILE, values=[0, 0.2, 0]),
        ],
    )
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(Report(title="T", sections=[Section(title="S", parts=[histogram, lines])]), file)
    return file.as_uri()


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, url: str, request: pytest.FixtureRequest) -> Browser:
    scheme = [{"name": "prefers-color-scheme", "value": request.param}]
    browser.send("Emulation.setEmulatedMedia", features=scheme)
    browser.open(url)
    return browser


def test_every_plot_is_drawn_without_a_request_or_a_complaint(page: Browser, url: str) -> None:
    assert page.evaluate(DRAWN) == [True, True]
    assert page.evaluate("document.title") == "T"
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert [address for address in page.requests() if not address.startswith("data:")] == [url]
    assert page.complaints() == []


def test_the_scheme_of_the_reader_is_followed_and_paper_is_light(page: Browser) -> None:
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    lightness = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(lightness) == ("rgb(18, 23, 29)" if is_dark else "rgb(255, 255, 255)")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(lightness) == "rgb(255, 255, 255)"
    assert page.evaluate(DRAWN) == [True, True]
    page.evaluate("dispatchEvent(new Event('afterprint'))")


def test_arrow_keys_read_a_plot(page: Browser) -> None:
    read = "document.activeElement.parentElement.querySelector('.readout').textContent"
    page.evaluate("document.querySelectorAll('.plot')[1].focus()")
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert page.evaluate(read) == f"step: 10  ·  a: \u2013  ·  {HOSTILE}: 0.2"
    page.press("Escape")
    assert page.evaluate(read) == ""


def test_without_a_script_the_numbers_stand_in_open_tables(browser: Browser, url: str) -> None:
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(url)
    browser.send("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.evaluate("document.querySelectorAll('canvas').length") == 0
    seen = "[...document.querySelectorAll('table')].map((table) => table.checkVisibility())"
    assert browser.evaluate(seen) == [True, True]


def test_long_words_of_bars_break_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    word = "get_the_weight_of_every_ship_" * 4
    named = BarChart(caption="c", what="calls", bars=[Bar(label=word, count=12_345)])
    compared = BarChart(
        caption=word,
        what=word,
        bars=[Bar(label=word, count=12_345, reference=0.5), Bar(label=word, count=1)],
        reference=word,
    )
    file = tmp_path / "report.html"
    sections = [Section(title="S", parts=[named, compared])]
    write_report(Report(title="T", sections=sections), file)
    size = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    browser.open(file.as_uri())
    ends = "[...document.querySelectorAll('.bars')].map((each) => each.getBoundingClientRect().right <= 390)"
    assert browser.evaluate(ends) == [True, True]
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    browser.send("Emulation.clearDeviceMetricsOverride")
