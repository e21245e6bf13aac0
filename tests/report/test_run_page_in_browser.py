"""The page of runs in a real browser, on a phone and on a desk."""

from pathlib import Path

import pytest

from astra_mcp.compose.runs.training import report_of
from astra_mcp.report.html.writing import write_report
from training.sft.run_folder import RunFolder

from browser import open_browser

pytestmark = pytest.mark.foreign

DRAWN = """[...document.querySelectorAll("[data-plot] canvas")].map((canvas) => {
  const { width, height } = canvas;
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
  return new Set(pixels).size > 3;
})"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The page of a run of SFT, one of GRPO, and one whose name would be markup."""
    lengths: dict[str, tuple[int, dict[str, float]]] = {
        "sft": (90, {"loss": 2.0, "learning_rate": 0.1}),
        "grpo": (7, {}),
        "<b>": (3, {}),
    }
    for name, (steps, of_sft) in lengths.items():
        (tmp_path / name).mkdir()
        run = RunFolder(tmp_path / name)
        run.log(0, {"greedy/reward": 0.1})
        for step in range(1, steps + 1):
            played = {"rollout/reward": step / 100, "filling/refills": 1, "entropy": 1 / step}
            judged = {"greedy/reward": step / 100} if step % 3 == 0 else {}
            run.log(step, {**(of_sft or played), **judged, "seconds": 1.5})
    file = tmp_path / "page.html"
    write_report(report_of([tmp_path / name for name in lengths]), file)
    return file.as_uri()


@pytest.mark.parametrize("width", [390, 1280])
def test_every_plot_is_drawn_and_nothing_is_wider_than_the_window(
    url: str, tmp_path: Path, width: int
) -> None:
    with open_browser(tmp_path / "profile") as browser:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.send("Emulation.setDeviceMetricsOverride", **size)
        browser.open(url)
        assert browser.evaluate(DRAWN) == [True] * 7
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.querySelectorAll('main b').length") == 0
        assert [each for each in browser.requests() if not each.startswith("data:")] == [url]
        assert browser.complaints() == []
