"""Playing an environment by hand, by forms alone."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx

from astra_mcp.environments.loading import load_bundle
from astra_mcp.testing import InMemoryCatalog, InMemoryServer
from astra_mcp.types import ServerKind
from servers.bundled import bundled_folder

from shown_gateway import (
    BUNDLED,
    SCRIPT,
    ShownGateway,
    make_catalog,
    open_shown_gateway,
    words_of,
)


async def opened(shown: ShownGateway, name: str = "harbour", **form: str) -> str:
    """Open an episode by the form of its environment; the path of its page."""
    answer = await shown.send(f"/environments/{name}/play", **form)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removesuffix("/play")


async def called(shown: ShownGateway, path: str, tool: str, **form: str) -> httpx.Response:
    """Send the form of a tool; ``json`` or arguments by their names."""
    fields = {k if k in ("json", "call_id") else f"argument:{k}": v for k, v in form.items()}
    return await shown.send(f"{path}/calls", tool=tool, **fields)


async def test_forms_alone_lead_to_the_whole_reward(shown: ShownGateway) -> None:
    path = await opened(shown, seed="7")
    page = await shown.page(f"{path}/play")
    assert "How heavy is the Alma?" in page
    answer = await called(shown, path, "weigh", ship="Alma", unit="")
    assert answer.status_code == 303
    page = await shown.page(answer.headers["location"].partition("#")[0])
    assert "The Alma weighs 300 tons." in page
    assert "solves 1" in page
    assert re.search(r"<dt>reward</dt><dd>1\.000</dd>", page)
    assert (await shown.send(f"{path}/close")).headers["location"] == path
    record = await shown.page(path)
    assert re.search(r"<dt>reward</dt><dd>1\.000</dd>", record)
    assert "seed 7" in record
    assert (await shown.browser.get(f"{path}/play")).headers["location"] == path
    state = await shown.episodes.state(path.removeprefix("/episodes/"))
    assert state.reward is not None
    assert state.reward.reward >= 0.999


async def test_each_argument_has_a_field_of_its_type(shown: ShownGateway) -> None:
    page = await shown.page(f"{await opened(shown)}/play")
    assert '<textarea id="field-2-1" name="argument:words"' in page
    assert re.search(r'<input id="field-2-2" name="argument:times"[^>]*inputmode="numeric"', page)
    assert '<option value="true">yes</option>' in page
    assert page.count("<label for=") == len(re.findall(r' id="(?:field-\d+-\d+|json-\d+)"', page))


async def test_what_counts_is_said_under_the_question(shown: ShownGateway) -> None:
    page = words_of(await shown.page(f"{await opened(shown)}/play"))
    assert page.index("How heavy is the Alma?") < page.index(
        "Only calls count: the reward is the F1"
    )
    assert "1 sub-task needs a tool." in page


async def test_sub_tasks_without_a_tool_are_told_from_those_that_are_scored(
    tmp_path: Path, migrated: Path
) -> None:
    bundle = load_bundle(bundled_folder() / BUNDLED)
    free = next(sub for sub in bundle.document.sub_tasks if sub.tool is None)
    weighed = free.model_copy(update={"id": 1, "tool": "weigh", "answer": "300 tons"})
    sub_tasks = (weighed, free.model_copy(update={"id": 2}))
    document = bundle.document.model_copy(update={"sub_tasks": sub_tasks, "gold": ()})
    bundles = {"harbour": bundle.model_copy(update={"document": document}), BUNDLED: bundle}
    async with open_shown_gateway(make_catalog(), tmp_path, migrated, bundles=bundles) as shown:
        page = words_of(await shown.page(f"{await opened(shown)}/play"))
        assert "1 of 2 sub-tasks needs a tool; the others are not scored." in page
        changed_since = words_of(await shown.page(f"{await opened(shown, BUNDLED)}/play"))
        assert "1 sub-task needs a tool." in changed_since


async def test_a_closed_form_says_what_its_tool_does_in_a_sentence(shown: ShownGateway) -> None:
    page = await shown.page(f"{await opened(shown)}/play")
    assert (
        '<summary><code>shout</code> <span class="quiet">Say words again.</span></summary>' in page
    )


async def test_a_fault_is_said_at_its_field_and_nothing_is_called(shown: ShownGateway) -> None:
    path = await opened(shown)
    for form, field, words in (
        ({"times": "2"}, "field-2-1", "is required"),
        ({"words": "[1", "times": "2"}, "field-2-1", "write JSON"),
        ({"words": '["a"]', "times": "two"}, "field-2-2", "write a whole number"),
        ({"words": '{"a": 1}'}, "field-2-1", "must be of type array"),
        ({"words": '["a"]', "loud": "maybe"}, "field-2-3", "choose yes or no"),
    ):
        answer = await called(shown, path, "shout", **form)
        assert answer.status_code == 422
        about = re.search(rf'id="{field}-about">(.*?)</p>', answer.text, re.S)
        assert about is not None
        assert words in words_of(about[1])
        assert re.search(rf'id="{field}"[^>]*aria-invalid=true autofocus', answer.text)
        for value in form.values():
            assert (
                value in words_of(answer.text)
                or f'value="{value}"' in answer.text
                or value == "maybe"
            )
    assert (await shown.episodes.state(path.removeprefix("/episodes/"))).calls == 0
    await called(shown, path, "shout", words="a\r\nb", times="2", loud="true")
    assert "A B A B" in await shown.page(f"{path}/play")


async def test_json_reaches_the_tool_as_it_is(shown: ShownGateway) -> None:
    path = await opened(shown)
    assert (await called(shown, path, "weigh", json="[]")).status_code == 422
    assert (await called(shown, path, "weigh", json="[" * 100_000)).status_code == 422
    answer = await called(shown, path, "weigh", json='{"ship": 7}')
    assert answer.status_code == 303
    assert 'class="badge error"' in await shown.page(f"{path}/play")


async def test_a_long_text_reaches_the_tool_and_a_million_values_do_not(
    shown: ShownGateway,
) -> None:
    path = await opened(shown)
    for ship in ("x" * 500_000, "\u8239" * 60_000):
        assert (await called(shown, path, "weigh", ship=ship)).status_code == 303
    many = await called(shown, path, "weigh", json=f'{{"ship": [{"1," * 100_000}1]}}')
    assert many.status_code == 422
    assert "names and values are accepted" in many.text


async def test_a_form_that_is_sent_twice_makes_one_call(shown: ShownGateway) -> None:
    path = await opened(shown)
    for _ in range(2):
        assert (await called(shown, path, "weigh", ship="Bo", call_id="x")).status_code == 303
    other = await called(shown, path, "weigh", ship="Cy", call_id="x")
    assert other.status_code == 409
    assert (await shown.episodes.state(path.removeprefix("/episodes/"))).calls == 1
    assert (await shown.browser.get(f"{path}/calls")).headers["location"] == f"{path}/play"


async def test_only_what_was_opened_for_it_is_played(shown: ShownGateway) -> None:
    made = await shown.stranger.post(
        "/v1/episodes",
        json={"source": {"kind": "environment", "name": "harbour"}},
        headers={"Authorization": "Bearer the control key of a test"},
    )
    path = f"/episodes/{made.json()['id']}"
    assert (await shown.browser.get(f"{path}/play")).status_code == 422
    assert (await called(shown, path, "weigh", ship="Alma")).status_code == 422
    assert (await shown.send(f"{path}/close")).status_code == 422
    assert "go on playing" not in await shown.page(path)


async def test_wrong_seeds_tools_and_environments_are_said(shown: ShownGateway) -> None:
    for seed in ("-1", "1.5", "x", str(2**63)):
        answer = await shown.send("/environments/harbour/play", seed=seed)
        assert answer.status_code == 422
    assert (await shown.send("/environments/none/play")).status_code == 404
    path = await opened(shown)
    assert (await called(shown, path, "wiegh")).status_code == 404
    await shown.send(f"{path}/close")
    gone = await called(shown, path, "weigh", ship="Alma")
    assert gone.status_code == 410


async def test_many_tools_have_their_forms_a_page_at_a_time(tmp_path: Path, migrated: Path) -> None:
    tools = [_named(f"tool_{number:02}") for number in range(52)]
    catalog = InMemoryCatalog(InMemoryServer("large", *tools, kind=ServerKind.ENVIRONMENT))
    async with open_shown_gateway(catalog, tmp_path / "home", migrated) as shown:
        answer = await shown.send("/servers/large/play")
        path = answer.headers["location"]
        first = await shown.page(path)
        assert first.count('<details class="tool"') == 50
        assert f'href="{path}?from=50#tools"' in first
        for query in ("?from=50", "?tool=tool_51"):
            rest = await shown.page(path + query)
            assert re.findall(r"<summary><code>(\w+)</code>", rest) == ["tool_50", "tool_51"]
        episode = path.removesuffix("/play")
        told = await called(shown, episode, "tool_51", json="[")
        assert "Nothing was called" in told.text


def _named(name: str) -> Callable[[], str]:
    def tool() -> str:
        """Say nothing."""
        return ""

    tool.__name__ = name
    return tool


async def test_what_a_tool_says_is_text(shown: ShownGateway) -> None:
    path = await opened(shown, "awful")
    await called(shown, path, "curse", text=SCRIPT)
    for page in (await shown.page(f"{path}/play"), await shown.page(path)):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert SCRIPT in words_of(page)
        assert "\\x1b[31mred\\u202egnp" in page
        assert "**bold**" in page
