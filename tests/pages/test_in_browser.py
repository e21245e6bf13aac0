"""All pages in a real browser: they fit, they load nothing foreign, and they need no script."""

import json
import shutil
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from astra_mcp.compose.runs.notes import RunKind, note_run
from astra_mcp.report.html.parts import (
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Report,
    Section,
)
from training.sft.run_folder import RunFolder

from command_line import ServedHome, served_home

pytestmark = pytest.mark.foreign

EXTRA = "playwright and axe-playwright-python not present: install the extra dev"
ENVIRONMENT = "rental-move-in"
HOSTILE = "<script>document.title='taken'</script>\u202e" + "w" * 3000
WIDTHS = (390, 1280, 2560)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNREACHED = """[...document.querySelectorAll(".scroll, pre, .passage")].filter((box) =>
  box.scrollWidth > box.clientWidth + 1 && !box.closest("[tabindex='0']")).length"""
"""Boxes that scroll sideways and that the keyboard does not reach."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServedHome]:
    """A gateway process; tests do not stop it."""
    with served_home(tmp_path_factory.mktemp("shown") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Generator[Any]:
    """A browser of this machine."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: install Debian's package of this name")
    playwright = pytest.importorskip("playwright.sync_api", reason=EXTRA)
    with playwright.sync_playwright() as started:
        # Tests run as root in containers; the pages are ours.
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def enter(served: ServedHome, chromium: Any, **options: Any) -> tuple[Any, list[str]]:
    """Log a browser in by a link of ``astra-mcp open``; its page, and what that complains of or asks for."""
    told = served.run_program("open", "--json")
    context = chromium.new_context(**options)
    page = context.new_page()
    seen: list[str] = []

    def hear_request(asked: Any) -> None:
        if not asked.url.startswith(served.url):
            seen.append(f"foreign: {asked.url}")

    def hear_console(message: Any) -> None:
        seen.append(f"console: {message.text}")

    def hear_error(error: Any) -> None:
        seen.append(f"error: {error}")

    page.on("console", hear_console)
    page.on("pageerror", hear_error)
    page.on("request", hear_request)
    page.goto(json.loads(told.stdout)["url"])
    page.wait_for_url(f"{served.url}/")
    return page, seen


def play(served: ServedHome, page: Any) -> str:
    """Play the gold calls of an environment by its forms, and close it; the path of the episode."""
    key = {"Authorization": f"Bearer {served.key}"}
    gold = httpx.get(
        f"{served.url}/v1/environments/{ENVIRONMENT}/gold", headers=key, trust_env=False
    ).json()
    page.goto(f"{served.url}/environments/{ENVIRONMENT}")
    page.get_by_role("button", name="Play by hand").click()
    path = page.url.removesuffix("/play")
    for call in gold:
        form = page.locator("details.tool").filter(
            has=page.locator(f"input[name=tool][value={call['tool']}]")
        )
        if form.get_attribute("open") is None:
            form.locator("summary").first.click()
        for name, value in call["arguments"].items():
            control = form.locator(f"[name='argument:{name}']")
            if control.evaluate("e => e.tagName") == "SELECT":
                control.select_option(value=json.dumps(value))
            else:
                control.fill(value if isinstance(value, str) else json.dumps(value))
        form.get_by_role("button", name=f"Call {call['tool']}", exact=True).click()
        page.wait_for_url("**/play?tool=*")
    return path


def hostile_episode(served: ServedHome) -> str:
    """Record an episode with a label that would take over a page; its path."""
    source = {"kind": "environment", "name": ENVIRONMENT}
    made = httpx.post(
        f"{served.url}/v1/episodes",
        json={"source": source, "labels": {HOSTILE[:100]: HOSTILE}},
        headers={"Authorization": f"Bearer {served.key}"},
        trust_env=False,
    )
    return f"{served.url}/episodes/{made.json()['id']}"


def runs(served: ServedHome, folder: Path) -> Sequence[str]:
    """Note a rollout and two trainings, one of which goes on being told; addresses of their pages."""
    table = DataTable(
        caption=HOSTILE,
        columns=[DataColumn(name="environment"), DataColumn(name="reward", is_number=True)],
        rows=[(ENVIRONMENT, "0.750"), (HOSTILE, HOSTILE)],
        paths=[f"/environments/{ENVIRONMENT}", ""],
    )
    rewards = Histogram(
        caption="Rewards",
        x_label="reward",
        y_label="episodes",
        bins=[(0.1, 2), (0.9, 7)],
        bin_width=0.2,
    )
    sections = [Section(title="What was played", lead=HOSTILE, parts=[table, rewards])]
    figures = [KeyFigure(label="mean reward", value="0.750")]
    report = Report(title="Rollout", key_figures=figures, sections=sections)
    kind = RunKind.ROLLOUT
    with note_run(served.home, kind, command="rollout", name=HOSTILE, key="r") as run:
        run.show(lambda: report, is_last=True)
    found = [run.id]
    for name in ("one", "two"):
        place = folder / name
        place.mkdir(parents=True)
        for step in range(1, 13):
            values = {
                "rollout/reward": step / 12,
                "structure/collapsed": step / 120,
                "loss": 1 / step,
            }
            RunFolder(place).log(step, {**values, "alarms/collapse": step > 8})
        kind = RunKind.TRAINING
        with note_run(
            served.home, kind, command="train rl", name=name, key=name, place=place
        ) as run:
            run.tell(HOSTILE)
        found.append(run.id)
    rollout, one, two = found
    paths = ("", f"/{rollout}", f"/{one}?with={two}")
    return [f"{served.url}/runs{path}" for path in paths]


def addresses(served: ServedHome, *further: str) -> Sequence[str]:
    own = ("/", "/environments", f"/environments/{ENVIRONMENT}", "/episodes", "/environments/none")
    return [*(served.url + path for path in own), *further]


def test_every_page_fits_is_quiet_and_is_accessible(served: ServedHome, chromium: Any) -> None:
    page, seen = enter(served, chromium, viewport={"width": 1280, "height": 900})
    played = play(served, page)
    assert seen == []
    shown = (f"{played}/play", played, hostile_episode(served))
    assert faults_of(page, addresses(served, *shown)) == []
    missing = [line for line in seen if "404" not in line]  # of the page that is not there
    assert missing == []
    page.context.close()


def test_pages_of_runs_fit_are_quiet_and_are_accessible(
    served: ServedHome, chromium: Any, tmp_path: Path
) -> None:
    page, seen = enter(served, chromium, viewport={"width": 1280, "height": 900})
    assert faults_of(page, runs(served, tmp_path)) == []
    assert seen == []
    page.context.close()


def faults_of(page: Any, urls: Sequence[str]) -> Sequence[str]:
    """What is wrong with pages, at each width and in both schemes."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=EXTRA)
    faults: list[str] = []
    for url in urls:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(url)
            if page.evaluate(TOO_WIDE) > 0:
                faults.append(f"{url} scrolls sideways at {width}")
            if page.evaluate(UNREACHED):
                faults.append(f"{url} at {width}: the keyboard does not reach a box that scrolls")
            assert page.title().endswith("astra-mcp"), url
        page.evaluate(
            "document.querySelectorAll('details').forEach((part) => { part.open = true })"
        )
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = axe.Axe().run(page).response["violations"]
            faults += [
                f"{url} {scheme}: {each['id']} {[node['html'][:120] for node in each['nodes'][:3]]}"
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
    return faults


def test_without_a_script_the_whole_reward_is_earned_and_everything_is_there(
    served: ServedHome, chromium: Any
) -> None:
    page, seen = enter(served, chromium, java_script_enabled=False)
    played = play(served, page)
    assert "1.000" in page.locator("dl.strip").inner_text()
    page.get_by_role("button", name="Close the episode").click()
    page.wait_for_url(played)
    assert "1.000" in page.locator("dl.strip").inner_text()
    for url in addresses(served, played):
        page.goto(url)
        assert page.locator("main h1").count() == 1, url
        assert len(page.locator("main").inner_text()) > 20, url
    assert [line for line in seen if "404" not in line] == []
    page.context.close()


def test_a_link_leads_to_what_it_was_asked_for(served: ServedHome, chromium: Any) -> None:
    page, _ = enter(served, chromium)
    episode = hostile_episode(served)
    id_ = episode.rpartition("/")[2]
    for what, leads_to in (
        (id_[:12], episode),
        (ENVIRONMENT, f"{served.url}/environments/{ENVIRONMENT}"),
    ):
        told = served.run_program("open", what, "--json")
        page.goto(json.loads(told.stdout)["url"])
        page.wait_for_url(leads_to)
    refused = served.run_program("open", "rental-move-out", "--print")
    assert refused.returncode == 1
    assert ENVIRONMENT in refused.stderr
    page.context.close()


def test_the_keyboard_reaches_the_content_first_and_copies_an_entry(
    served: ServedHome, chromium: Any
) -> None:
    page, _ = enter(served, chromium)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("summary", has_text="Cursor").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy").focus()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["mcpServers"]["astra-mcp"]["url"].startswith(f"{served.url}/mcp?caller=")
    page.context.close()


def test_figures_of_a_training_are_drawn_again_while_it_runs(
    served: ServedHome, chromium: Any, tmp_path: Path
) -> None:
    page, seen = enter(served, chromium)
    place = tmp_path / "live"
    place.mkdir()
    for step in range(1, 5):
        RunFolder(place).log(step, {"loss": 1 / step})
    kind = RunKind.TRAINING
    with note_run(
        served.home, kind, command="train sft", name="live", key="live", place=place
    ) as run:
        run.tell("step 4 of 9")
        page.goto(f"{served.url}/runs/{run.id}")
        page.locator("summary").first.click()
        page.locator("canvas").wait_for()
        RunFolder(place).log(5, {"loss": 0.125})
        page.get_by_role("cell", name="0.125", exact=True).wait_for(timeout=30_000)
        assert page.locator("details[open]").count() == 1  # as the reader left it
        RunFolder(place).log(6, {"loss": 0.1, "validation_loss": 0.2})
        page.get_by_role("heading", name="Validation loss").wait_for(timeout=30_000)
        assert page.locator("canvas").count() == 2
    page.locator(".badge", has_text="done").wait_for(timeout=30_000)
    assert page.locator("#live-fault").is_hidden()
    told = served.run_program("open", run.id, "--json")
    page.goto(json.loads(told.stdout)["url"])
    page.wait_for_url(f"{served.url}/runs/{run.id}")
    assert seen == []
    page.context.close()


def test_without_a_script_a_plot_is_drawn_and_its_numbers_stand_there(
    served: ServedHome, chromium: Any, tmp_path: Path
) -> None:
    page, _ = enter(served, chromium, java_script_enabled=False)
    page.goto(runs(served, tmp_path)[2])
    assert page.locator("svg.drawn path.line-1").first.is_visible()
    assert page.get_by_text("0.08333").first.is_visible()
    page.context.close()
