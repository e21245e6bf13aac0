"""Customer service of a railway: reservations, live train status, extras, seats and receipts.

The state of an episode is what has been bought: extras and seat changes are charged to a wallet, a card
or a voucher, and the receipt and later charges see it.
"""

import random
from datetime import date as Date
from datetime import timedelta
from hashlib import sha256

TODAY = Date(2026, 6, 19)
FIRST_DAY, DAYS = Date(2026, 6, 1), 60
PEAK_WEEKDAYS, PEAK_FACTOR = (4, 6), 1.25
CATEGORY_FACTOR = {"RJ": 1.3, "EC": 1.0, "IC": 0.85, "EN": 1.6}
ITEM_FEE = {
    "bag": 7.50,
    "bicycle": 11.00,
    "e_bike": 14.50,
    "skis": 8.00,
    "pet_carrier": 9.00,
    "surfboard": 21.00,
    "pram": 4.00,
    "cello": 17.00,
}
FURTHER_ITEM_SHARE = 0.8
POSITION_FEE = {"aisle": 0.0, "window": 1.50, "table": 2.20, "solo": 3.40}
ZONE_FEE = {"standard": 0.0, "family": 1.00, "quiet": 3.10, "business": 16.00}
PER_EURO = {
    "EUR": 1.0,
    "CHF": 0.94,
    "CZK": 24.6,
    "HUF": 391.0,
    "PLN": 4.26,
    "GBP": 0.85,
    "DKK": 7.46,
    "USD": 1.13,
}
# Stations of each line with the minutes from the one before.
LINES = (
    (("Wien Hbf", 0), ("Graz Hbf", 156), ("Maribor", 55), ("Ljubljana", 131), ("Trieste", 142)),
    (("Praha hl.n.", 0), ("Brno hl.n.", 158), ("Bratislava hl.st.", 91), ("Budapest-Keleti", 147)),
    (("Zurich HB", 0), ("Innsbruck Hbf", 212), ("Salzburg Hbf", 118), ("Wien Hbf", 144)),
    (("Munchen Hbf", 0), ("Salzburg Hbf", 104), ("Villach Hbf", 153), ("Ljubljana", 112)),
    (("Munchen Hbf", 0), ("Innsbruck Hbf", 107), ("Verona P.N.", 214), ("Venezia S.L.", 72)),
    (("Wien Hbf", 0), ("Brno hl.n.", 88), ("Ostrava hl.n.", 96), ("Krakow Gl.", 137)),
    (("Budapest-Keleti", 0), ("Wien Hbf", 161), ("Linz Hbf", 76), ("Passau Hbf", 65)),
    (("Zagreb Gl.k.", 0), ("Ljubljana", 141), ("Villach Hbf", 99), ("Salzburg Hbf", 151)),
)

STATIONS = {name.casefold(): name for line in LINES for name, _ in line}

# train|line index|direction|departure of its first station
_CORE_TRAINS = """
EC 151|0|1|06:58
RJ 542|0|-1|13:11
RJ 533|0|1|14:58
"""
# reservation|customer|status|outbound train, date, from, to|return train, date, from, to
_CORE_RESERVATIONS = """
K7WD2M|PX-30877|confirmed|EC 151,2026-06-19,Graz Hbf,Ljubljana|RJ 542,2026-06-21,Ljubljana,Graz Hbf
B4QF9T|PX-30877|travelled|RJ 533,2026-06-05,Graz Hbf,Ljubljana|RJ 542,2026-06-07,Ljubljana,Graz Hbf
H2ZC6N|PX-30877|confirmed|RJ 533,2026-07-10,Wien Hbf,Trieste|RJ 542,2026-07-12,Trieste,Wien Hbf
"""
_CORE_WALLETS = {"PX-30877": 61.40}


def _schedule_trains(rng: random.Random) -> dict:
    """Give every line about a dozen trains, each with its stations and planned departures."""
    trains = {}
    for row in _CORE_TRAINS.strip().splitlines():
        train, line, direction, first = row.split("|")
        trains[train] = _calls(LINES[int(line)], int(direction), _minutes(first))
    for line in LINES:
        for _ in range(12):
            train = f"{rng.choice([*CATEGORY_FACTOR])} {rng.randint(160, 999)}"
            first = 5 * rng.randint(60, 200)
            trains.setdefault(train, _calls(line, rng.choice((1, -1)), first))
    return trains


def _calls(line: tuple, direction: int, first: int) -> dict:
    """Map each station of a train, in order, to its planned departure in minutes after midnight."""
    stations = [name for name, _ in line][::direction]
    gaps = [gap for _, gap in line[1:]][::direction]
    departures = [first + sum(gaps[:i]) for i in range(len(stations))]
    return dict(zip(stations, departures, strict=True))


def _book_trips(rng: random.Random) -> dict:
    """Book 600 round trips on one line each."""
    by_route = {}
    for train, calls in TRAINS.items():
        by_route.setdefault(tuple(calls), []).append(train)
    numbers = [t for t, calls in TRAINS.items() if tuple(calls)[::-1] in by_route]
    letters = "BCDFGHJKMNPQRTVWXZ23456789"
    reservations = {}
    for _ in range(600):
        out = rng.choice(numbers)
        route = tuple(TRAINS[out])
        back = rng.choice(by_route[route[::-1]])
        start, end = sorted(rng.sample(range(len(route)), 2))
        origin, destination = route[start], route[end]
        day = FIRST_DAY + timedelta(days=rng.randint(8, DAYS - 10))
        reservations["".join(rng.choices(letters, k=6))] = {
            "customer": f"PX-{rng.randint(30000, 30400)}",
            "status": "travelled" if day < TODAY else rng.choice(("confirmed", "cancelled")),
            "outbound": _leg(rng, out, str(day), origin, destination),
            "return": _leg(rng, back, str(day + timedelta(days=4)), destination, origin),
            "charges": [],
        }
    for row in _CORE_RESERVATIONS.strip().splitlines():
        reservation_id, customer, status, *legs = row.split("|")
        outbound, inbound = (_leg(rng, *leg.split(",")) for leg in legs)
        reservations[reservation_id] = {
            "customer": customer,
            "status": status,
            "outbound": outbound,
            "return": inbound,
            "charges": [],
        }
    return reservations


def _leg(rng: random.Random, train: str, day: str, origin: str, destination: str) -> dict:
    seat = f"coach {rng.randint(21, 29)} seat {rng.randint(11, 98)}"
    return {"train": train, "date": day, "from": origin, "to": destination, "seat": seat}


def _minutes(text: str) -> int:
    return 60 * int(text[:2]) + int(text[3:])


_rng = random.Random(1851)
TRAINS = _schedule_trains(_rng)
RESERVATIONS = _book_trips(_rng)
WALLETS = {r["customer"]: _rng.randint(100, 3000) / 20 for r in RESERVATIONS.values()}
WALLETS |= _CORE_WALLETS


def find_reservations(customer_id: str, destination: str, include_past: bool = False) -> dict:
    """List a customer's round trips to a station, upcoming ones first."""
    if customer_id not in WALLETS:
        raise LookupError(f"no customer {customer_id!r}; ids are PX- and five digits")
    station = STATIONS.get(destination.strip().casefold())
    if station is None:
        raise LookupError(f"no station {destination!r}; give its name as timetables write it")
    statuses = ("confirmed", "travelled") if include_past else ("confirmed",)
    found = [
        {
            "reservation_id": reservation_id,
            "status": r["status"],
            "outbound": r["outbound"],
            "return": r["return"],
        }
        for status in statuses
        for reservation_id, r in RESERVATIONS.items()
        if r["customer"] == customer_id
        and r["status"] == status
        and r["outbound"]["to"] == station
    ]
    return {"customer_id": customer_id, "destination": station, "reservations": found}


def get_train_status(train: str, date: str, station: str) -> dict:
    """Tell when and from which platform a train really leaves a station on a day."""
    if train not in TRAINS:
        raise LookupError(f"no train {train!r}; give its category and number")
    calls = TRAINS[train]
    if station not in calls:
        raise LookupError(f"{train} does not stop at {station!r}; give the station as timetables write it")
    day = _operating_day(date)
    rng = random.Random(f"{train}/{day}")
    delay = rng.choice((0, 0, 3, 6, 11, 17, 24))
    for stop in calls:
        delay = max(0, delay + rng.randint(-3, 6))
        platform = f"{rng.randint(1, 14)}{rng.choice('ABCDEF')}"
        if stop == station:
            break
    return {
        "train": train,
        "date": str(day),
        "station": station,
        "planned_departure": _clock(calls[station]),
        "expected_departure": _clock(calls[station] + delay),
        "delay": f"{delay} min",
        "platform": platform,
    }


def add_extra(
    reservation_id: str, leg: str, item: str, quantity: int = 1, pay_with: str = "card"
) -> dict:
    """Add luggage, an animal or a vehicle to one leg of a trip and charge the fee."""
    reservation = _reservation(reservation_id)
    if any(what.endswith(f" x {item}, {leg}") for what, _, _ in reservation["charges"]):
        raise ValueError(f"{item} has already been added to the {leg} leg; it can be added once")
    first = ITEM_FEE[item] * _leg_factor(reservation[leg])
    fee = round(first * (1 + FURTHER_ITEM_SHARE * (quantity - 1)), 2)
    _charge(reservation, f"{quantity} x {item}, {leg}", fee, pay_with)
    return {
        "reservation_id": reservation_id,
        "leg": leg,
        "train": reservation[leg]["train"],
        "item": item,
        "quantity": quantity,
        "fee": f"{fee:.2f} EUR",
        "paid_with": pay_with,
    }


def change_seat(
    reservation_id: str,
    leg: str,
    position: str,
    zone: str = "standard",
    facing: str = "any",
    pay_with: str = "card",
) -> dict:
    """Move the passenger of one leg to a free seat of the wished kind and charge the fee."""
    reservation = _reservation(reservation_id)
    booked = reservation[leg]
    fee = round((POSITION_FEE[position] + ZONE_FEE[zone]) * _leg_factor(booked), 2)
    # Which seat is free depends on the train, the day and the wish alone.
    wish = f"{booked['train']}/{booked['date']}/{position}/{zone}/{facing}"
    number = int(sha256(f"{wish}/{reservation_id}".encode()).hexdigest()[:8], 16)
    previous, seat = booked["seat"], f"coach {21 + number % 9} seat {11 + number // 9 % 88}"
    if seat == previous:
        raise ValueError(f"the passenger already has a seat of this kind on the {leg} leg")
    _charge(reservation, f"seat: {position}, {zone}, {leg}", fee, pay_with)
    booked["seat"] = seat
    return {
        "reservation_id": reservation_id,
        "leg": leg,
        "train": booked["train"],
        "previous_seat": previous,
        "new_seat": seat,
        "fee": f"{fee:.2f} EUR",
        "paid_with": pay_with,
    }


def get_receipt(reservation_id: str, currency: str = "EUR") -> dict:
    """List what was bought for a trip after booking, and what is left in the customer's wallet."""
    reservation = _reservation(reservation_id)
    total = sum(amount for _, amount, _ in reservation["charges"])
    return {
        "reservation_id": reservation_id,
        "charges": [
            {"what": what, "amount": _money(amount, currency), "paid_with": source}
            for what, amount, source in reservation["charges"]
        ],
        "charges_total": _money(total, currency),
        "wallet_left": _money(WALLETS[reservation["customer"]], currency),
    }


def _reservation(reservation_id: str) -> dict:
    if reservation_id not in RESERVATIONS:
        raise LookupError(f"no reservation {reservation_id!r}; ids come from find_reservations")
    reservation = RESERVATIONS[reservation_id]
    if reservation["status"] != "confirmed":
        raise ValueError(f"reservation {reservation_id} is {reservation['status']}, not open")
    return reservation


def _charge(reservation: dict, what: str, fee: float, pay_with: str) -> None:
    customer = reservation["customer"]
    if pay_with == "wallet":
        if fee > WALLETS[customer]:
            raise ValueError("the wallet does not cover the fee; pay with card or voucher")
        WALLETS[customer] = round(WALLETS[customer] - fee, 2)
    reservation["charges"].append((what, fee, pay_with))


def _leg_factor(leg: dict) -> float:
    is_peak = Date.fromisoformat(leg["date"]).weekday() in PEAK_WEEKDAYS
    return CATEGORY_FACTOR[leg["train"][:2]] * (PEAK_FACTOR if is_peak else 1.0)


def _operating_day(text: str) -> Date:
    try:
        day = Date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"date {text!r} is not a date written as YYYY-MM-DD") from None
    if not FIRST_DAY <= day < FIRST_DAY + timedelta(days=DAYS):
        raise ValueError(f"status is kept for {DAYS} days from {FIRST_DAY}, not for {text}")
    return day


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def _money(euros: float, currency: str) -> str:
    return f"{euros * PER_EURO[currency]:,.2f} {currency}"
