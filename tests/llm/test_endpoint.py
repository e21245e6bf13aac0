"""How an endpoint is reached: how often, how long, how many calls at once, and what is said of failures."""

import logging
from typing import Any

import anyio
import pytest

from astra_mcp.completions import FaultKind, FaultPlan, Refusal, Reply, open_completions
from astra_mcp.errors import ConfigError, ModelError, ModelFault
from astra_mcp.llm.config import ModelConfig, Role
from astra_mcp.llm.model import open_model

from asked_models import a_model, judge
from completions_server import Body, CompletionsServer, breaks_off, refuses, says, sends

GOOD = says('{"score": 3}')
KEY = "sk-a/secret+of=this'test"


async def fault_of(server: CompletionsServer, words: str = "failed", **settings: Any) -> ModelFault:
    async with a_model(server, max_answers=1, **settings) as model:
        with pytest.raises(ModelError, match=words) as caught:
            await judge(model)
    return caught.value.fault


@pytest.mark.parametrize(
    ("reply", "fault", "words", "tries"),
    [
        (refuses(400), ModelFault.REFUSED, "HTTP 400", 1),
        (refuses(401), ModelFault.DENIED, "HTTP 401.*set ASTRA_MCP_MODELS__JUDGE__API_KEY", 1),
        (refuses(403), ModelFault.DENIED, "HTTP 403", 1),
        (refuses(404), ModelFault.REFUSED, "HTTP 404", 1),
        (refuses(408), ModelFault.TIMEOUT, "HTTP 408", 2),
        (refuses(413), ModelFault.REFUSED, "HTTP 413", 1),
        (refuses(429), ModelFault.RATE_LIMITED, "HTTP 429", 2),
        (refuses(500, "overloaded"), ModelFault.SERVER_ERROR, "HTTP 500: .*overloaded", 2),
        (refuses(503), ModelFault.SERVER_ERROR, "HTTP 503", 2),
        (breaks_off(), ModelFault.MALFORMED, "is not JSON: ", 1),
        (breaks_off("<html>"), ModelFault.MALFORMED, "is not JSON: <html>", 1),
        (sends([]), ModelFault.MALFORMED, "is no JSON object", 1),
    ],
)
async def test_every_failure_has_its_kind_and_some_are_tried_again(
    completions: CompletionsServer, reply: Reply, fault: ModelFault, words: str, tries: int
) -> None:
    completions.always = lambda _: reply
    words = f"the judge model 'scripted' failed: .*{words}"
    # A refused request is made once more without its form, which can be what was refused.
    settings = {"max_retries": 1, "structured_output": "parsed"}
    assert await fault_of(completions, words, **settings) is fault
    assert len(completions.requests) == tries


async def test_an_address_without_a_path_is_told_of_v1(completions: CompletionsServer) -> None:
    completions.always = lambda _: refuses(404)
    bare = completions.base_url.removesuffix("/v1")
    assert await fault_of(completions, "under /v1", base_url=bare) is ModelFault.REFUSED


async def test_an_endpoint_that_is_not_there_or_does_not_answer_is_told_apart(
    completions: CompletionsServer,
) -> None:
    nowhere = {"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}
    words = r"no connection to 127\.0\.0\.1"
    assert await fault_of(completions, words, **nowhere) is ModelFault.UNREACHABLE
    completions.later = completions.hang
    hasty = {"timeout_seconds": 0.2, "max_retries": 0}
    assert await fault_of(completions, r"no answer in 0\.2 s", **hasty) is ModelFault.TIMEOUT


async def test_an_attempt_that_takes_too_long_is_made_again(
    completions: CompletionsServer,
) -> None:
    async def reply(_: Body) -> Reply:
        if len(completions.requests) == 1:
            await anyio.sleep_forever()
        return GOOD

    completions.later = reply
    async with a_model(completions, timeout_seconds=0.5) as model:
        assert await judge(model) == 3


async def test_an_attempt_that_trickles_is_given_up_as_a_whole() -> None:
    plan = FaultPlan(shares={FaultKind.TRICKLE: 1.0}, pause_seconds=0.01)

    async with open_completions(lambda _: GOOD, faults=plan) as server:
        config = ModelConfig(
            model="scripted", base_url=server.base_url, timeout_seconds=0.3, max_retries=1
        )
        async with open_model(Role.JUDGE, config) as model:
            with pytest.raises(ModelError, match=r"no answer in 0\.3 s") as caught:
                await judge(model)

    assert caught.value.fault is ModelFault.TIMEOUT


@pytest.mark.parametrize(
    ("pause", "settings", "fault"),
    [
        ("100", {"deadline_seconds": 1.0}, ModelFault.TIMEOUT),
        ("86400", {}, ModelFault.RATE_LIMITED),
    ],
)
async def test_the_pause_that_an_endpoint_asks_for_is_kept_or_not_waited_for(
    completions: CompletionsServer, pause: str, settings: dict[str, Any], fault: ModelFault
) -> None:
    completions.always = lambda _: Refusal(429, "later", {"retry-after": pause})

    assert await fault_of(completions, **settings) is fault
    assert len(completions.requests) == 1


async def test_no_more_calls_than_allowed_are_under_way(completions: CompletionsServer) -> None:
    opened, full = anyio.Event(), anyio.Event()
    under_way, most = 0, 0

    async def reply(_: Body) -> Reply:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 4:
            full.set()
        await opened.wait()
        under_way -= 1
        return GOOD

    completions.later = reply
    with anyio.fail_after(20):
        async with (
            a_model(completions, max_concurrency=4) as model,
            anyio.create_task_group() as group,
        ):
            for number in range(16):
                group.start_soon(judge, model, str(number))
            await full.wait()
            opened.set()

    assert (most, len(completions.requests)) == (4, 16)


@pytest.mark.parametrize(
    "reply",
    [
        refuses(401, f"Incorrect API key provided: {KEY}."),
        refuses(400, f"{KEY!r} is odd, and so is {KEY}"),
        refuses(400, "x" * 290 + KEY),
        breaks_off(f"<html>{KEY}"),
        breaks_off("x" * 70 + KEY),
        breaks_off("x" * 260 + KEY),
        says(f'{{"{KEY}": 1}}'),
        says(f"{KEY}"),
    ],
)
async def test_no_message_and_no_log_repeats_the_key(
    completions: CompletionsServer, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    completions.always = lambda _: reply
    caplog.set_level(logging.DEBUG)

    async with a_model(completions, api_key=KEY, max_answers=1) as model:
        with pytest.raises(ModelError) as caught:
            await judge(model)

    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caplog.text} {model!r}"
    for form in (KEY, repr(KEY)[1:-1], KEY[:8]):
        assert form not in shown
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ModelConfig(base_url="http://127.0.0.1:9/v1"), r"set models\.emulator\.model"),
        (ModelConfig(model="m"), "set ASTRA_MCP_MODELS__EMULATOR__API_KEY or OPENAI_API_KEY"),
        (ModelConfig(model="m", base_url="http://a:b/v1"), "base_url of the model 'm' is no URL"),
    ],
)
async def test_what_is_not_configured_is_refused_before_any_request(
    config: ModelConfig, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        async with open_model(Role.EMULATOR, config):
            pass
