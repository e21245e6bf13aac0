"""What contradicts a session, and above all what does not: a good answer is never refused."""

from typing import Any

import pytest

from astra_mcp.types import JsonValue
from servers.emulated.modelled.excerpts import answer_text
from servers.emulated.modelled.given_words import words_in
from servers.emulated.modelled.ledger import MAX_SUMMARY, MAX_VALUES, Ledger
from servers.emulated.modelled.rules import Rule

from judged_session import Session
from notes_world import tool

ORDERS = (
    tool("list_orders"),
    tool("search_orders", "query"),
    tool("get_order", "order_id"),
    tool("create_order", "customer_id"),
    tool("update_order", "order_id", status={"type": "string"}),
    tool("delete_order", "order_id"),
    tool("restore_order", "order_id"),
    tool("set_order", "order_id"),
    tool("get_customer", "customer_id"),
    tool("create_customer", "customer_id"),
    tool("get_next_delivery", "id"),
    tool("search_items", "query"),
    tool("delete_customer", "customer_id"),
    tool("get_shipment", "order_id"),
    tool("list_items", "order_id"),
    tool("get_item", "order_id", "item_id"),
    tool("delete_item", "order_id", "item_id"),
    tool("remove_tag", "order_id", "tag_id"),
    tool("list_tags", "order_id"),
)
FILES = (
    tool("list_files"),
    tool("read_file", "path"),
    tool("create_file", "path", "content"),
    tool("write_file", "path", "content"),
    tool("rename_file", "path", "new_path"),
    tool("delete_file", "path"),
)
MEMBERS = (
    tool("list_members", "team"),
    tool("add_member", "team", "user_id"),
    tool("remove_member", "team", "user_id"),
    tool("get_guests", "id"),
    tool("remove_guests", "id", guests={"type": "array"}),
    tool("get_quote", "symbol"),
    tool("list_quotes"),
    tool("get_note_by_id", "id"),
    tool("delete_note_by_id", "id"),
)


def orders(*ids: str | int) -> JsonValue:
    return {"orders": [{"id": id, "customer_id": "c1"} for id in ids], "total": len(ids)}


@pytest.fixture
def shop() -> Session:
    """Two orders were listed, and the second was deleted."""
    session = Session(ORDERS)
    assert not session.hear("list_orders", orders("o1", "o2"))
    assert not session.hear("delete_order", {"success": True}, order_id="o2")
    return session


NOT_FOUND = (
    "Order not found",
    "order o1 was not found.",
    "Order 'o1' does not exist",
    "No order found with ID o1",
    "404 Not Found",
    '{"error": "not_found", "code": 404}',
    "There is no such order",
    "\u672a\u627e\u5230\u8ba2\u5355 o1",
    "\u8ba2\u5355\u4e0d\u5b58\u5728",
)


@pytest.mark.parametrize("text", NOT_FOUND)
@pytest.mark.parametrize("name", ["get_order", "update_order", "delete_order"])
def test_what_was_listed_is_found(shop: Session, name: str, text: str) -> None:
    assert shop.hear(name, text, fails=True, order_id="o1") == {Rule.KNOWN_EXISTS}


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_was_never_named_or_is_deleted_may_be_missing(shop: Session, text: str) -> None:
    assert not shop.hear("get_order", text, fails=True, order_id="o9")
    assert not shop.hear("get_order", text, fails=True, order_id="o2")


@pytest.mark.parametrize(
    "text",
    [
        "You do not have permission to view order o1",
        "Access denied: order not found or not yours",
        "Order o1 is locked by another user",
        "Status 'lost' does not exist",
        "Unknown status: lost",
        "Customer of order o1 not found",
        "Payment for order o1 failed: card declined",
        "Rate limit exceeded",
        "\u6743\u9650\u4e0d\u8db3",
        "x" * 2000 + " not found",
    ],
)
def test_errors_for_another_reason_are_allowed(shop: Session, text: str) -> None:
    assert not shop.hear("update_order", text, fails=True, order_id="o1", status="lost")


def test_a_reference_makes_its_entity_known_and_not_what_belongs_to_it(shop: Session) -> None:
    broken = shop.hear("get_customer", "Customer not found", fails=True, customer_id="c1")
    assert broken == {Rule.KNOWN_EXISTS}
    missing = "No shipment found for order o1"
    assert not shop.hear("get_shipment", missing, fails=True, order_id="o1")
    assert not shop.hear("get_item", "Item i1 not found", fails=True, order_id="o1", item_id="i1")


def test_a_reference_to_something_deleted_may_stay_in_a_list(shop: Session) -> None:
    assert not shop.hear("delete_customer", {"deleted": True}, customer_id="c1")
    assert not shop.hear("list_orders", orders("o1"))


@pytest.mark.parametrize(
    "value",
    [
        orders("o1", "o2"),
        {"data": {"orders": [{"order_id": "o2"}]}},
        {"results": [{"orderId": "o2"}]},
        [{"id": "o2"}],
        {"items": [{"_id": "o2"}], "page": 1},
        {"order_ids": ["o1", "o2"]},
    ],
)
@pytest.mark.parametrize("name", ["list_orders", "search_orders"])
def test_what_was_deleted_is_in_no_list(shop: Session, name: str, value: JsonValue) -> None:
    given: Any = {"query": "x"} if name == "search_orders" else {}
    assert shop.hear(name, value, **given) == {Rule.LISTS_WITHOUT_DELETED}


def test_a_list_of_deleted_things_may_show_them(shop: Session) -> None:
    assert not shop.hear("search_orders", orders("o2"), query="deleted orders")
    shown: JsonValue = {"orders": [{"id": "o1"}, {"id": "o2", "status": "deleted"}]}
    assert not shop.hear("list_orders", shown)


def test_a_deleted_thing_may_be_shown_as_such_but_not_changed_or_deleted(shop: Session) -> None:
    gone: JsonValue = {"id": "o2", "deleted_at": "2026-01-01"}
    assert not shop.hear("get_order", gone, order_id="o2")
    assert shop.hear("get_order", {"id": "o2"}, order_id="o2") == {Rule.DELETED_IS_GONE}
    assert shop.hear("update_order", gone, order_id="o2") == {Rule.DELETED_IS_GONE}
    assert shop.hear("delete_order", {"deleted": True}, order_id="o2") == {Rule.DELETED_IS_GONE}


def test_what_is_deleted_is_not_set_and_what_is_restored_exists_again(shop: Session) -> None:
    assert shop.hear("set_order", {"ok": True}, order_id="o2") == {Rule.DELETED_IS_GONE}
    assert not shop.hear("restore_order", {"id": "o2"}, order_id="o2")
    assert not shop.hear("list_orders", orders("o1", "o2"))
    assert not shop.hear("get_order", {"id": "o2"}, order_id="o2")


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"success": False}, {}),
        ({"error": "locked"}, {}),
        ({"status": "pending"}, {}),
        ({"would_delete": 1}, {"dry_run": True}),
        ({"message": "really?"}, {"confirm": False}),
    ],
)
def test_a_deletion_that_did_not_happen_deletes_nothing(value: JsonValue, arguments: Any) -> None:
    shop = Session(ORDERS)
    shop.hear("list_orders", orders("o1"))
    shop.hear("delete_order", value, order_id="o1", **arguments)

    assert not shop.hear("list_orders", orders("o1"))


@pytest.mark.parametrize(
    "value",
    [{"id": "o1"}, {"order": {"id": "o1"}}, {"data": {"order_id": "o1", "customer_id": "c1"}}],
)
def test_what_is_created_has_a_new_id(shop: Session, value: JsonValue) -> None:
    assert shop.hear("create_order", value, customer_id="c1") == {Rule.CREATED_IS_NEW}


def test_what_is_created_may_have_a_given_id_and_come_with_what_there_is(shop: Session) -> None:
    assert not shop.hear("create_customer", {"id": "c1"}, customer_id="c1")
    with_others: JsonValue = {"id": "c1", "orders": [{"id": "o1"}, {"id": "o3"}]}
    assert not shop.hear("create_order", with_others, customer_id="c1")


@pytest.mark.parametrize(
    "value", [{"id": "o2"}, {"order": {"id": "o9", "customer_id": "c1"}}, {"data": {"order_id": 7}}]
)
def test_what_is_returned_is_what_was_asked_for(shop: Session, value: JsonValue) -> None:
    assert shop.hear("get_order", value, order_id="o1") == {Rule.GET_RETURNS_IT}


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("o1", {"id": "o1", "items": [{"id": "i1"}]}),
        ("o1", {"id": 17, "reference": "o1"}),
        ("O1", {"id": "o1"}),
        ("7", {"id": 7}),
        ("latest", {"id": "o1"}),
        ("https://shop.test/orders/ord-77", {"id": "ord-77"}),
        ("2301.12345", {"id": "2301.12345v2"}),
        ("o1", {"status": "shipped"}),
        ("o1", "Order o1: shipped"),
        ("o1", None),
    ],
)
def test_what_was_asked_for_has_many_forms(asked: str, value: JsonValue) -> None:
    shop = Session(ORDERS, Ledger(words_in(f"What about {asked}?")))
    assert not shop.hear("get_order", value, order_id=asked)


def test_an_id_may_be_that_of_something_else(shop: Session) -> None:
    assert not shop.hear("get_next_delivery", {"id": "d2"}, id="d1")
    assert not shop.hear("list_orders", {"id": "o2", "results": [{"id": "o1"}]})


def test_what_is_taken_from_a_group_is_not_the_group() -> None:
    group = Session(MEMBERS)
    for _ in range(2):
        assert not group.hear("remove_guests", {"success": True}, id="g1", guests=["a"])
    assert not group.hear("get_guests", {"id": "g1", "guests": []}, id="g1")


def test_words_of_the_request_and_of_documents_may_be_ids_and_words_of_a_refused_call_are_none(
    shop: Session,
) -> None:
    shop.ledger.hear(
        shop.vocabulary.read("get_order", {"order_id": "o8"}), "No order o8. Did you mean o9?"
    )

    assert shop.hear("get_order", {"id": "o8"}, order_id="o8") == {Rule.UNKNOWN_IS_MISSING}
    assert not shop.hear("get_order", {"id": "o9"}, order_id="o9")
    asked = Session(ORDERS, Ledger(words_in("Where is my order o7?")))
    assert not asked.hear("get_order", {"id": "o7"}, order_id="o7")


def test_what_the_caller_names_by_itself_may_exist() -> None:
    assert not Session(FILES).hear("read_file", "text", path="never/listed.txt")
    assert not Session(ORDERS).hear("get_customer", {"id": "c7"}, customer_id="c7")
    assert not Session(ORDERS).hear("list_items", {"items": []}, order_id="o7")


def test_values_that_are_told_another_way_are_the_same(shop: Session) -> None:
    told: JsonValue = {"id": "o1", "due": "2026-03-01", "carrier": "Blue Van", "sum": {"net": 12}}
    again: JsonValue = {
        "id": "o1",
        "due": "March 1, 2026",
        "carrier": "BLUE VAN",
        "sum": {"net": "12.00"},
    }
    assert not shop.hear("get_order", told, order_id="o1")
    assert not shop.hear("get_order", again, order_id="o1")
    changed: JsonValue = {"id": "o1", "carrier": "Red Van"}
    assert shop.hear("get_order", changed, order_id="o1") == {Rule.VALUES_STAY}


CONTACTS = (
    tool("list_contacts"),
    tool("create_contact", "full_name", phone={}, home_url={}, due_at={}, status={}),
    tool("update_contact", "contact_id", "full_name"),
    tool("remove_contact_by_name", "full_name"),
    tool("list_overdue_contacts"),
    tool("get_contact", "contact_id", language={}),
    tool("execute_query"),
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"phone": "+1 (555) 010-1234"}, {"phone": "+15550101234"}),
        ({"home_url": "a.example"}, {"homeUrl": "https://a.example/"}),
        ({"due_at": "tomorrow at 5pm"}, {"due_at": "2026-01-02T17:00:00Z"}),
        ({"status": "publish"}, {"status": "published"}),
    ],
)
def test_what_was_given_may_be_written_another_way(
    given: dict[str, Any], told: dict[str, JsonValue]
) -> None:
    book = Session(CONTACTS)
    assert not book.hear(
        "create_contact", {"id": "k1", "full_name": "Ann", **told}, full_name="ANN", **given
    )
    others: dict[str, JsonValue] = dict.fromkeys(told, "Other 7")
    if "due_at" not in told:
        broken = book.judge(
            "create_contact",
            {"id": "k2", "full_name": "Ann", **others},
            {"full_name": "Ann", **given},
        )
        assert broken == {Rule.ECHOES_WHAT_WAS_GIVEN}


@pytest.mark.parametrize(
    ("called", "arguments"),
    [("remove_contact_by_name", {"full_name": "Bo"}), ("execute_query", {})],
)
def test_after_a_call_about_nobody_knows_what_nothing_is_certain(
    called: str, arguments: dict[str, Any]
) -> None:
    book = Session(CONTACTS)
    assert not book.hear(
        "list_contacts", [{"id": "k1", "full_name": "Ann"}, {"id": "k2", "full_name": "Bo"}]
    )
    assert not book.hear(called, {"done": True}, **arguments)
    assert not book.hear("list_contacts", [{"id": "k1", "full_name": "Ann"}])


def test_another_language_and_a_list_of_some_are_no_contradiction() -> None:
    book = Session(CONTACTS)
    assert not book.hear("list_contacts", [{"id": "k1", "full_name": "Ann"}])
    assert not book.hear(
        "get_contact", {"id": "k1", "full_name": "Anna"}, contact_id="k1", language="de"
    )
    assert not book.hear("list_overdue_contacts", [])
    assert book.hear("list_contacts", []) == {Rule.LISTS_ARE_WHOLE}


def test_an_unmarked_page_has_a_round_length() -> None:
    book = Session(CONTACTS)
    shown: list[JsonValue] = [{"id": f"k{n}", "full_name": "Ann"} for n in range(20)]
    assert not book.hear("list_contacts", {"contacts": shown, "total": 25})
    broken = book.hear("list_contacts", {"contacts": shown[:19], "total": 25})
    assert broken == {Rule.COUNTS_AGREE, Rule.LISTS_ARE_WHOLE}


def test_the_values_of_entities_are_told_within_a_bound(shop: Session) -> None:
    for number in range(300):
        given: JsonValue = {"id": f"n{number}", "note": "x" * 1900}
        shop.hear("create_order", given, customer_id="c1")

    told = shop.ledger.values()

    assert len(told) <= MAX_VALUES
    assert told.splitlines()[-1].startswith('order n299: {"customer_id": "c1", "note": "x')


def test_a_number_says_nothing_without_its_place() -> None:
    shop = Session(ORDERS)
    shop.hear("list_items", [{"id": 1}], order_id="a")
    shop.hear("delete_item", {"deleted": True}, order_id="a", item_id=1)
    assert not shop.hear("search_items", {"items": [{"id": 1}]}, query="lamp")


def test_equal_ids_of_two_places_are_two_entities() -> None:
    shop = Session(ORDERS)
    shop.hear("list_orders", orders("a", "b"))
    items: JsonValue = {"items": [{"id": 1}, {"id": 2}]}
    shop.hear("list_items", items, order_id="a")
    shop.hear("list_items", items, order_id="b")
    shop.hear("delete_item", {"deleted": True}, order_id="a", item_id=1)

    assert not shop.hear("list_items", items, order_id="b")
    assert not shop.hear("get_item", {"id": 1}, order_id="b", item_id=1)
    assert shop.hear("list_items", items, order_id="a") == {Rule.LISTS_WITHOUT_DELETED}
    assert shop.hear("get_item", {"id": 1}, order_id="a", item_id=1) == {Rule.DELETED_IS_GONE}


def test_what_is_taken_off_one_thing_is_not_deleted() -> None:
    shop = Session(ORDERS)
    tags: JsonValue = {"tags": [{"id": "t1"}]}
    shop.hear("list_orders", orders("o1"))
    shop.hear("list_tags", tags, order_id="o1")
    assert not shop.hear("remove_tag", {"success": True}, order_id="o1", tag_id="t1")
    missing = "Tag t1 not found on order o1"
    assert not shop.hear("remove_tag", missing, fails=True, order_id="o1", tag_id="t1")
    assert not shop.hear("list_tags", tags, order_id="o1")


def test_files_are_known_by_their_paths() -> None:
    disk = Session(FILES)
    disk.hear("list_files", {"files": [{"path": "a.txt"}, {"path": "b.txt"}]})
    missing = "File not found: a.txt"
    assert disk.hear("read_file", missing, fails=True, path="a.txt") == {Rule.KNOWN_EXISTS}
    disk.hear("delete_file", "Deleted.", path="a.txt")
    assert disk.hear("list_files", [{"path": "a.txt"}]) == {Rule.LISTS_WITHOUT_DELETED}
    assert not disk.hear("read_file", missing, fails=True, path="a.txt")


@pytest.mark.parametrize("name", ["create_file", "write_file"])
def test_a_path_may_be_used_again(name: str) -> None:
    disk = Session(FILES)
    disk.hear("list_files", [{"path": "a.txt"}])
    disk.hear("delete_file", "Deleted.", path="a.txt")
    assert not disk.hear(name, "Written.", path="a.txt", content="x")
    assert not disk.hear("list_files", [{"path": "a.txt"}])
    assert not disk.hear("read_file", "x", path="a.txt")


def test_what_was_renamed_may_be_missing_under_its_old_name() -> None:
    disk = Session(FILES)
    disk.hear("list_files", [{"path": "a.txt"}])
    disk.hear("rename_file", "Renamed.", path="a.txt", new_path="b.txt")
    assert not disk.hear("read_file", "File not found: a.txt", fails=True, path="a.txt")
    disk.hear("delete_file", "Deleted.", path="b.txt")
    disk.hear("rename_file", "Renamed.", path="c.txt", new_path="b.txt")
    assert not disk.hear("list_files", [{"path": "b.txt"}])


def test_names_that_a_tool_takes_are_no_ids_where_nothing_is_stored() -> None:
    market = Session(MEMBERS)
    market.hear("list_quotes", {"quotes": [{"symbol": "AAPL", "price": 1}]})
    assert not market.hear("get_quote", "No quote found for AAPL", fails=True, symbol="AAPL")


def test_members_may_be_taken_out_and_put_in_again() -> None:
    team = Session(MEMBERS)
    members: JsonValue = {"team": "a", "members": [{"id": "u1"}]}
    for _ in range(2):
        assert not team.hear("add_member", members, team="a", user_id="u1")
        assert not team.hear("remove_member", {"success": True}, team="a", user_id="u1")


@pytest.mark.parametrize("other", ["uuid", "note_id"])
def test_all_ids_of_a_deleted_thing_are_gone(other: str) -> None:
    session = Session(MEMBERS)
    session.hear("get_note_by_id", {"id": 1, other: "n-1"}, id=1)
    session.hear("delete_note_by_id", {"ok": True}, id="1")

    assert session.hear("get_note_by_id", {"id": 1}, id="n-1") == {Rule.DELETED_IS_GONE}


def test_the_summary_names_the_latest_entities_within_its_bound() -> None:
    shop = Session(ORDERS)
    for number in range(500):
        shop.hear("create_order", {"id": f"order-{number}"}, customer_id="c")
    shop.hear("delete_order", {"ok": True}, order_id="order-0")

    summary = shop.ledger.summary()

    assert len(summary) <= MAX_SUMMARY
    first, second = summary.splitlines()
    assert first == "order, deleted: order-0"
    assert second.startswith("order, existing: ")
    assert second.endswith("order-498, order-499")


def test_a_ledger_forgets_what_was_named_first() -> None:
    shop = Session(ORDERS)
    for start in range(0, 6000, 1000):
        found = orders(*(f"o{n}" for n in range(start, start + 1000)))
        assert not shop.hear("search_orders", found, query="o")

    assert not shop.hear("get_order", "Order not found", fails=True, order_id="o0")
    assert shop.hear("get_order", "Order not found", fails=True, order_id="o5999")


def test_results_of_any_form_are_read() -> None:
    shop = Session(ORDERS)
    deep: JsonValue = "end"
    for _ in range(90):
        deep = {"orders": [deep]}
    values: list[JsonValue] = [None, True, 1.5, "text", [], {}, [[[]]], deep, {"id": None}]
    values.append({"": {"id": ["a"]}})
    for value in values:
        assert not shop.hear("list_orders", value)
        assert not shop.hear("get_order", value, order_id="o1")
    assert answer_text(deep).count("orders") == 90
