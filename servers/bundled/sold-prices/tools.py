"""Public property register of a town: what houses sold for, and what may be built on them.

Both tools look up one address at a time. The sales that questions ask about are written out; the
rest of each street is drawn once from a fixed generator. Nothing changes during an episode.
"""

from datetime import date, timedelta
from random import Random
from typing import Any, NamedTuple

CURRENCY = "GBP"
REGISTER_OPENED = date(1995, 1, 2)


class Sale(NamedTuple):
    """One registered transfer of ownership; the price is in whole pounds."""

    completed: date
    price: int
    tenure: str
    new_build: bool


class Application(NamedTuple):
    """One planning application with its outcome."""

    reference: str
    decided: date
    outcome: str
    summary: str


STREETS = (
    "Tollgate Road, Abbot's Lane, Cinder Hill, Wellington Terrace, Plover Close, "
    "St Brannock Street, Quarry Bank, Mallow Drive, Foundry Row, Dovecote Gardens, "
    "Heron Way, Chapel Rise, Priory Avenue, Weir Street, Larkfield Road, Almoners Walk, "
    "Victoria Parade, Thornbury Crescent, Signal Cottages, Orchard Bank, Bellmaker Street, "
    "Marsh Lane, Kiln Croft, Sexton's Yard, Fairlight Road, Barley Mow Lane, Mariner Place, "
    "Coppice View, Union Street, Hazel Grove, Cattlemarket, Ferry Approach"
).split(", ")
HOUSE_NUMBERS = (*map(str, range(1, 35)), "9A", "14A", "21B")
HOUSE_TENURES = ("freehold", "freehold", "leasehold")
FLAT_TENURES = ("leasehold", "leasehold", "share_of_freehold")
OUTCOMES = ("granted", "granted", "granted", "refused", "withdrawn")
WORKS = (
    ("extension", "Single-storey rear extension"),
    ("extension", "Two-storey side extension"),
    ("loft", "Loft conversion with rear dormer"),
    ("outbuilding", "Garden studio"),
    ("access", "Dropped kerb and parking bay"),
    ("change_of_use", "Change of use to two flats"),
)

sales: dict[tuple[str, str], list[Sale]] = {}
applications: dict[tuple[str, str], list[tuple[str, Application]]] = {}


def _key(street: str, house_number: str) -> tuple[str, str]:
    return street.strip().casefold(), house_number.strip().upper()


def _draw_register() -> None:
    rng = Random(17_390)
    for street in STREETS:
        level = rng.randrange(150, 420)
        for number in HOUSE_NUMBERS:
            key, day, price = _key(street, number), REGISTER_OPENED, level * rng.randrange(180, 320)
            history: list[Sale] = []
            for index in range(rng.choice((1, 1, 2, 2, 3))):
                day += timedelta(days=rng.randrange(700, 3_600))
                price = price * rng.randrange(106, 170) // 100 // 250 * 250
                tenure = rng.choice(HOUSE_TENURES if number.isdigit() else FLAT_TENURES)
                history.append(Sale(day, price, tenure, index == 0))
            sales[key] = history
            if rng.random() < 0.5:
                kind, summary = rng.choice(WORKS)
                decided = date(2012, 1, 9) + timedelta(days=rng.randrange(5_000))
                reference = f"{decided:%y}/{rng.randrange(10_000, 99_999)}/HH"
                outcome = Application(reference, decided, rng.choice(OUTCOMES), summary)
                applications[key] = [(kind, outcome)]


def _enter_known_records() -> None:
    sales[_key("Priory Avenue", "18")] = [
        Sale(date(2004, 6, 11), 187_500, "freehold", False),
        Sale(date(2019, 10, 4), 341_250, "freehold", False),
    ]
    sales[_key("Priory Avenue", "27")] = [
        Sale(date(2001, 3, 30), 146_000, "freehold", False),
        Sale(date(2016, 8, 19), 298_750, "freehold", False),
        Sale(date(2024, 2, 23), 402_000, "freehold", False),
    ]
    sales[_key("Larkfield Road", "9A")] = [
        Sale(date(2012, 5, 18), 158_250, "leasehold", True),
        Sale(date(2021, 11, 26), 213_500, "leasehold", False),
        Sale(date(2023, 7, 14), 36_400, "freehold", False),
        Sale(date(2024, 3, 8), 241_000, "share_of_freehold", False),
    ]
    sales[_key("Chapel Rise", "31")] = [
        Sale(date(2008, 1, 25), 229_000, "freehold", False),
        Sale(date(2022, 9, 9), 376_500, "freehold", False),
    ]
    applications[_key("Chapel Rise", "31")] = [
        (
            "loft",
            Application("15/20883/HH", date(2015, 4, 21), "refused", "Loft conversion with rear dormer"),
        ),
        (
            "extension",
            Application("23/71426/HH", date(2023, 5, 16), "granted", "Single-storey rear extension"),
        ),
        ("outbuilding", Application("24/80317/HH", date(2024, 6, 3), "granted", "Garden studio")),
    ]


_draw_register()
_enter_known_records()


def get_last_sale(
    street: str, house_number: str, completed_before: str | None = None, tenure: str = "any"
) -> dict[str, Any]:
    """Look up the latest registered sale of one property."""
    history = sales.get(_key(street, house_number))
    if history is None:
        raise LookupError(
            f"no property {house_number} {street} on the register; house numbers may end in a letter"
        )
    before = _day(completed_before, "completed_before") if completed_before else date.max
    found = [s for s in history if s.completed < before and tenure in ("any", s.tenure)]
    if not found:
        raise LookupError(
            "the register holds no such sale of this property; widen completed_before or tenure"
        )
    sale = max(found, key=lambda candidate: candidate.completed)
    return {
        "property": f"{house_number.strip().upper()} {street.strip()}",
        "price": f"{sale.price:,} {CURRENCY}",
        "completed_on": sale.completed.isoformat(),
        "tenure": sale.tenure,
        "new_build": sale.new_build,
        "earlier_sales": sum(s.completed < sale.completed for s in history),
    }


def get_planning_decision(
    street: str, house_number: str, works: str, decided_since: str | None = None
) -> dict[str, Any]:
    """Look up the planning decisions for one kind of works at one property."""
    key = _key(street, house_number)
    if key not in sales:
        raise LookupError(
            f"no property {house_number} {street} on the register; house numbers may end in a letter"
        )
    since = _day(decided_since, "decided_since") if decided_since else date.min
    return {
        "decisions": [
            {
                "application": entry.reference,
                "summary": entry.summary,
                "outcome": entry.outcome,
                "decided_on": entry.decided.isoformat(),
            }
            for kind, entry in applications.get(key, [])
            if kind == works and entry.decided >= since
        ]
    }


def _day(value: str, field: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{field} must be a date such as 2011-03-31, not {value!r}") from None
