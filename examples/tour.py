"""A person's path through the pages, in a real browser: each step is looked at, and can be kept as a picture.

astra-mcp serve                              # in another terminal
astra-mcp rollout --agent oracle             # something to compare with
astra-mcp synth environments --families micro --count 12 --out more
python examples/tour.py [--shots FOLDER] [--browser chromium]

It plays an environment by hand to the whole reward, finds that episode again, puts it beside the oracle's,
and opens the last runs of synthesis and of training, as far as there are some. Needs Playwright
(`pip install playwright`) and a Chromium.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

ENVIRONMENT = "rental-move-in"
WIDTH, HEIGHT = 1280, 860


def main() -> None:
    """Walk the path."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shots", type=Path, help="write a picture of each step into this folder")
    parser.add_argument("--browser", default="chromium", help="the program of a Chromium")
    parser.add_argument("--environment", default=ENVIRONMENT, help="which one is played")
    options = parser.parse_args()
    with _browser(options.browser) as page:
        tour = Tour(page, options.environment, options.shots)
        tour.arrive()
        tour.play()
        tour.find_and_compare()
        tour.open_last_run("synthesis")
        tour.open_last_run("training")
    print("the whole path was walked")


@contextmanager
def _browser(program: str) -> Generator[Page]:
    with sync_playwright() as playwright:
        # A root user, as in containers, has no sandbox of Chromium; the pages are ours.
        found = shutil.which(program)
        if found is None:
            sys.exit(f"there is no {program}: install a Chromium, or name one by --browser")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        finally:
            browser.close()


class Tour:
    """A browser that goes from page to page, by what a person sees there."""

    def __init__(self, page: Page, environment: str, shots: Path | None) -> None:
        self._page = page
        self._environment = environment
        self._shots = shots
        self._episode = ""

    def arrive(self) -> None:
        """Open the link of the running gateway."""
        told = subprocess.run(
            [sys.executable, "-m", "astra_mcp", "open", "--json"],
            stdout=subprocess.PIPE,
            check=False,
        )
        if told.returncode:
            sys.exit(told.returncode)  # the command has said why
        url = json.loads(told.stdout)["url"]
        self._page.goto(url)
        self._page.wait_for_url(url.partition("/login/")[0] + "/")
        self._keep("start")

    def play(self) -> None:
        """Find the environment, play its gold calls by hand, and close the episode."""
        page = self._page
        self._go_to("Environments")
        self._keep("environments")
        page.get_by_label("Name or title").fill(self._environment)
        page.get_by_role("button", name="Show").click()
        page.locator(f"a[href$='/environments/{self._environment}']").first.click()
        self._keep("environment")
        page.get_by_text("Show the answers and the gold calls").click()
        calls = page.locator("section[aria-labelledby=gold] li:has(pre)").all()
        gold = [(each.locator("code").first.inner_text(), _json_in(each)) for each in calls]
        page.get_by_role("button", name="Play by hand").click()
        self._episode = page.url.split("/")[-2]
        for tool, arguments in gold:
            self._call(tool, arguments)
        expect(page.locator("dl.strip")).to_contain_text("1.000")
        self._keep("play")
        page.get_by_role("button", name="Close the episode").click()

    def find_and_compare(self) -> None:
        """Find the episode in the list, read it, and put it beside the oracle's."""
        page = self._page
        self._go_to("Episodes")
        self._keep("episodes")
        page.locator(f"a[href$='/episodes/{self._episode}']").first.click()
        page.get_by_role("link", name="Turn by turn").click()
        self._keep("trajectory")
        page.get_by_role("link", name="Beside another").click()
        oracle = page.get_by_role("row").filter(has_text="oracle")
        (oracle if oracle.count() else page).get_by_role("link", name="compare").first.click()
        self._keep("beside")

    def open_last_run(self, kind: str) -> None:
        """Open the last run of a kind; says so where there is none."""
        page = self._page
        self._go_to("Runs")
        self._keep("runs")
        rows = page.get_by_role("row").filter(has_text=kind)
        if not rows.count():
            print(f"there is no {kind} in this home")
            return
        rows.first.get_by_role("link").first.click()
        self._keep(kind)

    def _call(self, tool: str, arguments: dict[str, object]) -> None:
        form = self._page.locator("details.tool").filter(
            has=self._page.locator(f"input[name=tool][value='{tool}']")
        )
        if form.get_attribute("open") is None:
            form.locator("summary").first.click()
        for name, value in arguments.items():
            field = form.locator(f"[name='argument:{name}']")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value=json.dumps(value))
            else:
                field.fill(value if isinstance(value, str) else json.dumps(value))
        form.get_by_role("button", name=f"Call {tool}", exact=True).click()
        self._page.wait_for_url("**/play?tool=*")

    def _go_to(self, name: str) -> None:
        self._page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()

    def _keep(self, name: str) -> None:
        """See that a page stands there, and take a picture of what is seen without scrolling."""
        expect(self._page.locator("main h1")).to_be_visible()
        if self._shots is not None:
            self._shots.mkdir(parents=True, exist_ok=True)
            self._page.screenshot(path=self._shots / f"{name}.png")


def _json_in(call: Locator) -> dict[str, object]:
    return json.loads(call.locator("pre").inner_text())


if __name__ == "__main__":
    main()
