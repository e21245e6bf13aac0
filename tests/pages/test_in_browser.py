"""All pages in a real browser: they fit, they load nothing foreign, and they need no script."""

import json
import shutil
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from astra_mcp.compose.runs.notes import RunKind, note_run
from astra_mcp.pipeline import ItemStatus, Outcome, StoredItem
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Report,
    Section,
)
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, ToolRef
from astra_mcp.trajectory import (
    AssistantMessage,
    SystemMessage,
    TrajectoryWriter,
    read_trajectories,
)
from registry.store.database import open_database
from registry.store.items import DatabaseItemStore
from training.rewards.score import (
    Assessment,
    Dimension,
    DimensionScore,
    Method,
    Score,
    State,
    digest_of,
)
from training.sft.run_folder import RunFolder

from command_line import ServedHome, served_home
from deployed_workshop import raw_entry, write_config

pytestmark = pytest.mark.foreign

EXTRA = "playwright and axe-playwright-python not present: install the extra dev"
ENVIRONMENT = "rental-move-in"
HOSTILE = "<script>document.title='taken'</script>\u202e" + "w" * 3000
FUNCTIONS = [
    {
        "name": name,
        "description": f"{what} {HOSTILE}",
        "parameters": {"type": "dict", "properties": {f"a{HOSTILE}": {"type": "float"}}},
    }
    for name, what in (
        *(("tide", "Tell the height of the tide at an hour."), ("ships", "List the ships.")),
        *(("fee", "Compute what a ship pays for a night."), ("x", "")),
    )
]
"""Tools of the server ``harbour``, which would take over a page."""
WIDTHS = (390, 1280, 2560)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNREACHED = """[...document.querySelectorAll(".scroll, pre, .passage")].filter((box) =>
  box.scrollWidth > box.clientWidth + 1 && !box.closest("[tabindex='0']")).length"""
"""Boxes that scroll sideways and that the keyboard does not reach."""
SEEN_OF_LIST = """[...document.querySelectorAll("tbody tr")].map((row) =>
  [...row.children].filter((cell) => {
    const box = cell.getBoundingClientRect();
    const rest = cell.closest(".scroll").getBoundingClientRect();
    return box.width && box.left >= rest.left && box.right <= rest.right;
  }).map((cell) => cell.tagName === "TH" ? "name" : cell.dataset.name ?? "state"))"""
"""What is seen of each row of a list without scrolling sideways."""

OVERLAPPING = """(() => {
  const parts = [...document.querySelectorAll(
    "a, button, input, select, textarea, summary, h1, h2, h3, p, td, th, dt, dd, li, label, pre")]
    .filter((part) => part.checkVisibility({ visibilityProperty: true }));
  const boxes = parts.map((part) => [...part.getClientRects()]);
  const cross = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const found = [];
  for (let i = 0; i < parts.length; i++)
    for (let k = i + 1; k < parts.length; k++)
      if (!parts[i].contains(parts[k]) && !parts[k].contains(parts[i]) &&
          boxes[i].some((a) => boxes[k].some((b) => cross(a, b))))
        found.push([parts[i].outerHTML.slice(0, 90), parts[k].outerHTML.slice(0, 90)]);
  return found.slice(0, 3);
})()"""
"""Pairs of parts of which neither holds the other, and that lie on one another."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServedHome]:
    """A gateway process with servers of every kind; tests do not stop it."""
    home = tmp_path_factory.mktemp("shown") / "home"
    config = write_config(home.parent, workshop=raw_entry())
    with served_home(home, "--mcp-config", str(config)) as running:
        document = home.parent / "harbour.json"
        document.write_text(json.dumps(FUNCTIONS))
        assert running.run_program("registry", "import", str(document)).returncode == 0
        anyio.run(keep_chains, home)
        wait_for_server(running, "harbour")
        yield running


async def keep_chains(home: Path) -> None:
    """Keep what a run of synthesis would of the documented server: chains with a way back."""
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        made = [
            _chain("tide", "ships", "fee"),
            _chain("ships", "tide", "ships"),
            _chain("fee", "fee"),
        ]
        done = Outcome(
            item="harbour", input_hash="h", status=ItemStatus.FINISHED, outputs=tuple(made)
        )
        await DatabaseItemStore(database).save("by types", "offline_chains", done)


def _chain(*tools: str) -> StoredItem:
    steps = tuple(ToolRef(server="harbour", tool=tool) for tool in tools)
    chain = Chain(steps=steps, origin=ChainOrigin.OFFLINE)
    found = FoundChain(chain=chain, versions={"harbour": "an earlier one"})
    return StoredItem(id="/".join(tools), value=found.model_dump(mode="json"))


def wait_for_server(served: ServedHome, name: str) -> None:
    """Wait until the gateway publishes a server that was imported."""
    key = {"Authorization": f"Bearer {served.key}"}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = httpx.get(f"{served.url}/v1/servers", headers=key, trust_env=False).json()
        if name in {each["name"] for each in listed}:
            return
        time.sleep(0.2)
    pytest.fail(f"{name} is not published")


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


def below(served: ServedHome, episode: str) -> Sequence[str]:
    """The other views of an episode: turn by turn, with thoughts and a score; beside others; run again."""
    done = served.run_program("rollout", "--agent", "oracle", ENVIRONMENT, "--json")
    played = next(read_trajectories(Path(done.told["trajectories"])))
    spoken = [
        message.model_copy(update={"reasoning_content": HOSTILE, "content": HOSTILE})
        if isinstance(message, AssistantMessage)
        else message
        for message in played.messages
    ]
    id_ = episode.rpartition("/")[2]
    messages = (SystemMessage(content=HOSTILE), *spoken)
    shown = played.model_copy(update={"episode_id": id_, "messages": messages})
    dimensions = {d: DimensionScore(undefined=HOSTILE) for d in Dimension}
    dimensions[Dimension.QU] = DimensionScore(
        value=0.5, assessments=(Assessment(what="query", value=0.5, reason=HOSTILE),)
    )
    score = Score(
        episode_id=id_,
        digest=digest_of(shown),
        state=State.SCORED,
        total=0.5,
        defined=1,
        dimensions=dimensions,
        method=Method(judge=HOSTILE, prompts="", repeat=1, max_prompt_bytes=1),
    )
    with TrajectoryWriter(served.home / "trajectories" / f"{id_}.jsonl") as writer:
        writer.write(shown)
    scores = served.home / "trajectories" / f"scores-{id_}.jsonl"
    scores.write_text(f"{json.dumps(score.as_line())}\n")
    others = (f"with={played.episode_id}", "with=gold")
    return [
        *(f"{episode}/{view}" for view in ("trajectory", "beside", "replay")),
        *(f"{episode}/beside?{other}" for other in others),
    ]


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
    bars = BarChart(
        caption=HOSTILE,
        what=HOSTILE,
        bars=[Bar(label=label, count=12_345, reference=0.5) for label in (HOSTILE, "w" * 90)],
        reference=HOSTILE[-90:],
    )
    plain = BarChart(caption="How", what="episodes", bars=[Bar(label="w" * 90, count=12_345)])
    parts = [table, rewards, bars, plain]
    sections = [Section(title="What was played", lead=HOSTILE, parts=parts)]
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
    own = (
        *("/", "/environments", f"/environments/{ENVIRONMENT}", "/episodes", "/environments/none"),
        *("/servers", f"/servers/{ENVIRONMENT}", "/servers/harbour", "/servers/workshop"),
        *("/registry", "/registry?q=tide&by=words", "/registry/servers/harbour"),
    )
    return [*(served.url + path for path in own), *further]


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
            faults += [f"{url} at {width}: {pair}" for pair in page.evaluate(OVERLAPPING)]
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


def test_lists_show_on_a_phone_what_matters_without_scrolling_sideways(
    served: ServedHome, chromium: Any, tmp_path: Path
) -> None:
    page, _ = enter(served, chromium, viewport={"width": 390, "height": 844})
    play(served, page)
    runs(served, tmp_path)
    for path, wanted in {
        "/episodes": {"name", "state", "calls", "reward"},
        "/environments": {"name", "state", "questions", "tools"},
        "/servers": {"name", "state", "kind", "calls", "errors"},
        "/runs": {"name", "state", "kind", "came to"},
    }.items():
        page.goto(f"{served.url}{path}")
        rows = page.evaluate(SEEN_OF_LIST)
        assert rows, path
        assert [row for row in rows if not wanted <= {*row}] == [], path
    page.context.close()


def test_every_view_of_an_episode_fits_is_quiet_and_is_accessible(
    served: ServedHome, chromium: Any
) -> None:
    page, seen = enter(served, chromium)
    played = play(served, page)
    page.goto(f"{played}/replay")
    page.get_by_role("button", name="Run it again").click()
    page.get_by_text("the same, byte for byte").wait_for()
    assert faults_of(page, below(served, played)) == []
    assert page.title() != "taken"
    assert seen == []
    page.context.close()


def test_a_long_name_of_what_was_played_breaks_on_a_phone(
    served: ServedHome, chromium: Any
) -> None:
    page, _ = enter(served, chromium, viewport={"width": 390, "height": 844})
    played = play(served, page)
    lengthened = "(links) => links.forEach((link) => { link.textContent = 'w'.repeat(300) })"
    for view in ("", "/trajectory", "/beside", "/beside?with=gold", "/play"):
        page.goto(f"{played}{view}")
        source = f"main a[href$='/environments/{ENVIRONMENT}']"
        assert page.locator(source).count(), view
        page.eval_on_selector_all(source, lengthened)
        assert page.evaluate(TOO_WIDE) <= 0, view
    page.context.close()


def test_without_a_script_the_whole_reward_is_earned_and_everything_is_there(
    served: ServedHome, chromium: Any
) -> None:
    page, seen = enter(served, chromium, java_script_enabled=False)
    played = play(served, page)
    assert "1.000" in page.locator("dl.strip").inner_text()
    page.get_by_role("button", name="Close the episode").click()
    page.wait_for_url(played)
    assert "1.000" in page.locator("dl.strip").inner_text()
    for url in addresses(served, played, *below(served, played)):
        page.goto(url)
        assert page.locator("main h1").count() == 1, url
        assert len(page.locator("main").inner_text()) > 20, url
    assert [line for line in seen if "404" not in line] == []
    page.context.close()


def test_a_real_servers_tool_is_called_by_hand_after_a_tick_without_a_script(
    served: ServedHome, chromium: Any
) -> None:
    page, seen = enter(served, chromium, java_script_enabled=False)
    page.goto(f"{served.url}/servers/workshop")
    page.locator("select[name=tool]").select_option("count")
    opening = page.get_by_role("button", name="Open an episode")
    opening.click()  # the browser holds it back
    assert page.url == f"{served.url}/servers/workshop"
    page.get_by_label("I know that calls act").check()
    opening.click()
    page.wait_for_url("**/play?tool=count")
    page.get_by_role("button", name="Call count", exact=True).click()
    page.wait_for_url("**#last-call")
    assert page.locator("#last-call .result").inner_text() == "1"
    page.goto(f"{served.url}/servers/workshop")
    assert page.locator("table.bars").count() == 2
    assert seen == []
    page.context.close()


def test_a_link_leads_to_what_it_was_asked_for(served: ServedHome, chromium: Any) -> None:
    page, _ = enter(served, chromium)
    episode = hostile_episode(served)
    id_ = episode.rpartition("/")[2]
    for what, leads_to in (
        (id_[:12], episode),
        (ENVIRONMENT, f"{served.url}/environments/{ENVIRONMENT}"),
        ("workshop", f"{served.url}/servers/workshop"),
        ("/runs", f"{served.url}/runs"),
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


def test_the_list_of_episodes_follows_what_happens_until_it_is_paused(
    served: ServedHome, chromium: Any
) -> None:
    page, _ = enter(served, chromium)
    page.goto(f"{served.url}/episodes")
    for is_followed in (True, False):
        id_ = hostile_episode(served).rpartition("/")[2]
        row = page.locator(f"tbody a[href='/episodes/{id_}']")
        if is_followed:
            row.wait_for(timeout=20_000)
            page.get_by_role("button", name="Pause").click()
    assert page.locator(".live p").inner_text().startswith("Paused.")
    assert row.count() == 0
    page.get_by_role("button", name="Go on").click()
    row.wait_for(timeout=20_000)


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


def test_keys_lead_from_turn_to_turn(served: ServedHome, chromium: Any) -> None:
    page, _ = enter(served, chromium)
    episode = play(served, page)
    page.goto(f"{episode}/trajectory")
    focused: list[str] = []
    for key in "jjkj":
        page.keyboard.press(key)
        focused.append(page.evaluate("document.activeElement.id"))
    assert focused == ["turn-1", "turn-2", "turn-1", "turn-2"]


def test_without_a_script_a_plot_is_drawn_and_its_numbers_stand_there(
    served: ServedHome, chromium: Any, tmp_path: Path
) -> None:
    page, _ = enter(served, chromium, java_script_enabled=False)
    page.goto(runs(served, tmp_path)[2])
    assert page.locator("svg.drawn path.line-1").first.is_visible()
    assert page.get_by_text("0.08333").first.is_visible()
    page.context.close()
