"""Booking office of a small-group tour operator: bookings, departures, excursions, statements.

Stateful: moving a booking opens a new reference and closes the old one, and the statement follows
every change. The tour of the question is written out; the rest is drawn once from a fixed generator.
"""

from datetime import date, timedelta
from hashlib import sha256
from random import Random
from typing import Any

BASE_CURRENCY = "EUR"
RATES = {"EUR": 1.0, "CHF": 0.94, "GBP": 0.86, "NOK": 11.62, "USD": 1.09}
ROOM_SUPPLEMENT = {"single": 310, "double": 0, "twin": 0, "triple": -35}
CHANGE_FEE = 40
LATE_CHANGE_FEE = 95
LATE_CHANGE_DAYS = 60
HOTEL_PICKUP = 7
DEPOSIT_PER_PERSON = 350

# tour: (country, nights, price a person)
TOURS = {
    "Fjords and Stave Churches": ("Norway", 8, 1_690),
    "Alentejo Slow Roads": ("Portugal", 7, 1_240),
    "Julian Alps Hut to Hut": ("Slovenia", 6, 1_080),
    "Hebrides by Ferry": ("Scotland", 9, 1_585),
    "Sicily Table and Temple": ("Italy", 7, 1_360),
    "Cyclades in a Week": ("Greece", 7, 1_295),
    "Atlas and Coast": ("Morocco", 10, 1_450),
    "Baltic Amber Road": ("Latvia", 8, 1_150),
    "Tatra Ridge Walks": ("Slovakia", 6, 890),
    "Azores Craters": ("Portugal", 8, 1_530),
}
LANGUAGES = ("English", "German", "French", "Dutch")
ACTIVITIES = ("culture", "food", "hiking", "water", "wellness", "wildlife")
EXCURSION_WORDS = {
    "culture": ("Old town at dusk", "Weaver's workshop"),
    "food": ("Market and kitchen", "Cellar tasting"),
    "hiking": ("Sunrise ridge", "Waterfall loop"),
    "water": ("Sea kayak morning", "Lake rowing hour"),
    "wellness": ("Thermal baths", "Yoga on the terrace"),
    "wildlife": ("Puffin boat", "Eagle hide"),
}
FIRST_NAMES = (
    "Amir Beata Casper Dorthe Emeka Frida Goran Hilde Ines Jules Katja Lorenz Mirela Nadia Oskar"
).split()
LAST_NAMES = (
    "Arvidsen Bellini Cordeiro Dragan Eklund Fabre Grunwald Hoekstra Iversen Jurić Keller Lindgren"
).split()

departures: dict[str, dict[str, Any]] = {}
excursions: dict[str, dict[str, Any]] = {}
bookings: dict[str, dict[str, Any]] = {}


def _add_departure(code: str, tour: str, day: date, language: str, seats: int, price: int) -> None:
    departures[code] = {"tour": tour, "date": day, "language": language, "seats": seats, "price": price}


def _add_booking(reference: str, lead: str, departure: str, party: int, room: str) -> None:
    bookings[reference] = {
        "lead": lead,
        "departure": departure,
        "party": party,
        "charges": {"tour": party * (departures[departure]["price"] + ROOM_SUPPLEMENT[room])},
        "paid": party * DEPOSIT_PER_PERSON,
        "vouchers": [],
        "moved_to": None,
    }


def _open_office() -> None:
    rng = Random(52_771)
    _add_departure("FSC-2K7D", "Fjords and Stave Churches", date(2026, 5, 16), "English", 2, 1_690)
    _add_departure("FSC-8W3M", "Fjords and Stave Churches", date(2026, 6, 6), "German", 9, 1_760)
    _add_departure("FSC-5Q9T", "Fjords and Stave Churches", date(2026, 6, 13), "English", 2, 1_760)
    _add_departure("FSC-7H4X", "Fjords and Stave Churches", date(2026, 6, 20), "English", 8, 1_815)
    _add_departure("FSC-3N6B", "Fjords and Stave Churches", date(2026, 6, 27), "French", 6, 1_840)
    _add_departure("FSC-9R2J", "Fjords and Stave Churches", date(2026, 7, 11), "English", 7, 1_895)
    _add_booking("TB-61937", "Signe Aaltonen", "FSC-2K7D", 3, "triple")
    _add_booking("TB-60412", "Rolf Hagedorn", "FSC-2K7D", 2, "double")
    _add_booking("TB-62250", "Mireille Costa", "FSC-7H4X", 4, "twin")
    for tour, (_, _, price) in TOURS.items():
        letters = "".join(word[0] for word in tour.split())[:3].upper()
        if tour != "Fjords and Stave Churches":
            for week in range(22):
                day = date(2026, 4, 18) + timedelta(days=7 * week)
                code = f"{letters}-{rng.randrange(10)}{rng.choice('BDGK')}{week:02d}"
                listed = price + rng.randrange(0, 300, 15)
                _add_departure(code, tour, day, rng.choice(LANGUAGES), rng.randrange(12), listed)
        for activity, titles in EXCURSION_WORDS.items():
            for title in titles:
                code = f"XC{rng.randrange(1_000, 10_000)}{letters[-1]}"
                youngest, price_each = rng.choice((0, 6, 8, 12, 14, 16)), rng.randrange(28, 120)
                excursions[code] = {
                    "tour": tour,
                    "activity": activity,
                    "title": title,
                    "youngest": youngest,
                    "price": price_each,
                }
    own_water = [
        c for c, e in excursions.items() if e["tour"].startswith("Fjords") and e["activity"] == "water"
    ]
    excursions[own_water[0]] |= {"youngest": 14, "price": 92}
    excursions[own_water[1]] |= {"youngest": 7, "price": 64}
    _add_booking("TB-58846", "Signe Aaltonen", list(departures)[-3], 2, "twin")
    codes = list(departures)
    for number in rng.sample(range(40_000, 58_000), 420):
        lead = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        _add_booking(
            f"TB-{number}",
            lead,
            rng.choice(codes[6:]),
            rng.randrange(1, 6),
            rng.choice(list(ROOM_SUPPLEMENT)),
        )


_open_office()


def find_booking(lead_traveller: str, departure_date: str) -> dict[str, Any]:
    """Find a booking by its lead traveller and its day of departure."""
    day = _day(departure_date)
    for reference, booking in bookings.items():
        departure = departures[booking["departure"]]
        if booking["lead"].casefold() == lead_traveller.strip().casefold() and departure["date"] == day:
            return {
                "booking_reference": reference,
                "tour": departure["tour"],
                "party_size": booking["party"],
                "status": "moved" if booking["moved_to"] else "confirmed",
                "moved_to": booking["moved_to"],
            }
    raise LookupError("no booking of that lead traveller departs that day; check the name as on the invoice")


def list_departures(booking_reference: str, month: str, guide_language: str) -> dict[str, Any]:
    """List the departures in a month that a booking can move to, with room for the whole party."""
    booking, language = _booking(booking_reference), guide_language.strip().title()
    if language not in LANGUAGES:
        raise LookupError(f"no guide speaks {guide_language!r}; give the English name of one language")
    tour = departures[booking["departure"]]["tour"]
    return {
        "tour": tour,
        "departures": [
            {
                "departure_code": code,
                "date": departure["date"].isoformat(),
                "guide_language": departure["language"],
                "seats_left": departure["seats"],
                "price_per_person": _money(departure["price"]),
            }
            for code, departure in departures.items()
            if departure["tour"] == tour
            and code != booking["departure"]
            and f"{departure['date']:%Y-%m}" == month.strip()
            and departure["seats"] >= booking["party"]
            and departure["language"] == language
        ],
    }


def move_booking(booking_reference: str, departure_code: str, room_type: str = "twin") -> dict[str, Any]:
    """Move a booking to another departure of the same tour; it gets a new reference."""
    booking, departure = _booking(booking_reference), departures.get(departure_code)
    old = departures[booking["departure"]]
    if departure is None or departure["tour"] != old["tour"] or departure is old:
        raise LookupError(f"{departure_code!r} is no other departure of this tour; see list_departures")
    if departure["seats"] < booking["party"]:
        raise ValueError(f"{departure_code} has no room for the whole party; see list_departures")
    is_late = (old["date"] - date.today()).days < LATE_CHANGE_DAYS
    fee = booking["party"] * (LATE_CHANGE_FEE if is_late else CHANGE_FEE)
    reference = "TB-M" + _code(f"{booking_reference}/{departure_code}", 6)
    _add_booking(reference, booking["lead"], departure_code, booking["party"], room_type)
    bookings[reference]["charges"]["change_fee"] = fee
    bookings[reference]["paid"] = booking["paid"]
    booking["moved_to"] = reference
    old["seats"] += booking["party"]
    departure["seats"] -= booking["party"]
    difference = bookings[reference]["charges"]["tour"] - booking["charges"]["tour"]
    return {
        "new_booking_reference": reference,
        "departure_date": departure["date"].isoformat(),
        "room_type": room_type,
        "fare_difference": _money(difference),
        "change_fee": _money(fee),
    }


def search_excursions(
    booking_reference: str, activity: str, youngest_age: int = 18, max_price: int | None = None
) -> dict[str, Any]:
    """List the excursions of one kind that everyone in the party may join."""
    tour = departures[_booking(booking_reference)["departure"]]["tour"]
    return {
        "excursions": [
            {
                "excursion_code": code,
                "title": excursion["title"],
                "from_age": excursion["youngest"],
                "price_per_person": _money(excursion["price"]),
            }
            for code, excursion in excursions.items()
            if excursion["tour"] == tour
            and excursion["activity"] == activity
            and excursion["youngest"] <= youngest_age
            and (max_price is None or excursion["price"] <= max_price)
        ]
    }


def add_excursion(
    booking_reference: str, excursion_code: str, participants: int, pickup: str = "meeting_point"
) -> dict[str, Any]:
    """Add an excursion to a booking; it goes on the statement."""
    booking, excursion = _booking(booking_reference), excursions.get(excursion_code)
    if excursion is None or excursion["tour"] != departures[booking["departure"]]["tour"]:
        raise LookupError(f"no excursion {excursion_code!r} on this tour; see search_excursions")
    if participants > booking["party"]:
        raise ValueError(f"the booking is for {booking['party']} people; participants cannot be more")
    price = participants * (excursion["price"] + (HOTEL_PICKUP if pickup == "hotel" else 0))
    voucher = "V" + _code(f"{booking_reference}/{excursion_code}/{participants}", 7)
    if voucher in booking["vouchers"]:
        raise ValueError(f"{excursion_code} is already on the booking for that many participants")
    booking["vouchers"].append(voucher)
    booking["charges"][voucher] = price
    return {"voucher": voucher, "title": excursion["title"], "pickup": pickup, "charged": _money(price)}


def get_statement(booking_reference: str, currency: str = "EUR") -> dict[str, Any]:
    """Show what a booking costs, what is paid and what is still due."""
    booking = _booking(booking_reference)
    departs = departures[booking["departure"]]["date"]
    return {
        "charges": {item: _money(amount, currency) for item, amount in booking["charges"].items()},
        "paid": _money(booking["paid"], currency),
        "balance_due": _money(sum(booking["charges"].values()) - booking["paid"], currency),
        "pay_by": (departs - timedelta(days=28)).isoformat(),
    }


def _booking(reference: str) -> dict[str, Any]:
    booking = bookings.get(reference)
    if booking is None:
        raise LookupError(f"no booking {reference!r}; references come from find_booking or move_booking")
    if booking["moved_to"]:
        raise ValueError(f"booking {reference} was moved and is closed; use its new reference")
    return booking


def _day(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"departure_date must be a date such as 2026-08-22, not {value!r}") from None


def _code(text: str, length: int) -> str:
    return str(int(sha256(text.encode()).hexdigest(), 16))[-length:]


def _money(amount: int, currency: str = BASE_CURRENCY) -> str:
    return f"{amount * RATES[currency]:,.2f} {currency}"
