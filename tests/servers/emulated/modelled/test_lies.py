"""Any honest answers of a store pass, whatever is called in whatever order; each single lie is caught."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.types import JsonValue
from servers.emulated.modelled.rules import Rule

from judged_session import Session
from notes_world import tool

NUMBER, TEXTS = {"type": "number"}, {"type": "array", "items": {"type": "string"}}
LIMIT = {"type": "integer"}
TOOLS = (
    tool("create_product", "title", price=NUMBER, tags=TEXTS, status={"type": "string"}),
    tool("list_products"),
    tool("browse_products", limit=LIMIT, offset=LIMIT),
    tool("search_products", "query"),
    tool("get_product", "product_id"),
    tool("update_product", "product_id", title={"type": "string"}, price=NUMBER),
    tool("archive_product", "product_id"),
    tool("delete_product", "product_id"),
    tool("create_order", "product_id", quantity=LIMIT),
    tool("list_orders"),
    tool("get_order", "order_id"),
    tool("recount_stock", "product_id"),
)
Answer = tuple[Any, bool]


@dataclass
class Store:
    """Keeps products and orders, and computes, moves and formats as services do."""

    products: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    orders: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    num_calls: int = 0
    num_made: int = 0

    def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        self.num_calls += 1
        verb, _, noun = name.partition("_")
        for kind, kept in (("product", self.products), ("order", self.orders)):
            id = arguments.get(f"{kind}_id")
            if id is not None and id not in kept:
                return f"{kind.title()} {id} not found", True
        if noun in ("order", "orders"):
            return self._order(verb, arguments), False
        return self._product(verb, arguments), False

    def _product(self, verb: str, given: dict[str, Any]) -> Any:
        id = given.get("product_id", "")
        match verb:
            case "create":
                self.num_made += 1
                id = f"p{self.num_made}x"
                kept: dict[str, Any] = {"price": 1.0, "tags": [], "status": "active", **given}
                self.products[id] = {
                    **kept,
                    "vendor": f"Vendor {self.num_made}",
                    "stock": 9,
                    "rate": 0,
                }
            case "update":
                self.products[id] |= {k: v for k, v in given.items() if k != "product_id"}
            case "archive":
                self.products[id]["status"] = "archived"
            case "delete":
                del self.products[id]
                self.orders = {k: o for k, o in self.orders.items() if o["product_id"] != id}
                return {"deleted": True, "product_id": id}
            case "recount":
                self.products[id]["stock"] += 5
                return {"product_id": id, "stock": self.products[id]["stock"]}
            case "list":
                shown = [
                    self._shown(i) for i, p in self.products.items() if p["status"] == "active"
                ]
                return {"products": shown, "total": len(shown)}
            case "browse":
                first, size = given.get("offset", 0), given.get("limit", 2)
                ids = [i for i, p in self.products.items() if p["status"] == "active"]
                page = [self._shown(i) for i in ids[first : first + size]]
                return {"items": page, "total": len(ids), "limit": size, "offset": first}
            case "search":
                words = given["query"].casefold()
                found = [i for i, p in self.products.items() if words in p["title"].casefold()]
                ranked = sorted(found, reverse=self.num_calls % 2 == 0)
                return {
                    "results": [{**self._shown(i), "score": self.num_calls / 7} for i in ranked]
                }
            case _:
                pass
        return {"product": self._shown(id)}

    def _order(self, verb: str, given: dict[str, Any]) -> Any:
        if verb == "list":
            return [self._told(id) for id in self.orders]
        id = given.get("order_id", "")
        if verb == "create":
            self.num_made += 1
            id = f"o{self.num_made}x"
            self.orders[id] = {"quantity": 1, **given}
            self.products[given["product_id"]]["stock"] -= 1
        return self._told(id)

    def _told(self, id: str) -> dict[str, Any]:
        order = self.orders[id]
        product = self.products[order["product_id"]]
        total = product["price"] * order["quantity"]
        return {"id": id, **order, "product_title": product["title"], "total": total}

    def _shown(self, id: str) -> dict[str, Any]:
        kept, turn = self.products[id], self.num_calls % 2
        return {
            "id": id,
            **kept,
            "title": kept["title"] if turn else f"  {kept['title']} ",
            "price": kept["price"] if turn else f"{kept['price']:.2f}",
            "tags": kept["tags"][:: 1 if turn else -1],
            "slug": "-".join(kept["title"].lower().split()),
            "description": f"{kept['title']} at {kept['price']}",
            "rate": self.num_calls * 3,
            "views": self.num_calls,
            "updated_at": f"2026-01-01T00:00:{self.num_calls % 60:02d}Z",
        }


TITLES = st.sampled_from(
    ["Oak chair", "oak table", "Lamp", "\u5317\u4eac\u706f", "Caf\u00e9 mug", "Lamp 2"]
)
PRICES = st.sampled_from([1.0, 12.5, 1200.0, 0.99])
IDS = st.sampled_from(["p1x", "p2x", "p3x", "o2x", "o3x", "p99x"])
CALLS = st.one_of(
    st.tuples(
        st.just("create_product"),
        st.fixed_dictionaries(
            {"title": TITLES}, optional={"price": PRICES, "tags": st.lists(TITLES, max_size=3)}
        ),
    ),
    st.tuples(st.sampled_from(["list_products", "list_orders", "browse_products"]), st.just({})),
    st.tuples(
        st.just("browse_products"),
        st.fixed_dictionaries({"limit": st.integers(1, 3), "offset": st.integers(0, 3)}),
    ),
    st.tuples(st.just("search_products"), st.fixed_dictionaries({"query": TITLES})),
    st.tuples(
        st.sampled_from(["get_product", "archive_product", "delete_product", "recount_stock"]),
        st.fixed_dictionaries({"product_id": IDS}),
    ),
    st.tuples(
        st.just("update_product"),
        st.fixed_dictionaries({"product_id": IDS}, optional={"title": TITLES, "price": PRICES}),
    ),
    st.tuples(
        st.just("create_order"),
        st.fixed_dictionaries({"product_id": IDS}, optional={"quantity": st.integers(1, 5)}),
    ),
    st.tuples(st.just("get_order"), st.fixed_dictionaries({"order_id": IDS})),
)  # fmt: skip
STORIES = st.lists(CALLS, max_size=25)


def told(session: Session, store: Store, name: str, arguments: dict[str, Any]) -> Any:
    """Have the store answer, which is believed."""
    value, lie = heard(session, store, name, arguments)
    assert not lie, (name, arguments, value)
    return value


def heard(session: Session, store: Store, name: str, arguments: dict[str, Any]) -> tuple[Any, Any]:
    """Have the store answer; the answer, and what the session finds wrong with it."""
    value, fails = store.call(name, arguments)
    return value, session.hear(name, value, fails=fails, **arguments)


def played(story: list[tuple[str, dict[str, Any]]]) -> tuple[Session, Store]:
    session, store = Session(TOOLS), Store()
    for name, arguments in story:
        told(session, store, name, arguments)
    return session, store


@given(story=STORIES)
def test_honest_answers_are_never_refused(story: list[tuple[str, dict[str, Any]]]) -> None:
    session, store = Session(TOOLS), Store()
    assert not any(heard(session, store, *call)[1] for call in story)


def test_a_title_that_another_thing_repeats_changes_with_it() -> None:
    story: list[tuple[str, dict[str, Any]]] = [
        ("create_product", {"title": "Lamp"}),
        ("create_order", {"product_id": "p1x"}),
        ("update_product", {"product_id": "p1x", "title": "Oak chair"}),
    ]
    session, store = played(story)
    order, lie = heard(session, store, "get_order", {"order_id": "o2x"})
    assert "Oak chair" in str(order)
    assert not lie


Lie = tuple[str, dict[str, Any], Callable[[Any], Any], Rule]


def of_product(**changed: Any) -> Callable[[Any], Any]:
    return lambda value: {"product": {**value["product"], **changed}}


def of_first(**changed: Any) -> Callable[[Any], Any]:
    def lie(value: Any) -> Any:
        key = "products" if "products" in value else "results"
        return {**value, key: [{**value[key][-1], **changed}, *value[key][:-1]]}

    return lie


def shorter(value: Any) -> Any:
    """Leave one out, and count the others."""
    return {"products": value["products"][:-1], "total": value["total"] - 1}


LIES: dict[str, Lie] = {
    "get: title": ("get_product", {"product_id": "ID"}, of_product(title="Sofa"), Rule.VALUES_STAY),
    "get: price": ("get_product", {"product_id": "ID"}, of_product(price=77), Rule.VALUES_STAY),
    "get: tags": ("get_product", {"product_id": "ID"}, of_product(tags=["x"]), Rule.VALUES_STAY),
    "get: vendor": ("get_product", {"product_id": "ID"}, of_product(vendor="Else"), Rule.VALUES_STAY),
    "list: title": ("list_products", {}, of_first(title="Sofa"), Rule.VALUES_STAY),
    "search: title": ("search_products", {"query": "zz"}, of_first(title="zz b"), Rule.VALUES_STAY),
    "update: title": ("update_product", {"product_id": "ID", "price": 3.0},
                      of_product(title="Sofa"), Rule.VALUES_STAY),
    "update: echo": ("update_product", {"product_id": "ID", "price": 3.0}, of_product(price=4.0),
                     Rule.ECHOES_WHAT_WAS_GIVEN),
    "create: echo": ("create_product", {"title": "Desk"}, of_product(title="Sofa"),
                     Rule.ECHOES_WHAT_WAS_GIVEN),
    "create: number": ("create_product", {"title": "Desk", "price": 2.0}, of_product(price=20),
                       Rule.ECHOES_WHAT_WAS_GIVEN),
    "list: emptied": ("list_products", {}, lambda _: {"products": [], "total": 0}, Rule.LISTS_ARE_WHOLE),
    "list: emptied, bare": ("list_products", {}, lambda _: [], Rule.LISTS_ARE_WHOLE),
    "list: one left out": ("list_products", {}, shorter, Rule.LISTS_ARE_WHOLE),
    "page: emptied": ("browse_products", {}, lambda _: {"items": []}, Rule.LISTS_ARE_WHOLE),
    "page: short": ("browse_products", {"limit": 50}, lambda v: {"items": v["items"][:-1]},
                    Rule.LISTS_ARE_WHOLE),
    "list: total": ("list_products", {}, lambda v: {**v, "total": v["total"] + 1}, Rule.COUNTS_AGREE),
    "list: total, less": ("list_products", {}, lambda v: {**v, "total": v["total"] - 1},
                          Rule.COUNTS_AGREE),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@given(story=STORIES)
def test_each_lie_is_caught(lie: Lie, story: list[tuple[str, dict[str, Any]]]) -> None:
    name, arguments, changed, rule = lie
    session, store = played(story)
    made = told(
        session, store, "create_product", {"title": "zz top", "price": 5.0, "tags": ["a", "b"]}
    )
    told(session, store, "list_products", {})
    given = {k: made["product"]["id"] if v == "ID" else v for k, v in arguments.items()}
    value, fails = store.call(name, given)

    assert not fails
    assert session.judge(name, changed(value), given) == {rule}
    assert not session.judge(name, value, given)


UNKNOWN = (
    "get_product",
    "update_product",
    "archive_product",
    "delete_product",
    "create_order",
    "recount_stock",
)


@pytest.mark.parametrize("name", UNKNOWN)
@given(story=STORIES)
def test_an_id_never_given_out_is_refused_in_every_verb(
    name: str, story: list[tuple[str, dict[str, Any]]]
) -> None:
    session, _ = played(story)
    arguments = {"product_id": "p77x"}

    value: JsonValue = {"id": "o77x" if name == "create_order" else "p77x", "ok": True}
    assert session.judge(name, value, arguments) == {Rule.UNKNOWN_IS_MISSING}
    assert not session.judge(name, "Product p77x not found", arguments, fails=True)
