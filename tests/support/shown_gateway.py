"""A gateway with its pages, asked without sockets or processes, by a browser that is none."""

import re
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from astra_mcp.compose.settings import Settings
from astra_mcp.compose.verdicts import StoredJudgements
from astra_mcp.environments.acceptance.verdict import Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.serving.pages.access import LoginLinks
from astra_mcp.serving.pages.app import PagesApp
from astra_mcp.serving.pages.episode_index import EpisodeIndex, HeardEpisodes, open_index
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.registry.searching import open_tool_search
from astra_mcp.serving.pages.servers.figures import WorkerFigures
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.types import ServerKind
from gateway.app import open_app
from gateway.control.other_workers import open_fleet
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.edge.workers import ALONE, OwnWorkerInfo
from gateway.episodes.live import Episodes, open_episodes
from registry.store.database import Database, open_database

BASE = "http://127.0.0.1:8420"
HTML = {"Accept": "text/html,*/*;q=0.8"}
KEY = {"Authorization": f"Bearer {CONTROL_KEY}"}
_TOKEN = re.compile(r'name="form_token" value="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
STEERING = "\x1b[31mred\u202egnp\u2066"
BUNDLED = "rental-move-in"


def weigh(ship: str, unit: str = "tons") -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs 300 {unit}."


def shout(words: list[str], times: int = 1, *, loud: bool = False) -> str:
    """Say words again."""
    return " ".join(words * times).upper() if loud else " ".join(words * times)


def flood(size: int) -> str:
    """Say much."""
    return "w" * size + SCRIPT


def curse(text: str) -> str:
    """Say what no page may do: <script>alert(1)</script> [click](javascript:alert(1)).

    Args:
        text: <b>bold</b>
    """
    return f"{text} {SCRIPT} {STEERING} **bold** [a](http://foreign.example)"


def make_catalog() -> InMemoryCatalog:
    """A harbour that is an environment, one that says awful things, and one that stands for a bundle."""
    gold = Question("How heavy is the Alma?", "300 tons", gold=[("weigh", {"ship": "Alma"})])
    awful = Question(f"{SCRIPT} {STEERING} 北京市", "nothing", gold=[("curse", {"text": SCRIPT})])
    kind = ServerKind.ENVIRONMENT
    return InMemoryCatalog(
        InMemoryServer("harbour", weigh, shout, flood, kind=kind),
        InMemoryServer("awful", curse, kind=kind),
        InMemoryServer(BUNDLED, weigh, kind=kind),
        questions={"harbour": gold, "awful": awful, BUNDLED: gold},
    )


@dataclass(frozen=True, kw_only=True)
class ShownGateway:
    """The gateway, and how to reach it."""

    app: PagesApp
    home: Path
    episodes: Episodes
    index: EpisodeIndex
    database: Database
    stranger: httpx.AsyncClient
    """Has no session."""
    browser: httpx.AsyncClient
    """Has one."""

    async def page(self, path: str, *, code: int = 200) -> str:
        """Read a page."""
        answer = await self.browser.get(path)
        assert answer.status_code == code, answer.text
        return answer.text

    async def send(self, path: str, **form: str) -> httpx.Response:
        """Send a form with the token that the pages of the session hold."""
        token = form_token(await self.page("/"))
        return await self.browser.post(path, data={"form_token": token, **form})

    async def log_in(self, client: httpx.AsyncClient) -> None:
        """Give a client a session."""
        answer = await client.get(self.app.mint_link("/").path)
        assert answer.status_code == 200, answer.text


def form_token(page: str) -> str:
    """The secret of forms that a page holds."""
    found = _TOKEN.search(page)
    assert found, page
    return found[1]


def words_of(page: str) -> str:
    """The text of a page."""
    return unescape(_TAG.sub(" ", page))


def _prepare(home: Path, migrated: Path) -> None:
    home.mkdir(exist_ok=True)
    if not (home / "registry.db").exists():
        shutil.copy(migrated, home / "registry.db")


@asynccontextmanager
async def open_shown_gateway(
    catalog: InMemoryCatalog,
    home: Path,
    migrated: Path,
    *,
    links: LoginLinks | None = None,
    worker_info: OwnWorkerInfo = ALONE,
    bundles: Mapping[str, Bundle] = MappingProxyType({}),
    verdict_of: Callable[[Bundle], Verdict | None] = lambda _: None,
    **rules: Any,
) -> AsyncGenerator[ShownGateway]:
    """Open a gateway with pages while the context is open.

    Args:
        catalog: What it publishes.
        home: Gets the records.
        migrated: A registry's file, which is copied.
        links: Let in; by default new ones.
        worker_info: Which worker it is.
        bundles: Of environments that have one.
        verdict_of: What the acceptance said.
        rules: Such as ``api_keys``.
    """
    _prepare(home, migrated)
    heard, metrics = HeardEpisodes(), Metrics()
    checked = access_rules(host="127.0.0.1", control_key=CONTROL_KEY, **rules)
    async with (
        open_database(f"sqlite:///{home / 'registry.db'}") as database,
        open_episodes(catalog, home, secret=b"test", sinks=(metrics, heard)) as episodes,
        open_index(database, home / "records", episodes, heard) as index,
        open_fleet(worker_info, CONTROL_KEY) as fleet,
        open_tool_search(Settings(home=home), database) as tool_search,
    ):
        parts = PageParts(
            home=home,
            control_key=CONTROL_KEY,
            needs_api_key=bool(checked.api_keys),
            worker_info=worker_info,
            catalog=catalog,
            episodes=episodes,
            index=index,
            database=database,
            figures=WorkerFigures(metrics, fleet),
            tool_search=tool_search,
            bundle_of=bundles.get,
            verdict_of=verdict_of,
            judgements=StoredJudgements(home),
        )
        pages = PagesApp(parts, links or LoginLinks())
        async with (
            open_app(
                catalog,
                episodes,
                rules=checked,
                metrics=metrics,
                worker_info=worker_info,
                pages=pages,
            ) as app,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url=BASE, headers=HTML
            ) as stranger,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url=BASE, headers=HTML
            ) as browser,
        ):
            shown = ShownGateway(
                app=pages,
                home=home,
                episodes=episodes,
                index=index,
                database=database,
                stranger=stranger,
                browser=browser,
            )
            if worker_info is ALONE:
                await shown.log_in(browser)
            yield shown
