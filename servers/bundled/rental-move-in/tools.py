"""Lettings desk of Port Averil: find a flat, price the move-in, book a viewing.

Two buildings are written out; the others are drawn once from a fixed generator. Nothing changes
during an episode.
"""

import calendar
from datetime import date, timedelta
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

CURRENCY = "EUR"
ID_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
LEASE_FACTOR_PERCENT = {6: 108, 12: 100, 18: 98, 24: 96}
PET_DEPOSIT_SHARE_PERCENT = {"none": 0, "cat": 15, "dog": 25, "two_cats": 20}
FURNITURE_CHECK_CENTS = 14_500
PARKING_REMOTE_CENTS = 9_000
DAYPARTS = {"any": (8, 21), "morning": (8, 12), "afternoon": (12, 17), "evening": (17, 21)}
PAGE_SIZE = 3
VIEWING_HORIZON_DAYS = 28
LONGEST_NOTICE_DAYS = 365


class Building(NamedTuple):
    """Terms that all units of a building share."""

    district: str
    agency: str
    deposit_months: int
    admin_fee_cents: int
    parking_cents: int


class Unit(NamedTuple):
    """One flat to let; the rent is in whole euros a month."""

    listing_id: str
    building: str
    floor: int
    bedrooms: int
    furnished: bool
    area_m2: int
    rent: int
    free_from: date


BUILDINGS = {
    "Tannery Row": Building("Old Docks", "Kestrel Lettings", 2, 18_900, 8_500),
    "Saltworks Court": Building("Saltmarsh", "Harrow & Pell", 3, 12_500, 11_000),
}
UNITS = [
    Unit("LS-9CX4T", "Tannery Row", 1, 1, False, 48, 1120, date(2026, 8, 1)),
    Unit("LS-H3M7W", "Tannery Row", 2, 2, True, 69, 1540, date(2026, 9, 1)),
    Unit("LS-PQ82D", "Tannery Row", 3, 2, False, 71, 1425, date(2026, 8, 15)),
    Unit("LS-4VZKJ", "Tannery Row", 4, 2, False, 72, 1440, date(2026, 9, 1)),
    Unit("LS-7KQ2M", "Tannery Row", 5, 2, False, 74, 1465, date(2026, 9, 1)),
    Unit("LS-XN5RB", "Tannery Row", 5, 1, True, 46, 1210, date(2026, 8, 1)),
    Unit("LS-D8W3F", "Tannery Row", 5, 3, False, 96, 1890, date(2026, 9, 1)),
    Unit("LS-2JTG6", "Tannery Row", 6, 2, True, 78, 1695, date(2026, 9, 1)),
    Unit("LS-M6B9Y", "Saltworks Court", 0, 1, False, 44, 1060, date(2026, 8, 15)),
    Unit("LS-KT3V8", "Saltworks Court", 1, 0, True, 31, 905, date(2026, 9, 1)),
    Unit("LS-8HV2N", "Saltworks Court", 1, 1, False, 46, 1085, date(2026, 8, 15)),
    Unit("LS-W5HDQ", "Saltworks Court", 2, 1, False, 47, 1105, date(2026, 9, 1)),
    Unit("LS-3RFN9", "Saltworks Court", 3, 1, True, 49, 1245, date(2026, 9, 1)),
    Unit("LS-ZB7C4", "Saltworks Court", 3, 2, True, 66, 1510, date(2026, 9, 1)),
    Unit("LS-G2Y6P", "Saltworks Court", 4, 1, False, 49, 1150, date(2026, 8, 1)),
]
OTHER_BUILDINGS = (
    "Lantern Yard, Miller's Reach, Cooper Wharf, The Ropewalk, Gullwing House, "
    "Netmaker Lofts, Customs Square, Pilot House, Juniper Terrace, Copperfield Mews, "
    "The Foundry, Orchard Gate, Beacon Rise, Sailcloth Studios, Fuller's Yard, "
    "Granary Point, Northlight Mill, Seville Place, Chandler Court, Maltings East, "
    "Brickfield Lane, Harbourmaster House, Ivy Passage, Weavers Green"
).split(", ")


def _add_other_buildings() -> None:
    rng = Random(41_207)
    districts = ("Old Docks", "Saltmarsh", "Hillgate", "Riverside", "Station Quarter")
    agencies = ("Kestrel Lettings", "Harrow & Pell", "Averil Homes", "Quayline")
    for name in OTHER_BUILDINGS:
        BUILDINGS[name] = Building(
            rng.choice(districts),
            rng.choice(agencies),
            rng.choice((1, 2, 2, 3)),
            100 * rng.randrange(90, 240, 5),
            100 * rng.randrange(55, 140, 5),
        )
        base = rng.randrange(560, 900, 10)
        for _ in range(18):
            bedrooms, floor = rng.choice((0, 1, 1, 2, 2, 3)), rng.randrange(9)
            furnished, area = rng.random() < 0.4, 29 + 21 * bedrooms + rng.randrange(12)
            rent = base + 9 * area + 110 * furnished + 6 * floor
            free_from = date(2026, 8, 1) + timedelta(days=rng.randrange(0, 60, 5))
            code = "LS-" + "".join(rng.choices(ID_ALPHABET, k=5))
            UNITS.append(Unit(code, name, floor, bedrooms, furnished, area, rent, free_from))


_add_other_buildings()
UNITS_BY_ID = {unit.listing_id: unit for unit in UNITS}


def find_units(
    building: str,
    bedrooms: int,
    floor: int | None = None,
    furnished: bool | None = None,
    max_rent: int | None = None,
    page: int = 1,
) -> dict[str, Any]:
    """List the flats to let in one building that match every given filter, three a page."""
    name = next((b for b in BUILDINGS if b.casefold() == building.strip().casefold()), None)
    if name is None:
        raise LookupError(f"no building {building!r} with flats to let; give its full name")
    found = [
        unit
        for unit in UNITS
        if unit.building == name
        and unit.bedrooms == bedrooms
        and (floor is None or unit.floor == floor)
        and (furnished is None or unit.furnished == furnished)
        and (max_rent is None or unit.rent <= max_rent)
    ]
    found.sort(key=lambda unit: (unit.floor, unit.listing_id))
    return {
        "building": name,
        "district": BUILDINGS[name].district,
        "count": len(found),
        "page": page,
        "units": [
            {
                "listing_id": unit.listing_id,
                "floor": unit.floor,
                "area_m2": unit.area_m2,
                "furnished": unit.furnished,
                "monthly_rent": f"{unit.rent:,} {CURRENCY}",
                "free_from": unit.free_from.isoformat(),
            }
            for unit in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        ],
    }


def quote_move_in(
    listing_id: str, move_in_date: str, lease_months: int = 12, pet: str = "none", parking: bool = False
) -> dict[str, Any]:
    """Add up everything that is due before the keys are handed over."""
    unit, moving = _unit(listing_id), _day(move_in_date, "move_in_date")
    if moving < unit.free_from:
        raise ValueError(f"{listing_id} is free from {unit.free_from}; choose that day or a later one")
    if lease_months not in LEASE_FACTOR_PERCENT or pet not in PET_DEPOSIT_SHARE_PERCENT:
        raise ValueError("lease_months must be 6, 12, 18 or 24 and pet one of none, cat, dog, two_cats")
    terms = BUILDINGS[unit.building]
    rent_cents = unit.rent * LEASE_FACTOR_PERCENT[lease_months]
    days_in_month = calendar.monthrange(moving.year, moving.month)[1]
    days_left = days_in_month - moving.day + 1
    parking_cents = terms.parking_cents if parking else 0
    items = {
        "rent_to_month_end": round(rent_cents * days_left / days_in_month),
        "deposit": rent_cents * terms.deposit_months,
        "pet_deposit": round(rent_cents * PET_DEPOSIT_SHARE_PERCENT[pet] / 100),
        "parking": round(parking_cents * days_left / days_in_month),
        "parking_remote": PARKING_REMOTE_CENTS if parking else 0,
        "furniture_check": FURNITURE_CHECK_CENTS if unit.furnished else 0,
        "admin_fee": terms.admin_fee_cents,
    }
    return {
        "listing_id": unit.listing_id,
        "monthly_rent": _money(rent_cents),
        "items": {name: _money(cents) for name, cents in items.items() if cents},
        "total_due": _money(sum(items.values())),
    }


def next_viewing(
    listing_id: str, not_before: str, mode: str, daypart: str = "any"
) -> dict[str, Any]:
    """Find the first viewing of a flat that still has a place."""
    unit, first_day = _unit(listing_id), _day(not_before, "not_before")
    opening, closing = DAYPARTS[daypart]
    for offset in range(VIEWING_HORIZON_DAYS):
        day = first_day + timedelta(days=offset)
        chance, hour, minute, *_ = sha256(f"{unit.listing_id}/{day}/{mode}".encode()).digest()
        starts_at = 9 + hour % 11
        if chance % 5 < 4 and day.weekday() < 6 and opening <= starts_at < closing:
            return {
                "listing_id": unit.listing_id,
                "start": f"{day}T{starts_at:02d}:{minute % 6}0",
                "mode": mode,
                "duration_minutes": 20 if mode == "video" else 30,
                "held_by": BUILDINGS[unit.building].agency,
            }
    raise LookupError(
        f"no such viewing within {VIEWING_HORIZON_DAYS} days of {not_before}; try another daypart or mode"
    )


def _unit(listing_id: str) -> Unit:
    unit = UNITS_BY_ID.get(listing_id.strip().upper())
    if unit is None:
        raise LookupError(f"no listing {listing_id!r}; listing ids come from find_units")
    return unit


def _day(value: str, field: str) -> date:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{field} must be a date such as 2026-11-03, not {value!r}") from None
    if not 0 <= (day - date.today()).days <= LONGEST_NOTICE_DAYS:
        raise ValueError(f"{field} {value} must lie between today and a year ahead")
    return day


def _money(cents: int) -> str:
    return f"{cents / 100:,.2f} {CURRENCY}"
