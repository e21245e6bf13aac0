"""What a call gives stands in its answer and in those of later calls, whatever the schema says of it."""

from typing import Any

import pytest

from astra_mcp.types import ToolSpec

from emulated_worlds import World, document_of, spec, text

number = {"type": "integer"}
objects = {"type": "array", "items": {"type": "object"}}


def crawled(tool: str, description: str = "") -> ToolSpec:
    """A tool of whose arguments the page said nothing."""
    return ToolSpec(name=tool, description=description, input_schema={"type": "object"})


@pytest.fixture
def requests() -> World:
    """Merge requests, of which crawled pages name no arguments."""
    return World(
        document_of(
            spec("list_merge_requests", "List merge requests", project=text),
            crawled("get_merge_request", "Get a merge request"),
            crawled("decline_merge_request", "Decline a merge request"),
            crawled("create_merge_request", "Args: title: Its title labels: Its labels (optional)"),
        )
    )


def test_an_argument_that_the_schema_leaves_out_says_which_one(requests: World) -> None:
    listed = requests.call("list_merge_requests", project="shop")["merge_requests"]
    for row in listed:
        assert requests.call("get_merge_request", merge_request_id=row["id"]) == row
    assert "not found" in requests.refusal("get_merge_request", merge_request_id="no-such")


def test_an_act_that_ends_a_thing_is_seen_and_keeps_the_rest(requests: World) -> None:
    row = requests.call("list_merge_requests", project="shop")["merge_requests"][1]
    requests.call("decline_merge_request", merge_request_id=row["id"])
    after = requests.call("get_merge_request", merge_request_id=row["id"])
    state = "state" if "state" in row else "status"
    assert after == {**row, state: "declined"}


def test_what_a_description_names_is_an_argument(requests: World) -> None:
    made = requests.call("create_merge_request", title="Drop v1", labels=["api"])
    assert (made["title"], made["labels"]) == ("Drop v1", ["api"])


def test_an_object_as_text_is_all_arguments_in_one() -> None:
    world = World(
        document_of(
            spec("create_branch", "Create a branch", params=text),
            spec("get_branch", "Get a branch", params=text),
        )
    )
    made = world.call("create_branch", params='{"branchName": "auth", "parent": "main"}')
    assert (made["branchName"], made["parent"]) == ("auth", "main")
    assert "params" not in made
    assert world.call("get_branch", params=f'{{"branchId": "{made["id"]}"}}') == made


@pytest.mark.parametrize("form", ['["{0}", "{1}"]', "{0},{1}", "{0}, {1}"])
def test_ids_as_text_each_name_one(form: str) -> None:
    world = World(
        document_of(
            spec("list_notes", "List notes"),
            spec("create_note", "Create a note", title=text),
            spec("delete_notes", "Delete notes", ids=text),
        )
    )
    notes = [world.call("create_note", title=title)["id"] for title in ("amber", "basalt", "chalk")]
    told = world.call("delete_notes", ids=form.replace("{0}", notes[0]).replace("{1}", notes[2]))
    assert told["ids"] == [notes[0], notes[2]]
    left = [row["id"] for row in world.call("list_notes")["notes"]]
    assert notes[1] in left
    assert notes[0] not in left


def test_a_text_stays_a_text_though_it_is_json() -> None:
    world = World(document_of(spec("create_note", "Create a note", title=text, content=text)))
    assert world.call("create_note", title="raw", content='{"a": 1}')["content"] == '{"a": 1}'


def test_members_that_callers_name_stand_together_and_are_changed_one_by_one() -> None:
    world = World(
        document_of(
            spec("create_record", "Create a record", table=text, fields=text),
            spec("update_record", "Update a record", record_id=text, fields=text),
            spec("list_records", "List records", table=text),
            spec("search_records", "Search records", table=text, field_name=text, value=text),
        )
    )
    made = world.call("create_record", table="Plans", fields='{"Name": "Web", "State": "Open"}')
    assert made["fields"] == {"Name": "Web", "State": "Open"}
    changed = world.call("update_record", record_id=made["id"], fields='{"State": "Done"}')
    assert changed["fields"] == {"Name": "Web", "State": "Done"}
    found = world.call("search_records", table="Plans", field_name="State", value="Done")
    assert made["id"] in [row["id"] for row in found["records"]]
    assert world.call("list_records", table="Plans")["records"][0] == changed


@pytest.fixture
def graph() -> World:
    """Entities and relations, which are told of as nodes of a graph, too."""
    return World(
        document_of(
            spec("create_entities", "Create entities", entities=objects),
            spec("upsert_entities", "Create or update entities", entities=objects),
            spec("create_relations", "Create relations", relations=objects),
            spec("delete_relations", "Delete relations", relations=objects),
            spec(
                "delete_entities", "Delete entities", entityNames={"type": "array", "items": text}
            ),
            spec("read_graph", "Read the graph"),
            spec("open_nodes", "Open nodes", names={"type": "array", "items": text}),
            spec("search_nodes", "Search nodes", query=text),
        )
    )


def test_the_nodes_of_a_graph_are_its_entities(graph: World) -> None:
    kafka = {"name": "Kafka", "kind": "tool"}
    graph.call("create_entities", entities=[kafka, {"name": "Billing", "kind": "service"}])
    (opened,) = graph.call("open_nodes", names=["Kafka"])["entities"]
    assert kafka.items() <= opened.items()
    assert graph.call("search_nodes", query="kafka")["entities"] == [opened]
    assert opened in graph.call("read_graph")["entities"]
    graph.call("delete_entities", entityNames=["Kafka"])
    assert "not found" in graph.refusal("open_nodes", names=["Kafka"])
    assert opened not in graph.call("read_graph")["entities"]


def test_objects_of_a_list_say_which_ones_are_meant(graph: World) -> None:
    first, second = ({"from": at, "to": "Kafka", "kind": "uses"} for at in ("Billing", "Mail"))
    graph.call("create_relations", relations=[first, second])
    graph.call("delete_relations", relations=[first])
    left = graph.call("read_graph")["relations"]
    assert [first.items() <= row.items() for row in left].count(True) == 0
    assert [second.items() <= row.items() for row in left].count(True) == 1
    assert "not found" in graph.refusal("delete_relations", relations=[first])


def test_ids_of_a_list_are_put_where_the_call_says() -> None:
    world = World(
        document_of(
            spec("create_playlist", "Create a playlist", name=text),
            spec("list_playlists", "List playlists"),
            spec(
                "add_tracks",
                "Add tracks",
                playlistId=text,
                trackIds={"type": "array", "items": text},
            ),
            spec("list_tracks", "List tracks", playlistId=text),
        )
    )
    playlist = world.call("create_playlist", name="Road")["id"]
    world.call("add_tracks", playlistId=playlist, trackIds=["4uLU6hMCj", "1301WleyT"])
    tracks = world.call("list_tracks", playlistId=playlist)["tracks"]
    assert {row["id"] for row in tracks} == {"4uLU6hMCj", "1301WleyT"}


def test_what_is_put_into_another_thing_may_have_been_there() -> None:
    world = World(
        document_of(
            spec("list_issues", "List issues", optional=("projectId",), projectId=text),
            spec("create_project", "Create a project", name=text),
            spec("add_issue_to_project", "Add an issue", issueId=text, projectId=text),
        )
    )
    issue = world.call("list_issues")["issues"][0]["id"]
    project = world.call("create_project", name="Launch")["id"]
    assert world.call("add_issue_to_project", issueId=issue, projectId=project)["id"] == issue
    assert [row["id"] for row in world.call("list_issues", projectId=project)["issues"]] == [issue]


def test_a_list_keeps_to_its_place_and_its_words() -> None:
    world = World(
        document_of(
            spec("list_services", "List services", optional=("name", "zone"), name=text, zone=text),
            spec("get_service", "Get a service", service_id=text),
        )
    )
    assert world.call("list_services")["services"]
    zoned = world.call("list_services", zone="eu-9")["services"]
    assert zoned
    assert {row["zone"] for row in zoned} == {"eu-9"}
    named = world.call("list_services", name="pay*")["services"]
    assert named
    assert all("pay" in row["name"].lower() for row in named)
    for row in (*zoned, *named):
        assert world.call("get_service", service_id=row["id"]) == row


@pytest.mark.parametrize(
    ("first", "last"),
    [("2021-03-01", "2021-03-09"), ("20210301", "20210309"), (1614556800, 1615334399)],
)
def test_a_span_of_days_holds_for_all_that_is_listed(first: Any, last: Any) -> None:
    world = World(
        document_of(
            spec(
                "list_events",
                "List events",
                optional=("start_date", "end_date"),
                start_date={},
                end_date={},
            ),
            spec("create_event", "Create an event", title=text, date=text),
        )
    )
    world.call("create_event", title="late", date="2021-03-10")
    world.call("create_event", title="in time", date="2021-03-09")
    rows = world.call("list_events", start_date=first, end_date=last)["events"]
    titles = [row["title"] for row in rows]
    assert "in time" in titles
    assert "late" not in titles
    assert {"2021-03-01" <= row["date"][:10] <= "2021-03-09" for row in rows} == {True}


def test_who_has_an_address_that_nobody_shares_is_one() -> None:
    world = World(
        document_of(
            spec("create_user", "Create a user", email=text, name=text),
            spec("find_user", "Find a user by email", email=text),
        )
    )
    made = world.call("create_user", email="ana@acme.io", name="Ana Silva")
    assert world.call("find_user", email="ana@acme.io")["users"] == [made]


def test_nothing_else_is_found_once_all_was_shown() -> None:
    world = World(
        document_of(
            spec("list_flows", "List flows"),
            spec("search_flows", "Search flows", query=text),
            spec("create_flow", "Create a flow", name=text),
        )
    )
    rows = world.call("list_flows")["flows"]
    assert world.call("search_flows", query="zebra crossing")["flows"] == []
    found = world.call("search_flows", query=rows[0]["name"])["flows"]
    assert rows[0] in found
    assert all(row in rows for row in found)


def test_each_of_several_names_has_a_row_of_its_own() -> None:
    world = World(document_of(spec("get_prices", "Get prices of coins", ids=text, currency=text)))
    told = world.call("get_prices", ids="bitcoin,ethereum", currency="eur")
    rows: list[dict[str, Any]] = told["prices"]
    assert [row["id"] for row in rows] == ["bitcoin", "ethereum"]
    assert {row["currency"] for row in rows} == {"eur"}


def test_a_verb_alone_is_about_what_the_others_name() -> None:
    world = World(
        document_of(
            spec("drive_create", "Create a file", name=text),
            spec("drive_rename", "Rename a file", fileId=text, newName=text),
            spec("drive_delete", "Delete a file", fileId=text),
            spec("drive_file_metadata", "Get metadata of a file", fileId=text),
            spec("drive_search", "Search files", query=text),
        )
    )
    made = world.call("drive_create", name="budget.txt")["id"]
    world.call("drive_rename", fileId=made, newName="plan.txt")
    assert world.call("drive_file_metadata", fileId=made)["name"] == "plan.txt"
    assert [
        row["id"] for row in world.call("drive_search", query="name contains 'plan'")["files"]
    ] == [made]
    world.call("drive_delete", fileId=made)
    assert "not found" in world.refusal("drive_file_metadata", fileId=made)


def test_items_are_what_other_tools_call_them() -> None:
    world = World(
        document_of(
            spec("create_work_item", "Create a work item", title=text),
            spec("list_work_items", "List work items", wiql=text),
        )
    )
    made = world.call("create_work_item", title="Login fails")
    assert made in world.call("list_work_items", wiql="SELECT Id FROM WorkItems")["work_items"]


def test_a_number_that_says_how_many_is_obeyed() -> None:
    said = {"type": "integer", "description": "Number of posts to return"}
    world = World(
        document_of(
            spec("list_posts", "List posts", amount=said),
            spec("list_tickers", "List tickers", num_tickers=number),
            spec("get_songs", "Get songs", genre=text, limit=number),
        )
    )
    assert len(world.call("list_posts", amount=2)["posts"]) == 2
    assert len(world.call("list_tickers", num_tickers=3)["tickers"]) == 3
    assert len(world.call("get_songs", genre="jazz", limit=1)["songs"]) == 1


def test_a_list_of_objects_that_is_no_way_to_tell_deletes_nothing() -> None:
    world = World(
        document_of(
            spec("create_rule", "Create a rule", name=text),
            spec("delete_rules", "Delete rules", matches=objects),
            spec("list_rules", "List rules"),
        )
    )
    made = world.call("create_rule", name="first")
    before = world.call("list_rules")["rules"]
    world.ask("delete_rules", matches=[{"kind": "none such"}])
    assert world.call("list_rules")["rules"] == before
    assert made in before


def test_an_id_is_good_for_all_tools_whatever_they_call_the_thing() -> None:
    world = World(
        document_of(
            spec("add_rectangle", "Add a rectangle", label=text),
            spec("add_edge", "Add an edge", source_cell_id=text, label=text),
            spec("delete_cell", "Delete a cell", cell_id=text),
        )
    )
    box = world.call("add_rectangle", label="Web")["id"]
    assert world.call("add_edge", source_cell_id=box, label="reads")["source_cell_id"] == box
    world.call("delete_cell", cell_id=box)
    assert "not found" in world.refusal("add_edge", source_cell_id=box, label="reads")


def test_a_key_of_another_noun_is_not_the_own_one() -> None:
    world = World(
        document_of(
            spec("create_issue", "Create an issue", project_key=text, title=text),
            spec("get_issue", "Get an issue", issue_key=text),
        )
    )
    first, second = (
        world.call("create_issue", project_key="SHOP", title=title) for title in ("one", "two")
    )
    assert first["project_key"] == second["project_key"] == "SHOP"
    assert first["key"] not in ("SHOP", second["key"])
    assert world.call("get_issue", issue_key=first["key"]) == first


def test_what_a_query_language_asks_of_a_state_is_obeyed() -> None:
    state = {"type": "string", "enum": ["open", "in_progress", "closed"]}
    world = World(
        document_of(
            spec("create_ticket", "Create a ticket", title=text, status=state),
            spec("search_tickets", "Search tickets", jql=text),
        )
    )
    for status in state["enum"]:
        world.call("create_ticket", title=f"is {status}", status=status)
    rows = world.call("search_tickets", jql='project = SHOP AND status = "In Progress"')["tickets"]
    assert {row["status"] for row in rows} == {"in_progress"}
    assert "is in_progress" in [row["title"] for row in rows]


def test_a_new_place_has_only_what_was_put_there() -> None:
    world = World(
        document_of(
            spec("create_project", "Create a project", name=text),
            spec("create_service", "Create a service", projectId=text, name=text),
            crawled("list_services", "List services"),
        )
    )
    assert world.call("list_services")["services"]
    project = world.call("create_project", name="shop")["id"]
    web = world.call("create_service", projectId=project, name="web")
    assert world.call("list_services", projectId=project)["services"] == [web]
