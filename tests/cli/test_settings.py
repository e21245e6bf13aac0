"""Settings: the file, the environment, and what is said when they are wrong."""

import re
import shutil
from pathlib import Path

import pytest

from astra_mcp.compose.bundles import find_published
from astra_mcp.compose.settings import Settings, load_serving, load_settings
from astra_mcp.errors import ConfigError, ModelFault
from astra_mcp.home import home_folder
from astra_mcp.llm.config import EmbeddingConfig, ModelConfig, Role, at_base_url
from astra_mcp.sandbox import SandboxLimits
from gateway.api.settings import DEFAULT_PORT, ServeSettings
from servers.bundled import bundled_folder


@pytest.fixture(autouse=True)
def folder(home: Path) -> Path:
    """An empty working folder, with the home in it."""
    return home.parent


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    settings = load_settings()
    assert settings.serve.port == DEFAULT_PORT
    assert settings.home == folder / "home"


def test_the_file_of_the_working_folder_comes_before_that_of_the_home(folder: Path) -> None:
    (folder / "home").mkdir()
    (folder / "home" / "astra.toml").write_text("[serve]\nport = 1111\n")
    assert load_settings().serve.port == 1111
    (folder / "astra.toml").write_text("[serve]\nport = 2222\n")
    assert load_settings().serve.port == 2222


def test_the_environment_comes_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "astra.toml").write_text("[serve]\nport = 2222\nhost = '::1'\n")
    monkeypatch.setenv("ASTRA_MCP_SERVE__PORT", "3333")
    settings = load_settings()
    assert (settings.serve.port, settings.serve.host) == (3333, "::1")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[serve]\nprot = 1\n", r"serve\.prot: .* did you mean serve\.port\?"),
        ("[sandbox]\nhard_second = 1\n", r"did you mean sandbox\.hard_seconds\?"),
        ("[server]\nport = 1\n", r"server: .* did you mean serve\?"),
        ("[serve]\nxyzzy = 1\n", r"serve\.xyzzy: .* there are host, port, "),
        ("[serve]\nworkers = 3\nworker_port = 8419\n", "port 8420 is the first worker's"),
        ("[serve]\nworkers = 3\nworker_port = 65535\n", "ports up to 65536"),
        ("[serve]\npublic_url = 'http://a.example:{prot}'\n", r"only \{worker\} and \{port\}"),
        ("[serve]\nport = 70000\n", "serve.port"),
        ("[serve]\nlog_format = 'jsn'\n", r"log_format: .*'json': did you mean json\?"),
        ("[registry]\nembedder = 'lexcal'\n", r"embedder: .*: did you mean lexical\?"),
        ("[registry]\nembedder = 'zzz'\n", r"embedder: .* or 'endpoint'$"),
        ("[registry]\nembedder = 7\n", r"embedder: .* or 'endpoint'$"),
        ("[sandbox]\nhard_seconds = 0\n", "sandbox.hard_seconds"),
        ("colour = 'red'\n", "colour"),
        ("[serve\n", "astra.toml"),
        ("[agent]\nmax_turns = 3\n", "agent: there is no such setting"),
        ("[models.juge]\nmodel = 'm'\n", r"did you mean models\.judge\?"),
        ("[models.judge]\ntemperatur = 1\n", r"did you mean models\.judge\.temperature\?"),
        ("[models.judge]\nbase_url = 'localhost:8000'\n", r"judge\.base_url: must be a URL"),
        ("[models.judge]\nbase_url = 'http://u:p@a.example/v1'\n", "a key goes into api_key"),
        ("[models.judge]\nbase_url = 'http://a.example/v1?key=x'\n", "a key goes into api_key"),
        ("[models.judge]\napi_key = 'sk x'\n", r"judge\.api_key: must be visible ASCII"),
        ("[models.judge]\napi_key = ''\n", r"judge\.api_key: must be visible ASCII"),
        ("[models.judge.extra_body]\nseed = 1\n", "must not hold 'seed': set seed instead"),
        ("[models.judge.extra_body]\nn = 2\n", "not for settings to say"),
        ("[models.embedding.extra_body]\ndimensions = 2\n", "set dimensions instead"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field_and_no_key_is_shown(
    folder: Path, text: str, named: str
) -> None:
    (folder / "astra.toml").write_text(text)
    with pytest.raises(ConfigError, match=named) as caught:
        load_settings()
    assert "sk x" not in str(caught.value)


def test_options_are_held_against_the_settings_that_they_go_with(folder: Path) -> None:
    (folder / "astra.toml").write_text("[serve]\nworker_port = 8421\n")
    assert load_serving({"workers": 3}).serve.workers == 3
    with pytest.raises(ConfigError, match="ports up to 8422, and port 8422 is the first worker's"):
        load_serving({"workers": 3, "port": 8422})
    assert load_serving({"port": 8421}).serve.port == 8421
    with pytest.raises(ConfigError, match=r"--public-url .* the port of worker 1 would be"):
        load_serving({"workers": 2, "public_url": "http://a.example:65530{worker}"})


def test_the_documented_files_are_accepted_and_the_first_holds_the_defaults(folder: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    loaded: list[Settings] = []
    for page in ("configuration.md", "models.md"):
        for block in re.findall(
            r"```toml\n(.*?)```", (docs / page).read_text(encoding="utf-8"), re.S
        ):
            (folder / "astra.toml").write_text(block)
            loaded.append(load_settings())
    defaults, models, paper = loaded[0], loaded[1].models, loaded[2].models
    assert paper.generator == paper.judge == paper.agent  # one model plays all parts
    assert (defaults.serve, defaults.sandbox) == (ServeSettings(), SandboxLimits())
    assert all((models.generator.model, models.judge.prices, models.embedding.model))


def test_every_setting_of_a_model_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for name in {**ModelConfig.model_fields, **EmbeddingConfig.model_fields}:
        assert f"`{name}`" in page, name
    for fault in ModelFault:
        assert f"| `{fault.value}` |" in page


@pytest.mark.parametrize(
    ("written", "shown"),
    [("all", "all"), ("none", ()), ("a, b", ("a", "b")), ('["a", "b"]', ("a", "b")), ("[]", ())],
)
def test_what_is_shown_interactively_is_all_none_or_names(
    monkeypatch: pytest.MonkeyPatch, written: str, shown: object
) -> None:
    monkeypatch.setenv("ASTRA_MCP_SERVE__INTERACTIVE", written)
    assert load_settings().serve.interactive == shown
    assert load_serving({"port": 1}).serve.interactive == shown


@pytest.mark.parametrize("written", ["", "a,", "all,a", "a,none"])
def test_an_option_that_names_nothing_to_show_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=r"--interactive .*all, none, or the names"):
        load_serving({"interactive": written})


def test_a_list_that_is_no_json_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASTRA_MCP_SERVE__API_KEYS", "notjson")
    with pytest.raises(ConfigError, match="ASTRA_MCP_"):
        load_settings()


def test_one_folder_named_twice_is_published_once(folder: Path) -> None:
    shutil.copytree(bundled_folder() / "sold-prices", folder / "mine" / "sold-prices-2")
    document = folder / "mine" / "sold-prices-2" / "environment.json"
    document.write_text(document.read_text().replace('"sold-prices"', '"sold-prices-2"'))
    places = (folder / "mine", folder / "mine" / "sold-prices-2")
    published = find_published(load_settings(environments=places))
    assert [d.name for d in published.digests].count("sold-prices-2") == 1


def test_two_environments_of_one_name_are_refused_with_both_places(folder: Path) -> None:
    shutil.copytree(bundled_folder() / "sold-prices", folder / "mine" / "sold-prices")
    with pytest.raises(ConfigError, match=r"bundled/sold-prices and .*mine/sold-prices"):
        find_published(load_settings(environments=(folder / "mine",)))


def test_roles_without_an_endpoint_use_that_of_the_openai_variables(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "astra.toml").write_text(
        "[models.generator]\nmodel = 'g'\n[models.judge]\nmodel = 'j'\napi_key = 'own'\n"
        "[models.embedding]\nmodel = 'e'\nbase_url = 'http://127.0.0.1:8001/v1'\n"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "shared")
    models = load_settings().models

    generator, judge = models.of_role(Role.GENERATOR), models.of_role(Role.JUDGE)
    assert generator.base_url == judge.base_url == "http://127.0.0.1:8000/v1"
    assert [c.api_key and c.api_key.get_secret_value() for c in (generator, judge)] == [
        "shared",
        "own",
    ]


def test_the_shared_key_is_not_sent_to_an_address_of_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "astra.toml").write_text("[models.embedding]\nbase_url = 'http://a.example/v1'\n")
    monkeypatch.setenv("OPENAI_API_KEY", "shared")
    assert load_settings().models.of_embedding().api_key is None


@pytest.mark.parametrize(
    ("shared_url", "key"),
    [
        (None, "shared"),
        ("http://b.example/v1", "shared"),
        ("https://b.example/v1", None),
        ("http://b.example:81/v1", None),
        ("http://a.example/v1", None),
        ("http://[", None),
    ],
)
def test_an_address_of_the_command_line_gets_no_key_that_is_for_another_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shared_url: str | None, key: str | None
) -> None:
    (folder / "astra.toml").write_text(
        "[models.agent]\nmodel = 'm'\nbase_url = 'http://a.example/v1'\napi_key = 'own'\n"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "shared")
    if shared_url is None:
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    else:
        monkeypatch.setenv("OPENAI_BASE_URL", shared_url)
    config = at_base_url(load_settings().models.agent, "http://b.example/v1")
    assert (config.model, config.base_url) == ("m", "http://b.example/v1")
    assert (config.api_key and config.api_key.get_secret_value()) == key
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    if key is not None:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY: must be visible"):
            at_base_url(load_settings().models.agent, "http://b.example/v1")


def test_a_shared_variable_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL: must be a URL"):
        load_settings().models.of_role(Role.JUDGE)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY: must be visible"):
        load_settings().models.of_role(Role.JUDGE)


def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTRA_MCP_MODELS__AGENT__API_KEY", "sk-very-secret")
    assert "sk-very-secret" not in repr(load_settings())


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", "")
    monkeypatch.setenv("ASTRA_MCP_SERVE__PORT", "")
    settings = load_settings()
    assert (settings.home, settings.serve.port) == (home_folder(), DEFAULT_PORT)
    assert settings.home.is_absolute()


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("HOM", "HOME"), ("SERV__PORT", "SERVE__PORT"), ("SERVE_PORT", "SERVE__PORT")],
)
def test_a_variable_that_is_none_is_refused_with_the_closest(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(f"ASTRA_MCP_{variable}", "1")
    with pytest.raises(ConfigError, match=rf"{variable}: .* did you mean ASTRA_MCP_{meant}\?"):
        load_settings()


def test_variables_of_the_same_beginning_that_are_no_settings_are_let_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = load_settings()
    for name in ("API_KEY", "CONTROL_KEY", "SERVICE_HOST", "SERVICE_PORT_MCP", "PORT_80_TCP_ADDR"):
        monkeypatch.setenv(f"ASTRA_MCP_{name}", "x")
    monkeypatch.setenv("ASTRA_MCP_PORT", "tcp://10.0.0.1:80")
    assert load_settings() == settings
