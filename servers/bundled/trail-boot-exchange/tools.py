"""Customer desk of an outdoor shop: orders, variants, exchanges, shipments.

Stateful: an exchange takes the replacement out of stock, marks the returned item and opens a
replacement order, which later calls see.
"""

from datetime import date, timedelta
from hashlib import sha256
from random import Random
from typing import Any

CURRENCY = "USD"
RETURN_WINDOW_DAYS = 30
EXPRESS_CENTS = 990
RETURN_POSTAGE_CENTS = 495
SHIPPING_DAYS = {"standard": 5, "express": 2}
CARRIERS = ("Parcelwise", "Norfreight", "BlueRoute")

# (group, sizes, colours, widths, price in cents)
PRODUCTS = (
    ("Ridgeline trail boot", range(38, 47), ("moss", "slate", "umber"), ("regular", "wide"), 16_450),
    ("Cirque approach shoe", range(38, 47), ("ash", "coral"), ("regular", "wide"), 12_900),
    ("Snowline winter boot", range(38, 47), ("black", "umber"), ("regular", "wide"), 18_900),
    ("Tarn rain jacket", ("XS", "S", "M", "L", "XL"), ("moss", "navy", "ochre"), ("regular",), 13_800),
    ("Fell fleece", ("XS", "S", "M", "L", "XL"), ("slate", "plum", "ochre"), ("regular",), 7_450),
    ("Scree trousers", ("XS", "S", "M", "L", "XL"), ("ash", "navy", "umber"), ("regular",), 8_900),
    ("Merino base layer", ("XS", "S", "M", "L", "XL"), ("black", "plum", "moss"), ("regular",), 6_200),
    ("Crag gloves", ("S", "M", "L"), ("black", "ash"), ("regular",), 3_400),
)
FIRST_NAMES = (
    "Ada Bruno Celia Devin Esme Farid Greta Hollis Imani Jonas Kaia Leif Mona Nils Opal Pavel"
).split()
LAST_NAMES = (
    "Abara Birk Castell Dunmore Eide Farrow Goss Hallam Ibarra Jessup Kessel Lomax Moreau Nyholm"
).split()

variants: dict[str, dict[str, Any]] = {}
orders: dict[str, dict[str, Any]] = {}


def _sku(group: str, size: str, colour: str, width: str) -> str:
    digest = sha256(f"{group}/{size}/{colour}/{width}".encode()).hexdigest()
    return f"K{int(digest[:10], 16) % 900_000 + 100_000}"


def _add_order(
    number: str, name: str, postal_code: str, placed: date, delivered: date | None, skus: list[str]
) -> None:
    orders[number] = {
        "customer": name,
        "postal_code": postal_code,
        "placed_on": placed,
        "delivered_on": delivered,
        "items": dict.fromkeys(skus, "delivered" if delivered else "in transit"),
        "shipping": "standard",
        "replaces": None,
    }


def _build_shop() -> None:
    rng = Random(90_533)
    for group, sizes, colours, widths, price in PRODUCTS:
        for size in map(str, sizes):
            for colour in colours:
                for width in widths:
                    variants[_sku(group, size, colour, width)] = {
                        "group": group,
                        "size": size,
                        "colour": colour,
                        "width": width,
                        "price_cents": price + 600 * (width == "wide"),
                        "stock": rng.randrange(1, 30),
                    }
    moss_40 = _sku("Ridgeline trail boot", "40", "moss", "regular")
    slate_44 = _sku("Ridgeline trail boot", "44", "slate", "regular")
    jacket = _sku("Tarn rain jacket", "M", "navy", "regular")
    fleece = _sku("Fell fleece", "M", "plum", "regular")
    _add_order("N-4480217", "Maren Oduya", "97214", date(2026, 2, 21), date(2026, 2, 26), [moss_40, slate_44])
    _add_order("N-4391160", "Maren Oduya", "97214", date(2025, 11, 14), date(2025, 11, 20), [jacket])
    _add_order("N-4479905", "Maren Oduya", "60618", date(2026, 2, 20), date(2026, 2, 27), [slate_44, fleece])
    _add_order("N-4476318", "Dale Whitcomb", "97214", date(2026, 2, 17), date(2026, 2, 23), [moss_40])
    skus = list(variants)
    for _ in range(700):
        placed = date(2025, 10, 1) + timedelta(days=rng.randrange(155))
        delivered = placed + timedelta(days=rng.randrange(3, 9))
        name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        _add_order(
            f"N-{rng.randrange(4_300_000, 4_500_000)}",
            name,
            str(10_001 + 1_237 * (sum(map(ord, name)) % 71)),
            placed,
            delivered if delivered < date(2026, 3, 7) else None,
            rng.sample(skus, rng.choice((1, 1, 2, 3))),
        )


_build_shop()


def find_orders(
    customer_name: str, postal_code: str, product_keyword: str, placed_since: str | None = None
) -> dict[str, Any]:
    """List a customer's orders that contain a product."""
    since = _day(placed_since, "placed_since") if placed_since else date.min
    own = {
        number: order
        for number, order in orders.items()
        if order["customer"].casefold() == customer_name.strip().casefold()
        and order["postal_code"] == postal_code.strip()
    }
    if not own:
        raise LookupError("no orders under that name and postal code; both must match the delivery address")
    words = _stems(product_keyword)
    if not words:
        raise ValueError("product_keyword must hold at least one word from the product name")
    return {
        "orders": [
            {
                "order_number": number,
                "placed_on": order["placed_on"].isoformat(),
                "item_count": len(order["items"]),
                "is_replacement": order["replaces"] is not None,
            }
            for number, order in own.items()
            if order["placed_on"] >= since
            and any(words <= _stems(variants[sku]["group"]) for sku in order["items"])
        ]
    }


def get_order(order_number: str, section: str = "items") -> dict[str, Any]:
    """Show one section of an order."""
    order = _order(order_number)
    delivered = order["delivered_on"]
    if section == "delivery":
        return {
            "order_number": order_number,
            "name": order["customer"],
            "postal_code": order["postal_code"],
            "shipping": order["shipping"],
            "delivered_on": delivered and delivered.isoformat(),
            "exchange_until": delivered and (delivered + timedelta(days=RETURN_WINDOW_DAYS)).isoformat(),
        }
    if section == "payment":
        total = sum(variants[sku]["price_cents"] for sku in order["items"])
        return {"order_number": order_number, "total": _money(total), "replaces": order["replaces"]}
    return {
        "order_number": order_number,
        "items": [
            {
                "sku": sku,
                "product": variants[sku]["group"],
                "colour": variants[sku]["colour"],
                "size": variants[sku]["size"],
                "width": variants[sku]["width"],
                "state": state,
            }
            for sku, state in order["items"].items()
        ],
    }


def find_variants(sku: str, size: str, colour: str, width: str = "regular") -> dict[str, Any]:
    """List the variants of the product that a SKU belongs to, in one size and colour."""
    group = _variant(sku)["group"]
    return {
        "product": group,
        "variants": [
            {
                "sku": code,
                "colour": variant["colour"],
                "price": _money(variant["price_cents"]),
                "in_stock": variant["stock"],
            }
            for code, variant in variants.items()
            if variant["group"] == group
            and variant["size"] == size.strip().upper()
            and variant["width"] == width
            and variant["colour"] == colour.strip().casefold()
        ],
    }


def create_exchange(
    order_number: str, return_sku: str, replacement_sku: str, reason: str, shipping: str = "standard"
) -> dict[str, Any]:
    """Swap a delivered item for another variant of the same product; opens a replacement order."""
    order, returned, replacement = _order(order_number), _variant(return_sku), _variant(replacement_sku)
    if order["items"].get(return_sku) != "delivered":
        raise ValueError(f"order {order_number} has no delivered item {return_sku} that can be exchanged")
    if returned["group"] != replacement["group"] or return_sku == replacement_sku:
        raise ValueError("the replacement must be another variant of the same product; see find_variants")
    last_day = order["delivered_on"] + timedelta(days=RETURN_WINDOW_DAYS)
    if date.today() > last_day:
        raise ValueError(f"order {order_number} could be exchanged until {last_day}")
    if not replacement["stock"]:
        raise ValueError(f"{replacement_sku} is out of stock; see find_variants for others")
    number = "X-" + _digits(f"{order_number}/{return_sku}/{replacement_sku}", 7)
    replacement["stock"] -= 1
    order["items"][return_sku] = "return expected"
    _add_order(number, order["customer"], order["postal_code"], date.today(), None, [replacement_sku])
    orders[number] |= {"shipping": shipping, "replaces": order_number}
    postage = 0 if reason in ("defective", "wrong_item") else RETURN_POSTAGE_CENTS
    express = EXPRESS_CENTS if shipping == "express" else 0
    return {
        "replacement_order": number,
        "return_label": "RL" + _digits(number + "/label", 9),
        "price_difference": _money(replacement["price_cents"] - returned["price_cents"]),
        "return_postage": _money(postage),
        "shipping_charge": _money(express),
        "send_back_by": (date.today() + timedelta(days=14)).isoformat(),
    }


def get_shipment(order_number: str, include_events: bool = False) -> dict[str, Any]:
    """Show the parcel of an order or of a replacement order."""
    order = _order(order_number)
    due = order["delivered_on"] or order["placed_on"] + timedelta(days=SHIPPING_DAYS[order["shipping"]])
    parcel: dict[str, Any] = {
        "carrier": CARRIERS[int(_digits(order_number, 3)) % len(CARRIERS)],
        "tracking_number": "TW" + _digits(order_number + "/parcel", 11),
        "status": "delivered" if order["delivered_on"] else "on its way",
        "expected_on": due.isoformat(),
    }
    if include_events:
        parcel["events"] = [{"on": order["placed_on"].isoformat(), "what": "label created"}]
        parcel["events"] += [{"on": due.isoformat(), "what": "handed over"}] if order["delivered_on"] else []
    return parcel


def _stems(text: str) -> set[str]:
    """Words of a product name, the plural ones without their s."""
    return {word.removesuffix("s") for word in text.casefold().split()}


def _order(number: str) -> dict[str, Any]:
    if number not in orders:
        raise LookupError(f"no order {number!r}; order numbers come from find_orders or create_exchange")
    return orders[number]


def _variant(sku: str) -> dict[str, Any]:
    if sku not in variants:
        raise LookupError(f"no SKU {sku!r}; SKUs come from get_order or find_variants")
    return variants[sku]


def _day(value: str, field: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{field} must be a date such as 2025-12-24, not {value!r}") from None


def _digits(text: str, length: int) -> str:
    return str(int(sha256(text.encode()).hexdigest(), 16))[-length:]


def _money(cents: int) -> str:
    return f"{cents / 100:,.2f} {CURRENCY}"
