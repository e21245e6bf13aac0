"""What ``astra-mcp rollout`` makes of its options before a gateway is asked."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app
from astra_mcp.cli.rollout.agents import KEY_RULE, model_config
from astra_mcp.cli.rollout.difficulty import ask_difficulty, naming_options
from astra_mcp.cli.rollout.episode_sources import ask_sources, find_sources
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError, UnknownNameError
from gateway.api.client import GatewayClient, RefusedError
from gateway.api.seams import EnvironmentDetails, EnvironmentInfo, QuestionInfo
from gateway.api.wire import (
    DistractorRequest,
    FailingCalls,
    FailureRequest,
    SourceEnvironment,
)

pytestmark = pytest.mark.usefixtures("home")


NOOP = ("--agent", "noop")
OWN_KEY = {"ASTRA_MCP_MODELS__AGENT__API_KEY": "own"}
OWN_URL = "ASTRA_MCP_MODELS__AGENT__BASE_URL"
SHARED_KEY = {"OPENAI_API_KEY": "shared"}
UNREADABLE_KINDS = (
    *("timeout", "timeout=", "=1", "timeout=much", "timeout=inf"),
    *("timeout=1,timeout=2", "timeout=1,"),
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rollout", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*NOOP, "harbour", "--server", "docks"], "in runs of their own"),
        ([*NOOP, "harbour", "--prompt", "Go."], "--prompt goes with --server"),
        ([*NOOP, "--prompt-file", "x"], "--prompt-file goes with --server"),
        ([*NOOP, "--server", "a", "--prompt", " "], "--prompt is"),
        ([*NOOP, "--server", "a", "--prompt", "b", "--prompt-file", "c"], "one of them"),
        ([*NOOP, "--server", "a", "--prompt-file", "none.txt"], "none.txt cannot be"),
        (["--agent", "oracle", "--server", "a"], "servers have none"),
        (["--agent", "m", "--base-url", "http://127.0.0.1:9/v1", "--server", "a"], "give --prompt"),
        ([*NOOP, "--question", "q-2"], "--question names a question of one environment"),
        ([*NOOP, "a", "--question", "q-2", "--questions", "all"], "no --questions all"),
        ([*NOOP, "--server", "a", "--questions", "all"], "servers have no questions"),
        ([*NOOP, "--k", "2"], "--k goes with --distractors banded"),
        ([*NOOP, "--k", "2", "--distractors", "random"], "--k goes with"),
        ([*NOOP, "--distractors", "some"], "--distractors"),
        ([*NOOP, "--failure-rate", "2"], "--failure-rate"),
        ([*NOOP, "--failure-rate", "nan"], "--failure-rate"),
        ([*NOOP, "--failure-kinds", "timeout=1"], "--failure-kinds goes with"),
        ([*NOOP, "--failure-rate", "0", "--failure-delay"], "--failure-delay goes with"),
        (["--agent", "oracle", "--failure-rate", "0.2"], "gold calls never do"),
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(arguments: list[str], words: str) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        *((kinds, "write each kind once") for kinds in UNREADABLE_KINDS),
        ("boredom=1", "there is no kind 'boredom'"),
        ("timeout=-1", "weights"),
        ("timeout=0", "weights"),
    ],
)
def test_kinds_of_failures_that_cannot_be_drawn_are_refused(kinds: str, words: str) -> None:
    done = run("--agent", "noop", "--failure-rate", "0.5", "--failure-kinds", kinds)

    assert done.exit_code == 2
    assert "--failure-kinds" in done.stderr
    assert words in done.stderr


# --- what is asked for ----------------------------------------------------------------------------


def test_without_options_the_gateway_decides() -> None:
    asked = ask_difficulty(mode=None, k=None, rate=None, kinds=None, delay=False, is_gold=False)

    assert (asked.distractors, asked.failures) == (None, None)


def test_gold_calls_are_asked_for_without_failures_whatever_the_gateway_would_do() -> None:
    asked = ask_difficulty(mode="banded", k=None, rate=None, kinds=None, delay=False, is_gold=True)

    assert asked.distractors == DistractorRequest(mode="banded", k=3)
    assert asked.failures == FailureRequest(rate=0)


def test_all_that_is_asked_for_is_passed_on() -> None:
    written = " timeout = 0.5, unreachable=2 "
    asked = ask_difficulty(
        mode="banded",
        k=5,
        rate=0.5,
        kinds=written,
        delay=True,
        is_gold=False,
        scope="emulated_calls",
    )

    assert asked.distractors == DistractorRequest(mode="banded", k=5)
    kinds = {"timeout": 0.5, "unreachable": 2.0}
    scope = FailingCalls.EMULATED_CALLS
    assert asked.failures == FailureRequest(rate=0.5, kinds=kinds, delay=True, scope=scope)


@pytest.mark.parametrize(
    ("message", "option"),
    [
        ("body.distractors.k: Input should be less than 9", "--k"),
        ("distractors are not available here", "--distractors"),
        ("body.failures.kinds: there is no kind 'x'", "--failure-kinds"),
        ("failures.delay is not available", "--failure-delay"),
        ("failures.rate: not above 0.5", "--failure-rate"),
        ("body.source.servers.names: too many", "--server"),
    ],
)
def test_what_the_gateway_does_not_take_is_named_by_its_option(message: str, option: str) -> None:
    with pytest.raises(ConfigError) as error, naming_options():
        raise RefusedError(422, "not_available", message)

    assert str(error.value) == f"{option}: the gateway refused: {message}"


def test_any_other_refusal_stays_what_it_is() -> None:
    with pytest.raises(RefusedError), naming_options():
        raise RefusedError(503, "too_many_episodes", "as many as allowed are open")


# --- prompts --------------------------------------------------------------------------------------


def test_a_file_has_a_prompt_on_each_line_and_each_is_played_once(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("Find a berth.\r\n\n  停泊在哪里  \nFind a berth.\n", encoding="utf-8")

    asked = ask_sources(None, ["docks", "docks"], None, file)

    assert asked.servers == ("docks",)
    assert asked.prompts == ("Find a berth.", "停泊在哪里")


def test_prompts_of_several_lines_stand_in_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    prompts = ["Find a berth.\nThen book it.", "Go."]
    file.write_text("\n".join(json.dumps({"prompt": p}) for p in prompts), encoding="utf-8")

    assert ask_sources(None, ["docks"], None, file).prompts == tuple(prompts)


@pytest.mark.parametrize(
    "line",
    ['"Go."', '{"prompt": ""}', '{"prompt": 1}', '{"question": "?"}', "Go.", "{", '"\\ud800"'],
)
def test_a_line_that_is_no_prompt_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(f'{{"prompt": "Go."}}\n\n{line}\n', encoding="utf-8")

    with pytest.raises(ConfigError, match=r"prompts\.jsonl, line 3: "):
        ask_sources(None, ["docks"], None, file)


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xff\xfe"])
def test_a_file_without_prompts_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=r"--prompt-file .*prompts\.txt"):
        ask_sources(None, ["docks"], None, file)


# --- the key of a model ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({}, None),
        (SHARED_KEY, "shared"),
        (SHARED_KEY | {"OPENAI_BASE_URL": "http://elsewhere/v1"}, None),
        (OWN_KEY, None),
        (OWN_KEY | SHARED_KEY | {OWN_URL: "http://127.0.0.1:9/v2"}, "own"),
        (OWN_KEY | SHARED_KEY | {OWN_URL: "http://127.0.0.1:8/v1"}, "shared"),
    ],
)
def test_each_host_is_sent_the_key_that_is_meant_for_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], key: str | None
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    config = model_config(load_settings(), "m", "http://127.0.0.1:9/v1")
    assert (config.api_key and config.api_key.get_secret_value()) == key
    assert (config.model, config.base_url) == ("m", "http://127.0.0.1:9/v1")


def test_advice_about_keys_is_the_rule_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert KEY_RULE in run("--agent", "some-model").stderr


class TwoEnvironments:
    """What a gateway tells of two environments, one of which has further questions."""

    async def environments(self) -> list[EnvironmentInfo]:
        return [await self.environment(name) for name in ("harbour", "library")]

    async def environment(self, name: str) -> EnvironmentDetails:
        further = [QuestionInfo(id=i, question="?", scenario_type=None, sub_tasks=1) for i in IDS]
        return EnvironmentDetails(
            **dict.fromkeys(("name", "title", "description", "version", "question"), name),
            status="verified",
            domain="other",
            language="en",
            scenario_type=None,
            sub_tasks=1,
            num_questions=3 if name == "library" else 1,
            tools=(),
            questions=tuple(further if name == "library" else ()),
        )


IDS = ("fare-1", "fare-2")


@pytest.mark.parametrize(
    ("names", "asked", "questions", "played"),
    [
        ([], [], "main", [("harbour", None), ("library", None)]),
        ([], [], "all", [("harbour", None), *(("library", id) for id in (None, *IDS))]),
        (["library"], ["fare-2"], "main", [("library", "fare-2")]),
    ],
)
async def test_main_questions_are_played_or_all_or_those_that_are_named(
    names: list[str], asked: list[str], questions: Any, played: list[tuple[str, str | None]]
) -> None:
    gateway = cast("GatewayClient", TwoEnvironments())
    wanted = ask_sources(names, None, None, None, asked=asked, questions=questions)
    found = [source for source, _ in (await find_sources(gateway, wanted)).sources]
    assert [(s.name, s.question) for s in found if isinstance(s, SourceEnvironment)] == played
    wanted = ask_sources(["library"], None, None, None, asked=["fare"])
    with pytest.raises(UnknownNameError, match="did you mean fare-2, fare-1"):
        await find_sources(gateway, wanted)
