"""What single calls are told: lists and their pages, searches, facts, refusals, output schemas."""

import re
import tracemalloc
from typing import Any

import pytest

from astra_mcp.errors import UpstreamError
from astra_mcp.schemas import compile_validator
from astra_mcp.types import ToolSpec
from astra_mcp.values.schema_values import ValueMaker
from astra_mcp.values.vocabulary import words_in
from servers.emulated.offline.store import MAX_ENTITIES

from emulated_worlds import World, document_of, spec, text

number: dict[str, Any] = {"type": "integer"}
texts: dict[str, Any] = {"type": "array", "items": text}
TASKS = document_of(
    spec("list_tasks", "List tasks.", status=text, assignees=texts, min_effort=number, limit=number,
         page=number, sort_by=text, order=text,
         optional=("status", "min_effort", "limit", "page", "sort_by", "order", "assignees")),
    spec("add_task", "Add.", optional=("status", "project_id"), title=text, status={"enum": ["new", "done"]},
         effort=number, assignees=texts, project_id=text),
    spec("get_task", "Get.", task_id=text),
    spec("close_task", "Close a task.", task_id=text),
    spec("delete_tasks", "Delete tasks.", task_ids=texts),
    spec("find_tasks", "Find tasks.", optional=("offset", "max_results"), query=text, offset=number,
         max_results=number),
    spec("list_projects", "List projects."),
    spec("create_project", "Make.", name=text),
    spec("list_comments", "Comments of a task.", task_id=text),
    spec("add_comment", "Comment on a task.", task_id=text, body=text),
    spec("notify_task_owner", "Send word.", task_id=text, message=text),
)  # fmt: skip


def world_of(*tools: ToolSpec, language: str = "en") -> World:
    """A session of a server with these tools."""
    return World(document_of(*tools, language=language))


@pytest.fixture
def world() -> World:
    return World(TASKS, seed=7)


def make(world: World, title: str, effort: int = 1, **more: Any) -> Any:
    return world.call("add_task", title=title, effort=effort, assignees=["Ada"], **more)


def test_pages_follow_each_other_and_say_how_many_there_are(world: World) -> None:
    made = [make(world, f"Part {i}")["id"] for i in range(5)]
    first, second = (world.call("list_tasks", limit=2, page=page) for page in (1, 2))

    assert [row["id"] for row in first["tasks"] + second["tasks"]] == made[:0:-1]
    assert first["total"] == second["total"] == len(world.call("list_tasks", limit=100)["tasks"])
    assert (first["page"], second["page"]) == (1, 2)
    everything = world.call("list_tasks", limit=100)["tasks"]
    assert world.call("list_tasks", limit=100, page=2)["tasks"] == []
    assert world.call("list_tasks")["tasks"] == everything


def test_filters_leave_out_what_does_not_fit(world: World) -> None:
    done = make(world, "A", effort=5, status="done")
    new = make(world, "B", effort=90_000, status="new")

    assert done in world.call("list_tasks", status="DONE")["tasks"]
    assert new not in world.call("list_tasks", status="done")["tasks"]
    assert world.call("list_tasks", min_effort=90_000)["tasks"] == [new]
    adas = world.call("list_tasks", assignees=["ada", "Bo"])["tasks"]
    assert {row["title"] for row in adas} == {"A", "B"}
    assert world.call("list_tasks", status="never")["tasks"] == []


def test_lists_are_sorted_as_asked(world: World) -> None:
    for effort in (300_000, 100_000, 200_000):
        make(world, str(effort), effort=effort)

    down = world.call("list_tasks", sort_by="effort", order="desc", limit=3)["tasks"]
    assert [row["effort"] for row in down] == [300_000, 200_000, 100_000]
    up = [row["effort"] for row in world.call("list_tasks", sort_by="effort")["tasks"]]
    assert up == sorted(up)


def test_a_search_finds_what_fits_and_what_it_found_exists(world: World) -> None:
    found = world.call("find_tasks", query="solar panel inspection")["tasks"]

    assert 2 <= len(found) <= 5
    assert all("solar panel inspection" in row["title"].casefold() for row in found)
    assert world.call("find_tasks", query="solar panel inspection")["tasks"] == found
    assert world.call("get_task", task_id=found[0]["id"]) == found[0]
    assert found[0] in world.call("list_tasks", limit=100)["tasks"]
    page = world.call("find_tasks", query="SOLAR", offset=1, max_results=1)
    assert page["tasks"] == found[1:2]


def test_a_search_finds_what_there_is_and_nothing_that_was_deleted(world: World) -> None:
    gate = make(world, "Repair the north gate")
    asked = 'status:open AND "north gate" OR owner=me'  # in words of a query language
    assert world.call("find_tasks", query=asked)["tasks"] == [gate]
    one = make(world, "Buy oak boards")
    two = make(world, "Sand the oak boards")
    told = world.call("delete_tasks", task_ids=[one["id"], two["id"]])

    assert told == {"deleted": True, "ids": [one["id"], two["id"]], "count": 2}
    assert world.call("find_tasks", query="oak boards")["tasks"] == []
    assert world.refusal("delete_tasks", task_ids=[one["id"]]) == f"Task not found: {one['id']}"


def test_a_state_is_set_by_the_verb_that_is_for_it(world: World) -> None:
    made = make(world, "Fix", status="new")

    assert world.call("close_task", task_id=made["id"]) == {**made, "status": "closed"}
    assert world.call("get_task", task_id=made["id"])["status"] == "closed"


def test_entities_refer_to_others_that_exist(world: World) -> None:
    projects = {row["id"] for row in world.call("list_projects")["projects"]}

    assert {row["project_id"] for row in world.call("list_tasks")["tasks"]} <= projects
    assert "project_id" not in make(world, "Alone")
    refusal = world.refusal("add_task", title="x", effort=1, assignees=[], project_id="project_0")
    assert refusal == "Project not found: project_0"


def test_what_belongs_to_an_entity_is_listed_for_it_alone(world: World) -> None:
    first, second = world.call("list_tasks")["tasks"][:2]
    comments = world.call("list_comments", task_id=first["id"])["comments"]

    assert 3 <= len(comments) <= 8
    assert {row["task_id"] for row in comments} == {first["id"]}
    added = world.call("add_comment", task_id=first["id"], body="Looks good")
    assert world.call("list_comments", task_id=first["id"])["comments"] == [added, *comments]
    assert added not in world.call("list_comments", task_id=second["id"])["comments"]
    made = make(world, "New")
    assert world.call("list_comments", task_id=made["id"])["comments"] == []
    assert world.refusal("list_comments", task_id="task_1") == "Task not found: task_1"


def test_other_verbs_echo_what_they_were_asked_and_need_what_they_name(world: World) -> None:
    task = world.call("list_tasks")["tasks"][0]["id"]
    told = world.call("notify_task_owner", task_id=task, message="Hello")

    assert told["task_id"] == task
    assert told["status"] == "sent"
    assert world.call("notify_task_owner", task_id=task, message="Hello") == told
    assert "not found" in world.refusal("notify_task_owner", task_id="nobody", message="Hello")


@pytest.mark.parametrize("page", [1e300, 2**60, "1e30"])
def test_a_page_beyond_what_json_counts_is_refused(page: Any) -> None:
    pages = spec("list_notes", page={"type": ["number", "string"]}, output={"type": "object"})
    assert "out of range" in world_of(pages).refusal("list_notes", page=page)


@pytest.mark.parametrize(("a", "b"), [(1e308, 10.0), (10**18, 10**18)])
def test_a_result_that_json_cannot_carry_is_refused(a: float, b: float) -> None:
    number = {"type": "number"}
    world = world_of(spec("multiply", a=number, b=number))
    assert world.refusal("multiply", a=a, b=b) == "The result is out of range"
    assert world.call("multiply", a=3, b=4)["result"] == 12


def test_a_call_that_breaks_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    making = spec("create_note", title=text, output={"type": "object"})
    world = world_of(making, spec("list_notes"))
    before = world.call("list_notes")

    def breaks(*_: Any, **__: Any) -> None:
        raise KeyError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(ValueMaker, "fill", breaks)
        with pytest.raises(KeyError):
            world.ask("create_note", title="milk")

    assert world.call("list_notes") == before


def test_taking_all_away_in_one_call_takes_little_memory() -> None:
    tasks = {"type": "array", "items": {"type": "object", "properties": {"title": text}}}
    tools = spec("create_tasks", tasks=tasks), spec("list_tasks"), spec("delete_all_tasks")
    world = world_of(*tools)
    world.call("create_tasks", tasks=[{"title": f"t{n}"} for n in range(600)])
    tracemalloc.start()
    try:
        assert world.call("delete_all_tasks")["count"] >= 600
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20
    assert world.call("list_tasks")["total"] == 0


def test_cursors_lead_through_a_list_and_what_is_none_is_refused() -> None:
    world = world_of(spec("list_logs", optional=("limit", "cursor"), limit=number, cursor=text))
    page = world.call("list_logs", limit=2)
    seen = [row["id"] for row in page["logs"]]
    while page["next_cursor"]:
        page = world.call("list_logs", limit=2, cursor=page["next_cursor"])
        seen += [row["id"] for row in page["logs"]]

    assert len(seen) == len(set(seen)) == page["total"]
    assert world.refusal("list_logs", cursor="???") == "Invalid cursor: '???'"
    refusal = world.refusal("list_logs", limit="many")
    assert refusal == "Invalid value for limit: 'many' is not a number"


FACTS = document_of(
    spec("get_weather", "Current temperature and humidity of a city.", city=text),
    spec("get_setting", "Read a setting.", key=text, scope=text),
    spec("set_setting", "Change a setting.", key=text, scope=text, value=text),
    spec("delete_setting", "Forget a setting.", key=text, scope=text),
    spec("get_order", "An order by its number, such as A-1001.", order_id=text),
    spec("calculate_distance", "Distance between two cities.", origin=text, destination=text),
    spec("add", "Add numbers.", a={"type": "number"}, b={"type": "number"}),
    spec("divide", "Divide numbers.", a={"type": "number"}, b={"type": "number"}),
)


def test_facts_are_the_same_for_the_same_question() -> None:
    world = World(FACTS)
    lyon, graz = world.call("get_weather", city="Lyon"), world.call("get_weather", city="Graz")

    assert lyon["city"] == "Lyon"
    assert all(isinstance(lyon[name], int | float) for name in ("temperature", "humidity"))
    assert {**graz, "city": "Lyon"} != lyon
    world.ask("calculate_distance", origin="Lyon", destination="Graz")
    assert world.call("get_weather", city="Lyon") == lyon


def test_a_fact_that_was_set_is_told_until_it_is_taken_away() -> None:
    world = World(FACTS)
    place = {"key": "theme", "scope": "team"}
    world.call("set_setting", **place, value="dark")

    assert world.call("get_setting", **place)["value"] == "dark"
    assert world.call("get_setting", key="theme", scope="me").get("value") != "dark"
    assert world.call("delete_setting", **place)["deleted"] is True
    assert "not found" in world.refusal("get_setting", **place)
    assert "not found" in world.refusal("delete_setting", **place)
    world.call("set_setting", **place, value="light")
    assert world.call("get_setting", **place)["value"] == "light"


def test_numbers_and_what_only_others_can_know_of_are_answered_at_the_first_look() -> None:
    world = World(FACTS)
    order = world.call("get_order", order_id="B-7")

    assert order["id"] == "B-7"
    assert world.call("get_order", order_id="B-7") == order
    assert world.call("add", a=2, b=0.5)["result"] == 2.5
    assert world.refusal("divide", a=1, b=0) == "Division by zero"


def test_many_are_made_by_one_call() -> None:
    node = {"type": "object", "properties": {"name": text, "kind": text}, "required": ["name"]}
    world = world_of(
        spec("create_entities", "Make some.", entities={"type": "array", "items": node}),
        spec("delete_entities", "Remove some.", entityNames=texts),
        spec("search_nodes", "Find.", query=text),
        spec("list_entities"),
    )
    made = world.call("create_entities", entities=[{"name": "Ada", "kind": "x"}, {"name": "Bo"}])

    assert [row["name"] for row in made["entities"]] == ["Ada", "Bo"]
    shown = [row["name"] for row in world.call("list_entities")["entities"]]
    assert {"Ada", "Bo"} <= set(shown)
    assert world.call("delete_entities", entityNames=["Ada"])["deleted"] is True
    assert "Ada" not in [row["name"] for row in world.call("list_entities")["entities"]]


def test_a_name_that_is_taken_is_refused_and_one_that_the_documents_give_exists() -> None:
    world = world_of(
        spec("create_branch", name=text),
        spec("get_branch", "Such as v-1001.", name=text),
        spec("list_branches"),
    )
    assert world.call("create_branch", name="release")["name"] == "release"
    assert world.refusal("create_branch", name="release") == "Branch already exists: release"
    for name in ("release", "v-1001"):
        assert world.call("get_branch", name=name)["name"] == name
    assert world.refusal("get_branch", name="v-1002") == "Branch not found: v-1002"


def test_files_are_written_and_read_by_their_paths() -> None:
    world = world_of(
        spec("write_file", path=text, content=text),
        spec("read_file", path=text),
        spec("delete_file", path=text),
    )
    world.call("write_file", path="/a.txt", content="One")
    world.call("write_file", path="/b.txt", content="Two")

    assert world.call("read_file", path="/a.txt")["content"] == "One"
    world.call("delete_file", path="/a.txt")
    assert "not found" in world.refusal("read_file", path="/a.txt")
    assert world.call("read_file", path="/b.txt")["content"] == "Two"
    world.call("write_file", path="/a.txt", content="Three")
    assert world.call("read_file", path="/a.txt")["content"] == "Three"


ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "issueId": {"type": "integer", "minimum": 1},
        "title": text,
        "state": {"enum": ["open", "closed"]},
        "updatedAt": {"type": "string", "format": "date-time"},
        "labels": {"type": "object", "additionalProperties": text},
        "metadata": {"type": "object"},
        "votes": {"type": "integer", "minimum": 0, "maximum": 9},
        "author": {
            "type": "object",
            "properties": {"email": {"type": "string", "format": "email"}},
        },
    },
    "required": ["issueId", "title", "state", "author"],
    "additionalProperties": False,
}


ISSUES: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/issue"}}


def of_issues(inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**inner, **more}, "required": [*inner, *more]}


DESCRIBED = document_of(
    spec("list_issues",
         output={**of_issues({"payload": ISSUES}, totalCount=number), "$defs": {"issue": ISSUE}}),
    spec("create_issue", title=text, optional=("labels", "metadata"), labels={"type": "object"},
         metadata={"type": "object"}, output=of_issues({"issue": ISSUE})),
    spec("get_issue", issueId=number, output=ISSUE),
    spec("close_issue", issueId=number, output=of_issues({"result": ISSUE})),
    spec("delete_issue", issueId=number, output=of_issues({}, success={"type": "boolean"}, issueId=number)),
)  # fmt: skip


def test_answers_fit_their_output_schemas_and_each_other() -> None:
    world = World(DESCRIBED)
    more = {"labels": {"Room": "bath", "floorNo": "2"}, "metadata": {"a": [1, {"b": None}]}}
    made = world.call("create_issue", title="Leaking tap", **more)["issue"]
    assert {"title": "Leaking tap", **more}.items() <= made.items()
    listed = world.call("list_issues")

    assert listed["payload"][0] == made
    assert listed["totalCount"] == len(listed["payload"])
    assert world.call("get_issue", issueId=made["issueId"]) == made
    closed = world.call("close_issue", issueId=made["issueId"])["result"]
    assert closed["state"] == "closed"
    assert {**closed, "state": made["state"], "updatedAt": made["updatedAt"]} == made
    assert closed["updatedAt"] > made["updatedAt"]
    number = made["issueId"]
    gone = world.call("delete_issue", issueId=number)
    assert gone == {"success": True, "issueId": number}
    assert world.refusal("get_issue", issueId=number) == f"Issue not found: {number}"
    for tool in DESCRIBED.tools:
        assert tool.output_schema is not None
        compile_validator(tool.output_schema)


def test_where_no_value_fits_the_upstream_fails_and_nothing_is_changed() -> None:
    unmet = {"x": {"type": "string", "pattern": "(?!)"}}
    never = {"type": "object", "required": ["x"], "properties": unmet}
    world = world_of(spec("create_note", title=text, output=never), spec("list_notes"))
    before = world.call("list_notes")

    with pytest.raises(UpstreamError, match="create_note cannot be answered"):
        world.ask("create_note", title="Lost")
    assert world.call("list_notes") == before


def test_a_session_keeps_only_so_much() -> None:
    items = {"type": "array", "items": {"type": "object", "properties": {"name": text}}}
    world = world_of(spec("create_items", items=items), spec("list_items"))
    for _ in range(MAX_ENTITIES // 200):
        world.ask("create_items", items=[{"name": "x"}] * 200)

    assert "Quota exceeded" in world.refusal("create_items", items=[{"name": "x"}] * 200)
    assert world.call("list_items")["total"] <= MAX_ENTITIES


def test_chinese_servers_answer_in_chinese() -> None:
    listing, searching = (
        spec("list_tasks", "列出所有任务"),
        spec("search_tasks", "搜索任务", query=text),
    )
    world = world_of(listing, searching, language="zh")
    rows, found = world.call("list_tasks"), world.call("search_tasks", query="预算")

    assert all(re.search("[\u4e00-\u9fff]", row["title"]) for row in rows["tasks"])
    assert all("预算" in row["title"] for row in found["tasks"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_person_has_the_name_that_is_in_the_address(language: str) -> None:
    world = world_of(spec("list_users"), language=language)
    words = words_in(language)
    logins = words["first_names" if language == "en" else "first_logins"]

    for row in world.call("list_users")["users"]:
        first = next(name for name in words["first_names"] if name in row["name"])
        login = logins[words["first_names"].index(first)].lower()
        assert row["email"].startswith(f"{login}.")


def test_a_value_that_is_set_is_told_as_it_was_given() -> None:
    number = {"type": "number"}
    world = world_of(spec("set_price", gameId=text, price=number), spec("start_game"))
    told = world.call("set_price", gameId="g1", price=143.75)

    assert told["price"] == 143.75
    assert 143.75 not in [value for name, value in told.items() if name != "price"]
