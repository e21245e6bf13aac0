"""Ten thousand bundles behind one gateway process, which goes on while they change."""

import os
import time
from pathlib import Path

import anyio
import pytest

from astra_mcp.compose.bundles import find_bundles
from astra_mcp.environments.creation import create_bundle
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from servers.bundled import bundled_folder

from command_line import served_home
from process_accounts import resident_bytes

COUNT = 10_000
MAX_BYTES = 400 << 20
NOTICED_SECONDS = 200.0
"""On a machine that does other things too."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Ten thousand copies of the starting bundle, written an hour ago."""
    folder = tmp_path / "many"
    model = create_bundle("model", folder)
    texts = {file.name: file.read_text() for file in model.iterdir()}
    then = time.time() - 3600
    for number in range(COUNT):
        bundle = folder / f"library-{number:05}"
        bundle.mkdir()
        for name, text in texts.items():
            named = text.replace('"model"', f'"{bundle.name}"').replace("/model", f"/{bundle.name}")
            (bundle / name).write_text(named)
            os.utime(bundle / name, (then, then))
    return folder


async def created(control: GatewayClient, name: str) -> EpisodeCreated:
    source = {"kind": "environment", "name": name}
    return await control.create_episode(EpisodeRequest.model_validate({"source": source}))


@pytest.mark.volume
@pytest.mark.timeout(600)
async def test_bundles_come_change_and_go_and_open_episodes_keep_theirs(
    many: Path, tmp_path: Path
) -> None:
    num_bundled = len(find_bundles(bundled_folder()))
    with served_home(tmp_path / "home", "--environments", str(many)) as gateway:
        async with GatewayClient(gateway.url, gateway.key) as control:
            assert (await control.health())["environments"] == COUNT + num_bundled
            opened = await created(control, "library-00001")
            gold = (await control.gold("library-00001"))[0]
            code = many / "library-00001" / "tools.py"
            code.write_text(
                code.read_text().replace('"BK-9038', '"BK-1111').replace("9038", "1111")
            )
            create_bundle("night-bus", many)
            with anyio.fail_after(NOTICED_SECONDS):
                while True:
                    try:
                        await created(control, "night-bus")
                    except RefusedError:
                        await anyio.sleep(0.5)
                    else:
                        break
            later = await created(control, "library-00001")
            told = [
                await EpisodeClient(episode.mcp_url, control.http).call(gold.tool, gold.arguments)
                for episode in (opened, later)
            ]
            assert "9038" in told[0].text
            assert "1111" in told[1].text
            assert resident_bytes(gateway.process.pid) < MAX_BYTES
