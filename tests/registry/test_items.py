"""The store of items: what a pipeline saves it finds again, whole."""

from functools import partial
from hashlib import sha256

import anyio
import pytest

from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline import ItemStatus, ItemStore, Outcome, StoredItem
from registry.store.database import Database, open_database
from registry.store.items import DatabaseItemStore, find_outcomes, runs_with

OUTCOME = Outcome(
    item="item",
    input_hash="hash",
    status=ItemStatus.FINISHED,
    detail="天气",
    outputs=(
        StoredItem(id="one", value={"text": "天气"}),
        StoredItem(id="two", value={"numbers": [1, 2.5]}),
    ),
    usage=Usage(calls=2, prompt_tokens=10, completion_tokens=5, seconds=0.25, cost=0.125),
)


def _failed(item: str, reason: str) -> Outcome:
    return Outcome(item=item, input_hash="hash", status=ItemStatus.FAILED, reason=reason)


@pytest.mark.both_databases
async def test_an_outcome_is_found_whole_after_opening_again(database_url: str) -> None:
    async with open_database(database_url) as database:
        store: ItemStore = DatabaseItemStore(database)
        await store.save("run", "stage", OUTCOME)
    async with open_database(database_url) as database:
        assert await DatabaseItemStore(database).find("run", "stage", "item") == OUTCOME


async def test_an_outcome_belongs_to_its_run_stage_and_item(database: Database) -> None:
    store = DatabaseItemStore(database)
    await store.save("run", "stage", OUTCOME)
    for key in (("other", "stage", "item"), ("run", "other", "item"), ("run", "stage", "other")):
        assert await store.find(*key) is None


@pytest.mark.both_databases
async def test_the_runs_of_an_item_are_named_and_several_outcomes_read_at_once(
    database: Database,
) -> None:
    store = DatabaseItemStore(database)
    for run, stage, item in (
        *(("b", "stage", "item"), ("a", "stage", "item"), ("c", "other", "item")),
        *(("d", "stage", "another"), ("a", "stage", "second")),
    ):
        await store.save(run, stage, OUTCOME.model_copy(update={"item": item}))
    assert await database.read(partial(runs_with, stage="stage", item="item")) == ("a", "b")
    assert await database.read(partial(runs_with, stage="none", item="item")) == ()
    wanted = partial(find_outcomes, run="a", stage="stage", items=["second", "none", "item"])
    assert [each.item for each in await database.read(wanted)] == ["second", "item"]


async def test_a_later_outcome_replaces_an_earlier_one(database: Database) -> None:
    store = DatabaseItemStore(database)
    await store.save("run", "stage", _failed("item", "model_timeout"))
    await store.save("run", "stage", OUTCOME)
    assert await store.find("run", "stage", "item") == OUTCOME


@pytest.mark.both_databases
async def test_of_outcomes_saved_at_once_the_last_is_kept(database: Database) -> None:
    store = DatabaseItemStore(database)
    async with anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(store.save, "run", "stage", _failed("item", f"reason{number}"))
    found = await store.find("run", "stage", "item")
    assert found is not None
    assert found.reason == "reason15"


async def test_hundreds_of_items_at_once_are_all_kept(database: Database) -> None:
    store = DatabaseItemStore(database)
    found: dict[int, Outcome | None] = {}

    async def save_and_find(number: int) -> None:
        assert await store.find("run", "stage", f"item {number}") is None
        await store.save("run", "stage", _failed(f"item {number}", "some"))
        found[number] = await store.find("run", "stage", f"item {number}")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(512):
                group.start_soon(save_and_find, number)
    assert found == {number: _failed(f"item {number}", "some") for number in range(512)}


@pytest.mark.both_databases
async def test_ids_of_any_length_and_characters_are_told_apart(database: Database) -> None:
    store = DatabaseItemStore(database)
    long = "".join(sha256(str(number).encode()).hexdigest() for number in range(150))
    ids = [long, long + "x", "nul \0", "nul \0\0", "数" * 200]
    for id_ in ids:
        await store.save(long, long, _failed(id_, id_[-2:]))
    found = [await store.find(long, long, id_) for id_ in ids]
    assert found == [_failed(id_, id_[-2:]) for id_ in ids]
