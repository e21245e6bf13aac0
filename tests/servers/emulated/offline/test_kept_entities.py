"""What a call did is so for all later ones, whatever the tools are called and however they take it."""

import re
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from emulated_worlds import STYLES, Style, World, document_of, spec, text

WORDS = ("amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "heath")
TITLES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


class Keeping(RuleBasedStateMachine):
    """Does to a server what callers do, and remembers what must be so."""

    style: Style
    entities = Bundle("entities")

    def __init__(self) -> None:
        super().__init__()
        self.titles: dict[Any, str] = {}
        self.gone: set[Any] = set()

    def named(self, identity: Any) -> dict[str, Any]:
        return {self.style.id_parameter: identity}

    def rows(self) -> dict[Any, dict[str, Any]]:
        answer = self.world.call(self.style.listing, limit=200)
        assert answer["total"] == len(answer[self.style.nouns])
        return {row["id"]: row for row in answer[self.style.nouns]}

    @initialize(seed=st.integers(0, 2**63), target=entities)
    def open(self, seed: int) -> Any:
        self.world = World(self.style.document, seed=seed)
        found = self.world.call(self.style.listing)[self.style.nouns]
        assert 1 <= len(found) <= 8  # from 3 on, less those for which no further name was found
        self.titles = {row["id"]: row[self.style.title] for row in found}
        assert all(re.fullmatch(self.style.id_form, str(identity)) for identity in self.titles)
        return multiple(*self.titles)

    @rule(title=TITLES, target=entities)
    def create(self, title: str) -> Any:
        made = self.world.call(self.style.create, **self.style.members(title))
        assert made[self.style.title] == title
        assert re.fullmatch(self.style.id_form, str(made["id"]))
        assert made["id"] not in self.titles
        assert made["id"] not in self.gone
        self.titles[made["id"]] = title
        first = self.world.call(self.style.listing)[self.style.nouns][0]
        assert first == made
        return made["id"]

    @rule(identity=entities)
    def get(self, identity: Any) -> None:
        if identity not in self.gone:
            found = self.world.call(self.style.read, **self.named(identity))
            assert (found["id"], found[self.style.title]) == (identity, self.titles[identity])

    @rule(identity=entities, title=TITLES)
    def update(self, identity: Any, title: str) -> None:
        if identity in self.gone:
            return
        before = self.world.call(self.style.read, **self.named(identity))
        changes = self.style.members(title)
        changed = self.world.call(self.style.update, **self.named(identity), **changes)
        later = {name: changed[name] for name in ("updated_at",) if name in before}
        assert changed == {**before, self.style.title: title, **later}
        assert self.world.call(self.style.read, **self.named(identity)) == changed
        self.titles[identity] = title

    @rule(identity=consumes(entities))
    def delete(self, identity: Any) -> None:
        if identity in self.gone:
            return
        told = self.world.call(self.style.delete, **self.named(identity))
        assert told == {"deleted": True, "id": identity}
        del self.titles[identity]
        self.gone.add(identity)
        for tool in (self.style.read, self.style.delete):
            assert f"not found: {identity}" in self.world.refusal(tool, **self.named(identity))

    @rule(word=st.sampled_from(WORDS), target=entities)
    def search(self, word: str) -> Any:
        found = self.world.call(self.style.search, query=word)[self.style.nouns]
        shown = {row["id"] for row in found}
        assert {i for i, title in self.titles.items() if word in title.casefold()} <= shown
        assert shown.isdisjoint(self.gone)
        new = {row["id"]: row[self.style.title] for row in found if row["id"] not in self.titles}
        assert all(word in str(row).casefold() for row in found)
        self.titles |= new
        return multiple(*new)

    @invariant()
    def a_list_shows_what_there_is(self) -> None:
        if hasattr(self, "world"):
            titles = {i: row[self.style.title] for i, row in self.rows().items()}
            assert titles == self.titles


@pytest.mark.claim("P31")
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_what_calls_did_is_so_for_all_tools(style: Style) -> None:
    machine = type("Keeping", (Keeping,), {"style": style})
    quick = settings(max_examples=8, stateful_step_count=12)
    run_state_machine_as_test(machine, settings=quick)


@pytest.mark.parametrize("keys", [("isbn",), ("shelf", "row")])
def test_a_change_is_of_what_the_other_tools_look_up_by(keys: tuple[str, ...]) -> None:
    named: dict[str, Any] = dict.fromkeys(keys, text)
    books = document_of(
        spec("add_book", "Add a book", **named, title=text),
        spec("lookup_book", "Look up a book", **named),
        spec("edit_book", "Edit a book", **named, title=text),
        spec("remove_book", "Remove a book", **named),
        spec("get_all_books", "Get all books"),
    )
    world = World(books)
    first, second = ({key: f"{key}-{n}" for key in keys} for n in (1, 2))
    world.call("add_book", **first, title="amber")
    world.call("add_book", **second, title="basalt")
    assert world.call("edit_book", **first, title="cobalt")["title"] == "cobalt"
    assert world.call("lookup_book", **first)["title"] == "cobalt"
    assert world.call("lookup_book", **second)["title"] == "basalt"
    world.call("remove_book", **first)
    assert "not found" in world.refusal("edit_book", **first, title="dune")
    assert "not found" in world.refusal("lookup_book", **first)
    assert world.call("lookup_book", **second)["title"] == "basalt"


def test_saving_twice_makes_two() -> None:
    memos = document_of(
        spec("save_memo", "Save a memo", content=text),
        spec("read_memo", "Read a memo", id={"type": "integer"}),
        spec("show_memos", "Show all memos"),
    )
    world = World(memos)
    made = [world.call("save_memo", content=word) for word in ("amber", "basalt")]
    assert made[0]["id"] != made[1]["id"]
    assert [world.call("read_memo", id=one["id"])["content"] for one in made] == ["amber", "basalt"]
