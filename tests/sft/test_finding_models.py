"""Where a model is looked for: folders, the hub, which is asked once and not for long, and its cache."""

from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from astra_mcp.addresses import bind, url_of
from astra_mcp.errors import ConfigError

pytestmark = pytest.mark.train


class _Refusing(BaseHTTPRequestHandler):
    """A hub that has no model."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """A hub without models, and an empty cache; gives what it was asked."""
    from huggingface_hub import constants  # noqa: PLC0415 - of the extra

    _Refusing.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield _Refusing.asked
        server.shutdown()
        thread.join()


@pytest.fixture
def closed(hub: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that nobody answers for."""
    from huggingface_hub import constants  # noqa: PLC0415 - of the extra

    del hub
    with bind("127.0.0.1", 0) as listener:
        monkeypatch.setattr(constants, "ENDPOINT", url_of(listener))


@pytest.mark.parametrize("name", ["./none", "/none", "~/none", "none/", "one/two/three"])
def test_a_path_is_no_name_of_the_hub(hub: list[str], name: str) -> None:
    from training.sft.model import find_model  # noqa: PLC0415

    with pytest.raises(ConfigError, match="model: there is no such folder: "):
        find_model(name)
    assert hub == []


def test_what_the_hub_does_not_know_is_asked_for_once(hub: list[str]) -> None:
    from training.sft.model import find_model  # noqa: PLC0415

    with pytest.raises(
        ConfigError, match=r"'some/model' is no folder, and the hub refuses it: .*404"
    ):
        find_model("some/model")
    assert [path for path in hub if "model" in path] == ["/api/models/some/model"]


@pytest.mark.usefixtures("closed")
def test_a_hub_that_is_not_reached_says_why(caplog: pytest.LogCaptureFixture) -> None:
    from training.sft.model import find_model  # noqa: PLC0415

    with pytest.raises(
        ConfigError, match=r"was not loaded before, and the hub is not reached .*refused"
    ):
        find_model("some/model")
    assert not caplog.records


@pytest.mark.usefixtures("closed")
def test_what_was_loaded_before_is_taken_where_the_hub_is_not_reached(tmp_path: Path) -> None:
    from training.sft.model import find_model  # noqa: PLC0415

    place = tmp_path / "cache/models--some--model"
    (place / "refs").mkdir(parents=True)
    (place / "refs/main").write_text("0" * 40)
    (place / "snapshots" / ("0" * 40)).mkdir(parents=True)
    assert find_model("some/model") == str(place / "snapshots" / ("0" * 40))
    assert find_model(str(tmp_path)) == str(tmp_path)
