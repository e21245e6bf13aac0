"""A cinema chain's box office: showings, seats together, promotions, holds and quotes.

One film at one cinema is written by hand, the other showings are generated under a fixed seed; which
seats are sold follows from the showing's id. The holds of an episode are the only state.
"""

import datetime as dt
from hashlib import sha256
from random import Random
from typing import NamedTuple

PAGE_SIZE = 3
MAX_BLOCKS = 3
ROWS = "ABCDEFGHIJKL"
SEATS_PER_ROW = 16
ZONES = {"front": "ABCD", "middle": "EFGH", "back": "IJKL"}
STEP_FREE_ROWS = "DH"
SOLD_SHARE = 0.22
FARE_PERCENT = {"student": 85, "senior": 80, "child": 65, "adult": 100}
HANDLING_CENTS = {"e-ticket": 95, "kiosk": 60, "box office": 0}  # per ticket
TICKET_TAX_PERCENT, SNACK_TAX_PERCENT = 9, 21
SNACK_CENTS = {
    "small popcorn": 420, "medium popcorn": 575, "large popcorn": 690, "nachos": 640,
    "small lemonade": 310, "large lemonade": 455, "still water": 270, "ice cream": 385,
}  # fmt: skip


class _Promotion(NamedTuple):
    code: str
    applies_to: str
    percent: int
    membership: str
    min_party: int


class _Show(NamedTuple):
    show_id: str
    cinema: str
    film: str
    starts: dt.datetime
    screen_format: str
    audio: str
    hall: int
    adult_cents: int


_CINEMA, _FILM = "Meridian Quayside", "The Salt Cartographers"


def _written(show_id: str, starts: str, screen_format: str, audio: str, *rest: int) -> _Show:
    return _Show(show_id, _CINEMA, _FILM, dt.datetime.fromisoformat(starts), screen_format, audio, *rest)


_WRITTEN_SHOWS = (
    _written("SH58120417", "2026-04-18T14:10", "Dolby", "original", 11, 1310),
    _written("SH58120433", "2026-04-18T16:45", "Dolby", "original", 9, 1420),
    _written("SH58120440", "2026-04-18T17:05", "Dolby", "dubbed", 7, 1435),
    _written("SH58120458", "2026-04-18T17:20", "2D", "original", 3, 1265),
    _written("SH58120462", "2026-04-18T17:35", "Dolby", "dubbed", 11, 1480),
    _written("SH58120466", "2026-04-18T17:45", "IMAX", "original", 1, 1790),
    _written("SH58120471", "2026-04-18T17:50", "Dolby", "dubbed", 10, 1465),
    _written("SH58120477", "2026-04-18T18:00", "2D", "original", 5, 1250),
    _written("SH58120484", "2026-04-18T18:15", "Dolby", "original", 12, 1545),
    _written("SH58120491", "2026-04-18T20:50", "Dolby", "original", 9, 1590),
    _written("SH58120495", "2026-04-18T21:05", "IMAX", "original", 1, 1825),
    _written("SH58119380", "2026-04-17T18:05", "Dolby", "original", 11, 1445),
    _written("SH58121550", "2026-04-19T18:30", "Dolby", "original", 9, 1495),
)
_WRITTEN_PROMOTIONS = (
    _Promotion("QS4712", "tickets", 10, "none", 2),
    _Promotion("QF9038", "tickets", 18, "silver", 4),
    _Promotion("QK5590", "tickets", 22, "silver", 6),
    _Promotion("QG2265", "tickets", 25, "gold", 2),
    _Promotion("QD8143", "snacks", 30, "silver", 2),
)
_PLACES = ("Palisade", "Meridian", "Lantern Yard", "Orpheum", "Gasworks")
_KINDS = ("Quayside", "Central", "Cineplex")
_FILMS = (
    *("The Salt Cartographers", "Paper Comets", "Ninth Tide", "A Lodger in Winter", "Kestrel Line"),
    *("The Borrowed Orchard", "Static Bloom", "Low Sun Over Varde", "Clockmaker's Alibi", "Glass Ferry"),
)


def _generated_shows() -> list[_Show]:
    rng = Random(20260418)
    runs = [(f"{place} {kind}", film) for place in _PLACES for kind in _KINDS for film in rng.sample(_FILMS, 6)]
    return [
        _Show(
            f"SH{rng.randrange(60_000_000, 99_999_999)}",
            cinema,
            film,
            dt.datetime(2026, 4, day, hour, rng.randrange(0, 60, 5)),
            rng.choice(("2D", "Dolby", "IMAX")),
            rng.choice(("original", "dubbed")),
            rng.randint(1, 14),
            rng.randrange(980, 1890, 5),
        )
        for cinema, film in runs
        if (cinema, film) != (_CINEMA, _FILM)
        for day in range(16, 22)
        for hour in rng.sample(range(11, 23), 2)
    ]


_SHOWS = {show.show_id: show for show in (*_WRITTEN_SHOWS, *_generated_shows())}
_CINEMAS = {show.cinema for show in _SHOWS.values()}
_TITLES = {title.casefold(): title for title in _FILMS}
_holds: dict[str, dict[str, dt.datetime]] = {}  # show id -> seats held, each until when


def find_showings(
    cinema: str,
    film: str,
    date: str,
    not_before: str = "00:00",
    screen_format: str = "any",
    audio: str = "any",
    page: int = 1,
) -> dict[str, object]:
    """List a film's showings at one cinema on one day in order of time, three a page."""
    if cinema not in _CINEMAS:
        raise LookupError(f"no cinema is called {cinema!r}; give its full name without the city")
    title = _TITLES.get(film.strip().casefold())
    if title is None:
        raise LookupError(f"no film is called {film!r}; give its full title")
    try:
        day = dt.date.fromisoformat(date)
    except ValueError:
        raise ValueError(f"{date!r} is not a date; write it as YYYY-MM-DD") from None
    found = [
        show
        for show in _SHOWS.values()
        if (show.cinema, show.film, show.starts.date()) == (cinema, title, day)
        and f"{show.starts:%H:%M}" >= not_before
        and screen_format in ("any", show.screen_format)
        and audio in ("any", show.audio)
    ]
    found.sort(key=lambda show: show.starts)
    return {
        "film": title,
        "date": str(day),
        "total": len(found),
        "page": page,
        "showings": [
            dict(show_id=show.show_id, starts=f"{show.starts:%H:%M}", format=show.screen_format, audio=show.audio)
            for show in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        ],
    }


def find_seats_together(show_id: str, count: int, zone: str = "any", step_free: bool = False) -> dict[str, object]:
    """Find free seats side by side; the blocks closest to the middle of their row come first."""
    show = _show(show_id)
    free = _free_seats(show)
    blocks = sorted(
        (abs(2 * first + count - SEATS_PER_ROW - 2) / 2, f"{row}{first}-{row}{first + count - 1}")
        for row in ZONES.get(zone, ROWS)
        if not step_free or row in STEP_FREE_ROWS
        for first in range(1, SEATS_PER_ROW - count + 2)
        if all(f"{row}{n}" in free for n in range(first, first + count))
    )
    return {
        "show_id": show_id,
        "count": count,
        "free_seats": len(free),
        "blocks": [
            {"seats": name, "place": f"Hall {show.hall}, {name}", "seats_off_centre": offset}
            for offset, name in blocks[:MAX_BLOCKS]
        ],
    }


def list_promotions(show_id: str, membership: str, party_size: int) -> dict[str, object]:
    """List the promotions that a party can use for a showing."""
    show = _show(show_id)
    return {
        "show_id": show_id,
        "promotions": [
            {"code": p.code, "applies_to": p.applies_to, "discount": f"{p.percent} %"}
            for p in _promotions(show)
            if p.membership in ("none", membership) and party_size >= p.min_party
        ],
    }


def hold_seats(show_id: str, seats: str, holder: str, minutes: int = 10) -> dict[str, object]:
    """Hold a block of free seats under a name; held seats are no longer offered."""
    show = _show(show_id)
    names = _block(seats)
    taken = [name for name in names if name not in _free_seats(show)]
    if taken:
        raise ValueError(f"not free any more: {', '.join(taken)}; use find_seats_together again")
    until = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(minutes=minutes)
    _holds.setdefault(show_id, {}).update(dict.fromkeys(names, until))
    code = sha256(f"{show_id}|{seats}|{holder.casefold()}".encode()).hexdigest()[:8].upper()
    return {"hold_code": f"HLD-{code}", "show_id": show_id, "seats": names, "held_until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}


def quote_order(
    show_id: str,
    seats: str,
    tickets: list[str],
    snacks: list[dict[str, str | int]] | None = None,
    promo_code: str = "",
    delivery: str = "e-ticket",
) -> dict[str, object]:
    """Price tickets and snacks for seats that are free or held, with promotion, fees and tax."""
    show = _show(show_id)
    names = _block(seats)
    sold = [name for name in names if name not in _free_seats(show) | _held(show_id)]
    if sold:
        raise ValueError(f"already sold: {', '.join(sold)}; use find_seats_together")
    if len(tickets) != len(names):
        raise ValueError(f"{seats} has {len(names)} seats, but {len(tickets)} tickets are listed")
    usable = [p for p in _promotions(show) if p.code == promo_code and len(tickets) >= p.min_party]
    off = {"tickets": 0, "snacks": 0} | {p.applies_to: p.percent for p in usable}
    ticket_cents = sum(show.adult_cents * FARE_PERCENT[t] // 100 for t in tickets)
    snack_cents = sum(SNACK_CENTS[str(s["item"])] * int(s["quantity"]) for s in snacks or [])
    ticket_cents -= ticket_cents * off["tickets"] // 100
    snack_cents -= snack_cents * off["snacks"] // 100
    fees = HANDLING_CENTS[delivery] * len(tickets)
    tax = ((ticket_cents + fees) * TICKET_TAX_PERCENT + snack_cents * SNACK_TAX_PERCENT + 50) // 100
    return {
        "show_id": show_id,
        "seats": seats,
        "promotion": "applied" if usable else "not valid here" if promo_code else "none",
        "tickets": _euros(ticket_cents),
        "snacks": _euros(snack_cents),
        "fees": _euros(fees),
        "tax": _euros(tax),
        "total": _euros(ticket_cents + snack_cents + fees + tax),
    }


def _show(show_id: str) -> _Show:
    try:
        return _SHOWS[show_id]
    except KeyError:
        raise LookupError(f"no showing has the id {show_id!r}; use find_showings first") from None


def _free_seats(show: _Show) -> set[str]:
    rng = Random(show.show_id)
    free = {f"{r}{n}" for r in ROWS for n in range(1, SEATS_PER_ROW + 1) if rng.random() > SOLD_SHARE}
    return free - _held(show.show_id)


def _held(show_id: str) -> set[str]:
    """Seats whose hold has not run out."""
    now = dt.datetime.now(dt.UTC)
    return {name for name, until in _holds.get(show_id, {}).items() if now < until}


def _block(seats: str) -> list[str]:
    """Expand ``C4-C6`` to its seats."""
    first, _, last = seats.partition("-")
    numbers = range(int(first[1:]), int(last[1:] or first[1:]) + 1)
    if first[0] != last[:1] or not numbers or numbers[-1] > SEATS_PER_ROW:
        raise ValueError(f"{seats!r} is no block of one row; write it like C4-C6")
    return [f"{first[0]}{n}" for n in numbers]


def _promotions(show: _Show) -> tuple[_Promotion, ...]:
    if show.show_id == "SH58120484":
        return _WRITTEN_PROMOTIONS
    rng = Random(f"{show.show_id} promotions")
    return tuple(
        _Promotion(
            f"Q{rng.choice('BHJMNPT')}{rng.randrange(1000, 9999)}",
            rng.choice(("tickets", "snacks")),
            rng.randrange(5, 30),
            membership,
            rng.randint(1, 4),
        )
        for membership in ("none", "silver", "silver", "gold")
    )


def _euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"
