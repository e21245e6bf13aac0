"""Everything that a published server offers beside tools passes through the gateway, in both eras."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    Root,
    TextContent,
    TextResourceContents,
)

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.types import Origin
from gateway.api.client import GatewayClient

from heard_news import hearing
from relayed_servers import open_episode, text_of

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs the server

SERVER = "everything"
NOTE = "demo://resource/dynamic/text/7"
DOCUMENT = "demo://resource/static/document/architecture.md"
GRAPH = "memory://knowledge-graph"
ADA = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
WAIT_SECONDS = 20


@pytest.fixture(params=["endpoint", "episode"])
async def url(
    request: pytest.FixtureRequest, gateway: Any, control: GatewayClient, anyio_backend: str
) -> Any:
    """The server by itself, and as the one server of an episode."""
    if request.param == "endpoint":
        yield gateway.server_url(SERVER)
        return
    episode = await open_episode(control, SERVER)
    yield episode.mcp_url
    record = await control.record(episode.id)
    state = await control.close_episode(episode.id)
    assert {call.origin for call in record.calls} <= {Origin.TOOL}
    assert state.status is EpisodeStatus.CLOSED


@pytest.fixture(params=["endpoint", "episode"])
async def memory(request: pytest.FixtureRequest, gateway: Any, control: GatewayClient) -> str:
    """A server with a state by itself, or in an episode."""
    if request.param == "endpoint":
        return gateway.server_url("memory")
    return (await open_episode(control, "memory")).mcp_url


async def test_resources_are_listed_and_read(url: str, sdk: Any, era: str) -> None:
    async with sdk(url, era) as client:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        note = await client.read_resource(NOTE)
        document = await client.read_resource(DOCUMENT)
        with pytest.raises(MCPError, match="nowhere"):
            await client.read_resource("demo://nowhere")
    assert DOCUMENT in {str(r.uri) for r in listed.resources}
    assert "demo://resource/dynamic/text/{resourceId}" in {
        t.uri_template for t in templates.resource_templates
    }
    assert isinstance(note.contents[0], TextResourceContents)
    assert "Resource 7" in note.contents[0].text
    assert "# Everything Server" in document.contents[0].text


async def test_prompts_are_listed_filled_in_and_completed(url: str, sdk: Any, era: str) -> None:
    async with sdk(url, era) as client:
        listed = await client.list_prompts()
        filled = await client.get_prompt("args-prompt", {"city": "Oslo", "state": "Viken"})
        reference = PromptReference(type="ref/prompt", name="completable-prompt")
        completed = await client.complete(reference, {"name": "department", "value": "E"})
        with pytest.raises(MCPError, match="no-such-prompt"):
            await client.get_prompt("no-such-prompt")
    assert {"simple-prompt", "args-prompt", "completable-prompt"} <= {
        p.name for p in listed.prompts
    }
    assert "Oslo" in filled.messages[0].content.text
    assert completed.completion.values == ["Engineering"]


async def test_progress_arrives_while_a_call_runs(url: str, sdk: Any, era: str) -> None:
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        del message
        heard.append((progress, total))

    async with sdk(url, era) as client:
        result = await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.3, "steps": 3},
            progress_callback=hear,
        )
    assert "completed" in text_of(result)
    assert heard == [(1.0, 3.0), (2.0, 3.0), (3.0, 3.0)]


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_log_messages_arrive(url: str, sdk: Any, era: str) -> None:
    heard: list[str] = []
    came = anyio.Event()

    async def hear(params: LoggingMessageNotificationParams) -> None:
        heard.append(str(params.data))
        came.set()

    level: dict[str, Any] = {} if era == "legacy" else {"log_level": "debug"}
    async with sdk(url, era, logging_callback=hear, **level) as client:
        if era == "legacy":
            await client.set_logging_level("debug")
        await client.call_tool("toggle-simulated-logging", {})
        with anyio.fail_after(WAIT_SECONDS):
            await came.wait()
        await client.call_tool("toggle-simulated-logging", {})
    assert any("level" in text for text in heard)


async def test_the_server_asks_the_model_of_the_client(url: str, sdk: Any, era: str) -> None:
    asked: list[CreateMessageRequestParams] = []

    async def answer(_: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        asked.append(params)
        content = TextContent(type="text", text="a reed in the wind")
        return CreateMessageResult(role="assistant", content=content, model="the client's")

    async with sdk(url, era, sampling_callback=answer) as client:
        result = await client.call_tool(
            "trigger-sampling-request", {"prompt": "Say a line", "maxTokens": 17}
        )
    assert "a reed in the wind" in text_of(result)
    assert [a.max_tokens for a in asked] == [17]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ElicitResult(action="accept", content={"name": "Ada"}), "- Name: Ada"),
        (ElicitResult(action="decline"), "declined"),
    ],
    ids=lambda value: getattr(value, "action", ""),
)
async def test_the_server_asks_the_user_of_the_client(
    answer: ElicitResult, said: str, url: str, sdk: Any, era: str
) -> None:
    asked: list[str] = []

    async def reply(_: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return answer

    async with sdk(url, era, elicitation_callback=reply) as client:
        result = await client.call_tool("trigger-elicitation-request", {})
    assert said in text_of(result)
    assert asked == ["Please provide inputs for the following fields:"]


async def test_the_server_asks_for_the_folders_of_the_client(url: str, sdk: Any, era: str) -> None:
    async def reply(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///mine", "name": "mine"})])

    async with sdk(url, era, list_roots_callback=reply) as client:
        result = await client.call_tool("get-roots-list", {})
    assert "file:///mine" in text_of(result)


async def test_a_server_that_does_not_wait_for_what_it_asks_answers_all_the_same(
    gateway: Any, sdk: Any, era: str
) -> None:
    """The filesystem server asks for folders as it starts, and takes calls meanwhile."""

    async def reply(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///nowhere"})])

    async with sdk(gateway.server_url("filesystem"), era, list_roots_callback=reply) as client:
        for _ in range(3):
            result = await client.call_tool("list_allowed_directories", {})
            assert "Allowed directories:\n/" in text_of(result)


async def test_a_client_that_cannot_be_asked_gets_the_servers_error(
    url: str, sdk: Any, era: str
) -> None:
    async with sdk(url, era) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool(
            "trigger-sampling-request", {"prompt": "Say a line", "maxTokens": 17}
        )
    assert "trigger-sampling-request" in names
    assert result.is_error
    assert "sampling" in text_of(result).lower()


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_client_hears_of_what_it_subscribed_to(memory: str, era: str) -> None:
    async with hearing(memory, era, GRAPH) as (client, heard):
        await client.call_tool("create_entities", ADA)
        await heard.wait_for(GRAPH)
        graph = await client.read_resource(GRAPH)
    assert heard.news == [GRAPH]
    assert '"Ada"' in text_of(graph)


async def test_what_is_listed_does_not_depend_on_what_the_last_client_could_do(
    control: GatewayClient, gateway: Any, sdk: Any
) -> None:
    """The server shows fewer tools to a client that can be asked for nothing."""

    async def answer(*_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[])

    lists: list[tuple[str, ...]] = []
    for callbacks in ({}, {"list_roots_callback": answer}, {}):
        episode = await open_episode(control, SERVER)
        lists.append(tuple(tool.name for tool in episode.tools))
        async with sdk(episode.mcp_url, "legacy", **callbacks) as client:
            await client.call_tool("echo", {"message": "one"})
            await client.call_tool("echo", {"message": "two"})
        await control.close_episode(episode.id)
    assert {"get-roots-list", "trigger-sampling-request"} <= set(lists[0])
    assert lists[0] == lists[1] == lists[2]


async def test_images_and_structured_results_pass_unchanged(url: str, sdk: Any, era: str) -> None:
    async with sdk(url, era) as client:
        picture = await client.call_tool("get-tiny-image", {})
        weather = await client.call_tool("get-structured-content", {"location": "Chicago"})
        linked = await client.call_tool("get-resource-links", {"count": 2})
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    kinds: Callable[[CallToolResult], list[str]] = lambda r: [c.type for c in r.content]  # noqa: E731
    assert kinds(picture) == ["text", "image", "text"]
    assert kinds(linked) == ["text", "resource_link", "resource_link"]
    assert set(weather.structured_content or {}) == {"temperature", "conditions", "humidity"}
    assert listed["echo"].title == "Echo Tool"
    assert listed["echo"].annotations is not None
