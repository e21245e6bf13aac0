"""Homogeneous sub-questions share a tool: Eq. 22."""

import json
import re
from typing import Any

import pytest

from astra_mcp.pipeline import Item
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.merging import Merging
from astra_mcp.synthesis.environments.building.tool import Built

from scripted_synthesis import InThisProcess, ScriptedAsks, instance, lookup, lookup_code, sub

RECORDS = {1: ("a", "CODE-111"), 2: ("b", "CODE-222"), 3: ("c", "CODE-333")}
SIDE_BY_SIDE = instance(sub(1), sub(2), sub(3), scenario_type="Parallel Single-Hop")


def built() -> Built:
    """Three tools, each for one sub-question."""
    tools = tuple(
        lookup(id, key, {key: code, "z": "CODE-999"}) for id, (key, code) in RECORDS.items()
    )
    return Built(instance=SIDE_BY_SIDE, tools=tools)


def told(user: str, name: str) -> Any:
    """What stands between two tags of a message."""
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", user, re.DOTALL)
    return found and json.loads(found[1])


def inserted(user: str, _: int, **change: Any) -> dict[str, Any]:
    """Add the record of the new step to the table, as a good model does."""
    tool, step = told(user, "tool"), told(user, "new_step")
    members = [*(call["solves"] for call in tool["calls"]), step["id"]]
    schema = tool["document"]["input_schema"]
    schema["properties"]["key"]["enum"].append(RECORDS[step["id"]][0])
    answer = {
        "input_schema": schema,
        "code": lookup_code(dict(RECORDS[id] for id in members)),
        "arguments": {"key": RECORDS[step["id"]][0]},
    }
    return answer | change


async def merged(
    insertion: Any, groups: list[list[int]], *, seed: int = 0, sandbox: InThisProcess | None = None
) -> Built:
    """What the stage makes of the three tools."""
    model = ScriptedAsks(groups={"groups": groups}, insertion=insertion)
    stage = Merging(model, "m", sandbox or InThisProcess(), seed)
    made = await stage.run(Item(id="s/1", value=built()))
    return made.outputs[0].value


@pytest.mark.claim("P43")
async def test_a_group_becomes_one_tool_whose_base_the_seed_draws() -> None:
    bases = set[int]()
    for seed in range(12):
        found = await merged(inserted, [[1, 2, 3]], seed=seed)
        assert [sorted(tool.solves) for tool in found.tools] == [[1, 2, 3]]
        assert found == await merged(inserted, [[3, 2, 1]], seed=seed)
        bases.add(found.tools[0].solves[0])
    assert bases == {1, 2, 3}


@pytest.mark.claim("P44")
async def test_after_each_insertion_all_calls_of_the_tool_are_executed_again() -> None:
    sandbox = InThisProcess()
    found = await merged(inserted, [[1, 2, 3]], sandbox=sandbox)
    keys = [RECORDS[id][0] for id in found.tools[0].solves]
    assert [call["key"] for call in sandbox.calls] == [*keys[:2], *keys]


@pytest.mark.claim("P44")
async def test_a_member_that_breaks_an_earlier_call_keeps_its_own_tool() -> None:
    def forgetful(user: str, sample: int) -> dict[str, Any]:
        new = told(user, "new_step")["id"]
        if new != 3:
            return inserted(user, sample)
        return inserted(user, sample, code=lookup_code(dict([RECORDS[3]])))

    seed = 0
    while (await merged(inserted, [[1, 2, 3]], seed=seed)).tools[0].solves[0] == 3:
        seed += 1
    found = await merged(forgetful, [[1, 2, 3]], seed=seed)
    assert sorted(sorted(tool.solves) for tool in found.tools) == [[1, 2], [3]]
    assert [attempt.step for attempt in found.attempts] == ["merge"] * 3
    assert "unknown key" in found.attempts[0].complaint


@pytest.mark.claim("P43")
async def test_an_insertion_keeps_the_parameters_of_the_base() -> None:
    def widened(user: str, sample: int) -> dict[str, Any]:
        answer = inserted(user, sample)
        answer["input_schema"]["properties"]["sort"] = {"type": "string", "default": "a"}
        return answer

    def narrowed(user: str, sample: int) -> dict[str, Any]:
        answer = inserted(user, sample)
        del answer["input_schema"]["properties"]["key"]["enum"][0]
        return answer

    for insertion in (widened, narrowed):
        found = await merged(insertion, [[1, 2]])
        assert [tool.solves for tool in found.tools] == [(1,), (2,), (3,)]
        assert "another one" in found.attempts[0].complaint


async def test_each_tool_is_in_one_group_and_groups_speak_of_tools_alone() -> None:
    found = await merged(inserted, [[1, 2], [2, 3], [9, 3], [1]])
    assert sorted(sorted(tool.solves) for tool in found.tools) == [[1, 2], [3]]


async def test_tools_of_one_name_are_told_apart_where_they_are_not_merged() -> None:
    bundle = assemble(await merged(inserted, []))
    names = [tool.name for tool in bundle.document.tools]
    assert names == ["find_code", "find_code_2", "find_code_3"]
    assert [gold.tool for gold in bundle.document.gold] == names
    assert all(f"def {name}(" in bundle.code for name in names)
