"""The control plane over a real socket: episodes, catalog, errors, health, metrics, OpenAPI."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.errors import TransportError
from astra_mcp.types import Origin
from gateway.api.client import (
    CallRefusedError,
    EpisodeClient,
    GatewayClient,
    RefusedError,
    open_http,
)
from gateway.api.wire import EpisodeRequest
from gateway.episodes.archive import tell_record

from metric_samples import samples_of

COINS = {"kind": "environment", "name": "coins"}
NOT_AVAILABLE: list[Any] = [
    ({"source": {"kind": "task", "id": "t"}}, "task"),
    ({"source": COINS, "distractors": {"mode": "random"}}, "distractors"),
    ({"source": COINS, "distractors": {"mode": "banded", "k": 2}}, "distractors"),
]
"""What a gateway could do that has tasks and distractors, and the field that asks for it."""


def request(**fields: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate({"source": COINS, **fields})


async def test_an_episode_is_created_played_read_and_closed(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        created = await client.create_episode(request(seed=7, labels={"group": "a"}))
        assert created.mcp_url == f"{gateway.url}/episodes/{created.id}/mcp"
        assert created.control_url == f"{gateway.url}/v1/episodes/{created.id}"
        assert (created.prompt, created.seed) == ("How many?", 7)
        agent = EpisodeClient(created.mcp_url, client.http)
        assert (await agent.list_tools()) == created.tools
        await agent.call("add", {"amount": 3})
        state = await client.episode(created.id)
        assert (state.status, state.calls, state.solved) == (EpisodeStatus.OPEN, 1, (1,))
        assert state.labels == {"group": "a"}
        closed = await client.close_episode(created.id)
        assert closed.status is EpisodeStatus.CLOSED
        assert closed.reward is not None
        assert closed.reward.reward == pytest.approx(1.0, abs=1e-5)
        assert await client.close_episode(created.id) == closed
        assert await client.episode(created.id) == closed


async def test_creation_says_under_which_key_each_server_knows_the_episode(gateway: Any) -> None:
    source = {"kind": "servers", "names": ["notes", "coins"]}
    created = await gateway.control.post("/v1/episodes", json={"source": source})

    keys = {name: server.keys[-1] for name, server in gateway.servers.items()}
    assert created.json()["upstream_keys"] == keys
    assert len({created.json()["id"], *keys.values()}) == 3


async def test_a_call_by_hand_is_sent_as_the_page_says(gateway: Any) -> None:
    page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"\$ (curl -s \$MCP_URL .*?)\n```", page, re.S)
    words = shlex.split(command.replace("\\\n", " "))
    headers = dict(w.split(": ", 1) for flag, w in pairwise(words) if flag == "-H")
    body = json.loads(words[words.index("-d") + 1])
    assert headers["Mcp-Name"] == body["params"]["name"]
    headers["Mcp-Name"], body["params"]["name"] = "add", "add"
    body["params"]["arguments"] = {"amount": 3}
    created = await gateway.episode()

    answer = await gateway.stranger.post(created["mcp_url"], headers=headers, json=body)

    assert answer.status_code == 200
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "total 3"}]
    (call,) = (await gateway.control.get(f"/v1/episodes/{created['id']}/record")).json()["calls"]
    assert (call["call_id"], call["solved"]) == ("call_0", [1])


async def test_a_record_says_of_each_call_who_answered_and_what_it_solved(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        created = await client.create_episode(request())
        agent = EpisodeClient(created.mcp_url, client.http)
        await agent.call("add", {"amount": 3}, call_id="mine", seq=0)
        with pytest.raises(CallRefusedError):
            await agent.call("steal", {})
        record = await client.record(created.id)
    assert record.state.calls == 2
    assert (record.prompt, record.tools_hash) == (created.prompt, created.tools_hash)
    known, unknown = record.calls
    assert (known.call_id, known.seq, known.server, known.tool) == ("mine", 0, "coins", "add")
    assert (known.origin, known.solved, known.is_distractor) == (Origin.TOOL, (1,), False)
    assert known.result is not None
    assert (unknown.server, unknown.tool, unknown.shown) == (None, None, "steal")


async def test_servers_without_a_job_have_no_reward_and_no_failure(gateway: Any) -> None:
    source = {"kind": "servers", "names": ["coins", "notes"], "prompt": "Count"}
    created = await gateway.control.post("/v1/episodes", json={"source": source})
    assert created.json()["prompt"] == "Count"
    assert [t["name"] for t in created.json()["tools"]][:2] == ["coins__add", "coins__echo"]
    state = (await gateway.control.delete(f"/v1/episodes/{created.json()['id']}")).json()
    assert (state["reward"], state["failure"]) == (None, None)


async def test_a_batch_opens_all_episodes_in_order(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        created = await client.create_episodes([request(seed=n) for n in range(5)])
        assert [c.seed for c in created] == list(range(5))
        assert len({c.id for c in created}) == 5


async def test_a_batch_with_a_fault_opens_none_and_names_it(gateway: Any) -> None:
    wrong = {"source": {"kind": "environment", "name": "coinz"}}
    answer = await gateway.control.post("/v1/episodes:batch", json=[{"source": COINS}, wrong])
    assert answer.status_code == 404
    assert "episode 1 of the batch (none was opened)" in answer.json()["error"]["message"]
    assert gateway.episodes.count_open() == 0


async def test_several_episodes_are_closed_at_once_in_order_and_again(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        created = await client.create_episodes([request(seed=n) for n in range(5)])
        ids = [c.id for c in reversed(created)]
        for _ in range(2):
            states = await client.close_episodes(ids)
            assert [(s.id, s.status) for s in states] == [(id, EpisodeStatus.CLOSED) for id in ids]
        assert gateway.episodes.count_open() == 0


async def test_one_that_cannot_be_closed_is_named_by_its_place_and_the_others_are_closed(
    gateway: Any,
) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        ids = [c.id for c in await client.create_episodes([request(seed=n) for n in range(2)])]
    unknown = "f" * 32
    answer = await gateway.control.post("/v1/episodes:close", json=[ids[0], unknown, ids[1]])
    assert answer.status_code == 404
    assert "episode 1 of the list was not closed" in answer.json()["error"]["message"]
    assert unknown not in answer.text
    assert gateway.episodes.count_open() == 0
    assert (await gateway.control.post("/v1/episodes:close", json=[])).status_code == 422


@pytest.mark.parametrize("count", [0, 1025])
async def test_an_empty_or_oversized_batch_is_refused(open_gateway: Any, count: int) -> None:
    async with open_gateway(max_body_bytes=1 << 20) as gateway:
        body = [{"source": COINS}] * count
        assert (await gateway.control.post("/v1/episodes:batch", json=body)).status_code == 422
        assert gateway.episodes.count_open() == 0


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"source": COINS, "sead": 1}, "sead"),
        ({"source": {**COINS, "nome": 1}}, "nome"),
        ({"source": COINS, "limits": {"cals": 1}}, "limits.cals"),
        ({"source": {"kind": "magic"}}, "source"),
        ({"source": COINS, "seed": -1}, "seed"),
        ({"source": COINS, "limits": {"calls": 0}}, "limits.calls"),
        ({"seed": 1}, "source"),
        ([], "body"),
        ([], "should be an object"),
        ({"source": {"kind": "servers", "names": "coins"}}, "should be a list"),
        ({"source": {"kind": "servers", "names": ["b", "a", "b"]}}, "name each server once: b "),
        ({"source": COINS, "failures": {"rate": 1.5}}, "failures.rate"),
        ({"source": COINS, "failures": {"rate": 0.1, "kinds": {"fire": 1}}}, "no kind 'fire'"),
        ({"source": COINS, "failures": {"rate": 0.1, "kinds": {"fire": 1}}}, "rate_limited"),
        ({"source": COINS, "failures": {"rate": 0.1, "kinds": {"timeout": 0}}}, "failures.kinds"),
        ({"source": COINS, "failures": {"rate": 0.1, "kinds": {}}}, "server_error"),
        ({"source": COINS, "failures": {"rate": 0.1, "kinds": {"timeout": -1}}}, "from 0"),
        ({"source": COINS, "failures": {"rate": 0.1, "king": {}}}, "failures.king"),
        ({"source": COINS, "distractors": {"mode": "all"}}, "distractors.mode"),
        ({"source": COINS, "distractors": {"mode": "banded", "k": 0}}, "distractors.k"),
        *NOT_AVAILABLE,
    ],
)
async def test_what_is_wrong_or_not_available_is_422_and_the_field_is_named(
    gateway: Any, body: Any, named: str
) -> None:
    answer = await gateway.control.post("/v1/episodes", json=body)
    code = "not_available" if (body, named) in NOT_AVAILABLE else "invalid_request"
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert named in answer.json()["error"]["message"]
    assert gateway.episodes.count_open() == 0


async def test_a_text_that_cannot_be_recorded_is_422(gateway: Any) -> None:
    body = b'{"source": {"kind": "environment", "name": "coins"}, "labels": {"a": "\\ud800"}}'
    headers = {"Content-Type": "application/json"}
    response = await gateway.control.post("/v1/episodes", content=body, headers=headers)
    assert response.status_code == 422
    assert "surrogate" in response.json()["error"]["message"]


async def test_asking_for_no_distractors_and_no_failures_is_allowed(gateway: Any) -> None:
    created = await gateway.episode(distractors={"mode": "none"}, failures={"rate": 0})
    assert len(created["tools"]) == 3


async def test_unknown_names_are_404_with_the_closest(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        for asked in (client.environment("coinz"), client.gold("coinz")):
            with pytest.raises(RefusedError, match="coins") as raised:
                await asked
            assert (raised.value.status, raised.value.code) == (404, "unknown_name")
        with pytest.raises(RefusedError) as raised:
            await client.episode(EpisodeId("f" * 32))
        assert "f" * 32 not in str(raised.value)


async def test_an_episode_of_an_unknown_environment_is_refused_as_one(gateway: Any) -> None:
    body = {"source": {"kind": "environment", "name": "coinz"}}
    answer = await gateway.control.post("/v1/episodes", json=body)
    assert "no environment is named 'coinz'" in answer.json()["error"]["message"]


async def test_an_unknown_question_is_refused_as_one_and_the_main_one_may_be_named_by_null(
    gateway: Any,
) -> None:
    asking = [{"source": {**COINS, "question": question}} for question in (None, "q-2")]
    created = await gateway.control.post("/v1/episodes", json=asking[0])
    assert created.json()["source"] == COINS
    refused = [
        await gateway.control.post("/v1/episodes:batch", json=asking),
        await gateway.control.get("/v1/environments/coins/gold?question=q-2"),
    ]
    for answer in refused:
        assert answer.status_code == 404
        assert "no question of coins is named 'q-2'" in answer.json()["error"]["message"]


async def test_the_catalog_is_listed_and_only_gold_holds_gold(gateway: Any) -> None:
    async with GatewayClient(gateway.url, gateway.key) as client:
        environments = await client.environments()
        assert [e.name for e in environments] == ["coins", "notes"]
        alone = (await client.environment("notes")).model_dump(exclude={"questions"})
        assert alone == environments[1].model_dump()
        assert [g.arguments for g in await client.gold("coins")] == [{"amount": 3}]
        servers = await client.servers()
        assert [s.mcp_url for s in servers] == [
            f"{gateway.url}/servers/{n}/mcp" for n in ("coins", "notes")
        ]


async def test_environments_are_listed_a_page_at_a_time_and_chosen_by_what_they_are(
    gateway: Any,
) -> None:
    first = await gateway.control.get("/v1/environments", params={"limit": 1, "language": "en"})
    assert ([e["name"] for e in first.json()], first.headers["X-Total-Count"]) == (["coins"], "2")
    path, _, rel = first.headers["Link"].removeprefix("<").partition(">; ")
    assert rel == 'rel="next"'
    last = await gateway.control.get(path)
    assert [e["name"] for e in last.json()] == ["notes"]
    assert "Link" not in last.headers
    none = await gateway.control.get("/v1/environments", params={"family": "harbours"})
    assert (none.json(), none.headers["X-Total-Count"]) == ([], "0")
    wrong = await gateway.control.get("/v1/environments", params={"limit": 0})
    assert wrong.status_code == 422


async def test_beyond_the_most_episodes_creation_is_503_until_one_is_closed(
    open_gateway: Any,
) -> None:
    async with open_gateway(max_open=1) as gateway:
        first = await gateway.episode()
        answer = await gateway.control.post("/v1/episodes", json={"source": COINS})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_many_episodes")
        await gateway.control.delete(f"/v1/episodes/{first['id']}")
        await gateway.episode()


async def test_the_open_episodes_are_listed_without_interactive_states(gateway: Any) -> None:
    first, second = await gateway.episode(), await gateway.episode()
    async with open_http() as http:
        await EpisodeClient(f"{gateway.url}/mcp", http).call("coins__add", {})
    await gateway.control.delete(f"/v1/episodes/{second['id']}")
    listed = (await gateway.control.get("/v1/episodes")).json()
    assert [s["id"] for s in listed] == [first["id"]]


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("PUT", "/v1/episodes")])
async def test_what_does_not_exist_is_an_error_in_the_same_shape(
    gateway: Any, method: str, path: str
) -> None:
    answer = await gateway.control.request(method, path)
    assert answer.status_code in (404, 405)
    assert set(answer.json()["error"]) == {"code", "message"}
    assert answer.json()["error"]["message"]


async def test_the_client_says_where_nothing_answers_and_never_tells_the_key(
    gateway: Any,
) -> None:
    async with GatewayClient("http://127.0.0.1:9", "a secret key of ours") as client:
        with pytest.raises(TransportError, match="astra-mcp serve") as raised:
            await client.environments()
        assert "secret" not in str(raised.value)
    async with GatewayClient(gateway.url, "a secret key of ours") as client:
        with pytest.raises(RefusedError, match=r"control\.key") as refused:
            await client.environments()
        assert "secret" not in str(refused.value)
        assert (await client.health())["status"] == "ok"


async def test_health_and_readiness_are_told_apart(open_gateway: Any, gateway: Any) -> None:
    assert (await gateway.stranger.get("/healthz")).json()["status"] == "ok"
    ready = await gateway.stranger.get("/readyz")
    assert (ready.status_code, ready.json()["environments"]) == (200, 2)
    async with open_gateway(readiness=lambda: ["no sandbox"]) as broken:
        answer = await broken.stranger.get("/readyz")
        assert (answer.status_code, answer.json()["missing"]) == (503, ["no sandbox"])
        assert (await broken.stranger.get("/healthz")).status_code == 200


async def test_a_gateway_without_pages_gives_no_links_into_them(gateway: Any) -> None:
    answer = await gateway.control.post("/v1/login-links", json={})
    assert answer.status_code == 422
    assert "serve.pages" in answer.json()["error"]["message"]
    for path in ("/", "/environments", "/login/abc", "/episodes"):
        page = await gateway.stranger.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 404, path


async def test_the_openapi_document_describes_every_path_and_its_errors(gateway: Any) -> None:
    document = (await gateway.stranger.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.")
    paths = document["paths"]
    assert set(paths) == {
        "/v1/episodes",
        "/v1/episodes:batch",
        "/v1/episodes:close",
        "/v1/episodes/{id}",
        "/v1/episodes/{id}/record",
        "/v1/environments",
        "/v1/environments/{name}",
        "/v1/environments/{name}/gold",
        "/v1/servers",
        "/v1/tasks",
        "/v1/workers",
        "/v1/login-links",
        "/v0.1/servers",
        "/v0.1/servers/{namespace}/{name}/versions",
        "/v0.1/servers/{namespace}/{name}/versions/{version}",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    create = paths["/v1/episodes"]["post"]
    assert {"201", "401", "404", "422", "503"} <= set(create["responses"])
    names = set(document["components"]["schemas"])
    assert {"EpisodeRequest", "EpisodeCreated", "EpisodeState", "ErrorBody"} <= names
    assert "HTTPValidationError" not in names


async def test_the_metrics_count_calls_by_server_and_origin(gateway: Any) -> None:
    created = await gateway.episode()
    async with open_http() as http:
        client = EpisodeClient(created["mcp_url"], http)
        for _ in range(3):
            await client.call("add", {})
        with pytest.raises(TransportError):
            await client.call("steal", {})
    text = (await gateway.stranger.get("/metrics")).text
    samples = samples_of(text)
    assert samples["astra_mcp_calls_total", "tool", "coins"] == 3
    assert samples["astra_mcp_calls_total", "tool", "(unlisted)"] == 1
    assert samples["astra_mcp_call_seconds_count", "tool", "coins"] == 3
    assert samples["astra_mcp_episodes_open",] == 1
    assert samples["astra_mcp_episodes_created_total", "environment"] == 1
    assert samples["astra_mcp_http_requests_total", "control", "201"] == 1
    assert created["id"][:6] not in text
    await gateway.control.delete(f"/v1/episodes/{created['id']}")
    text = (await gateway.stranger.get("/metrics")).text
    assert 'astra_mcp_episodes_ended_total{status="closed"} 1.0' in text
    assert "astra_mcp_episodes_open 0.0" in text


async def test_no_error_repeats_a_control_character(gateway: Any) -> None:
    source = {"kind": "environment", "name": "coins"}
    body = {"source": source, "a\x1b[31m\x9b\u202e\n": 1}
    answer = await gateway.control.post("/v1/episodes", json=body)
    message = answer.json()["error"]["message"]
    assert message == r"body.a\x1b[31m\x9b\u202e : Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({str(n): "" for n in range(33)}, "at most 32 items"),
        ({"x" * 129: ""}, "the name of a label has at most 128"),
        ({"a": "x" * 4097}, "a label has at most 4096"),
    ],
    ids=["too many", "a long name", "a long text"],
)
async def test_labels_are_bounded(gateway: Any, labels: dict[str, str], said: str) -> None:
    source = {"kind": "environment", "name": "coins"}
    answer = await gateway.control.post("/v1/episodes", json={"source": source, "labels": labels})
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert "body.labels" in answer.json()["error"]["message"]


@pytest.mark.parametrize("written", ["1_0", " 1", "1.0", "\uff11", ""])
@pytest.mark.parametrize(
    "path", ["/v1/environments?limit", "/v1/environments?hops", "/v0.1/servers?limit"]
)
async def test_a_number_of_a_query_is_written_in_digits(
    gateway: Any, path: str, written: str
) -> None:
    answer = await gateway.control.get(f"{path}={written}")
    assert answer.status_code == 422
    assert (await gateway.control.get(f"{path}=10")).status_code == 200


@pytest.mark.parametrize("num_calls", [0, 2, 5])
async def test_a_record_is_written_in_slices_and_whole(
    gateway: Any, monkeypatch: pytest.MonkeyPatch, num_calls: int
) -> None:
    monkeypatch.setattr("gateway.control.record_printer._SLICE", 2)
    created = await gateway.episode()
    episode = await gateway.episodes.get(created["id"])
    for _ in range(num_calls):
        await episode.call("add", {"amount": 1})
    answer = await gateway.control.get(f"/v1/episodes/{created['id']}/record")
    assert answer.headers["content-type"] == "application/json"
    whole = tell_record(*await gateway.episodes.recorded(created["id"])).model_dump(mode="json")
    assert len(whole["calls"]) == num_calls
    assert answer.json() == whole


async def test_a_long_record_is_written_by_a_process_of_its_own_and_the_same(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = await gateway.episode()
    place = f"/v1/episodes/{created['id']}/record"
    await (await gateway.episodes.get(created["id"])).call("add", {"amount": 1})
    short = await gateway.control.get(place)
    monkeypatch.setattr("gateway.control.records._LONG_BYTES", 0)
    monkeypatch.setattr("gateway.control.records.print_record", None)  # nor is it called here
    assert (await gateway.control.get(place, timeout=60)).content == short.content
    _, path = await gateway.episodes.recorded(created["id"])
    path.write_bytes(path.read_bytes() + b"no event\n")
    broken = await gateway.control.get(place, timeout=60)
    assert broken.status_code == 500
    assert "line 4" in broken.json()["error"]["message"]


@pytest.mark.parametrize("num_bytes", [1, 7, 1 << 20])
async def test_a_list_is_sent_in_slices_and_whole(
    gateway: Any, monkeypatch: pytest.MonkeyPatch, num_bytes: int
) -> None:
    made = (await gateway.control.post("/v1/episodes:batch", json=[{"source": COINS}] * 3)).json()
    monkeypatch.setattr("gateway.control.lists._SENT_AT_ONCE", num_bytes)
    answer = await gateway.control.get("/v1/episodes")
    assert [state["id"] for state in answer.json()] == [episode["id"] for episode in made]
    assert int(answer.headers["content-length"]) == len(answer.content)


async def test_of_a_batch_the_first_request_that_is_wrong_is_named_and_no_other(
    gateway: Any,
) -> None:
    wrong = {"source": COINS, **{f"k{n}": n for n in range(30)}}
    answer = await gateway.control.post(
        "/v1/episodes:batch", json=[{"source": COINS}, wrong, wrong]
    )
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert "body.1.k0" in message
    assert "and 10 more" in message
    assert "body.2" not in message
    assert (await gateway.control.get("/v1/episodes")).json() == []


async def test_the_openapi_document_says_what_a_batch_is_made_of(gateway: Any) -> None:
    document = (await gateway.stranger.get("/openapi.json")).json()
    said = document["paths"]["/v1/episodes:batch"]["post"]["requestBody"]["content"]
    items = said["application/json"]["schema"]["items"]
    assert items == document["components"]["schemas"]["EpisodeRequest"]
