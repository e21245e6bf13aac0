"""docs/emulators.md says what is so: its example runs, and its settings are whole."""

import re
import tomllib
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.compose.emulators import open_emulated
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.types import JsonObject
from registry.store.database import open_database
from servers.emulated.settings import EmulatorSettings

PAGE = (Path(__file__).parents[2] / "docs" / "emulators.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.usefixtures("home")
def test_the_calls_of_the_page_are_answered_as_it_says() -> None:
    [example] = blocks("json")
    Path("library.json").write_text(example)
    done = CliRunner().invoke(app, ["registry", "import", "library.json"])
    assert done.exit_code == 0, done.output
    anyio.run(_compare_calls, load_settings())


async def _compare_calls(settings: Settings) -> None:
    async with (
        open_database(settings.registry_url) as database,
        open_emulated(settings, database, crawled=False) as emulated,
    ):
        [server] = emulated.upstreams()
        session = server.open_session(key="k", seed=0)  # as `astra-mcp run` does

        async def call(tool: str, arguments: JsonObject) -> str:
            return (await session.call(f"library_{tool}", arguments)).result.text

        made = await call("create_book", {"title": "The Silver Tide", "pages": 312})
        told = '"title": "The Silver Tide", "pages": 312'
        assert told in made
        assert told in PAGE
        listed = await call("list_books", {})
        assert made in listed
        assert listed.count('"title"') > 1
        assert await call("get_book", {"book_id": "x"}) == "Book not found: x"
        refused = await call("create_book", {"pages": 0})
    faults = [line.removeprefix("- ") for line in refused.splitlines()[1:]]
    assert faults == re.findall(r"`(argument .*?)`", PAGE)


def test_the_page_names_every_setting_with_its_default() -> None:
    [settings, _] = blocks("toml")
    told = tomllib.loads(settings)["emulators"]
    assert told == EmulatorSettings().model_dump(mode="json")
