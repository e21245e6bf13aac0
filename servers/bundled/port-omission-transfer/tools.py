"""Customer desk of a container line: bookings, port calls, feeder sailings, transfer quotes.

The state of an episode is the set of quotes: a transfer can only be confirmed from an open quote.
"""

import random
from datetime import date, timedelta
from hashlib import sha256

EPOCH = date(2026, 3, 2)
CONTAINERS = ("20DC", "40DC", "40HC", "45HC", "20RF", "40RH", "20OT", "40FR")
REEFERS = ("20RF", "40RH")
INCOTERMS = ("EXW", "FCA", "FOB", "CFR", "CIF", "CPT", "DAP", "DDP")
STORAGE_PER_DAY = 46.0
PLUG_PER_DAY = 38.5
HANDLING = {"20": 118.0, "40": 176.0, "45": 189.0}
# UN/LOCODE|name|hub (deep-sea calls) or feeder
_PORT_TABLE = """
ESVLC|Valencia|hub;ESALG|Algeciras|hub;MAPTM|Tanger Med|hub;ITGIT|Gioia Tauro|hub;MTMAR|Marsaxlokk|hub
GRPIR|Piraeus|hub;PTSIE|Sines|hub;NLRTM|Rotterdam|hub;BEANR|Antwerp|hub;DEHAM|Hamburg|hub
ESBCN|Barcelona|feeder;ESCAS|Castellon|feeder;ESAGP|Malaga|feeder;ESBIO|Bilbao|feeder;PTLEI|Leixoes|feeder
FRFOS|Fos-sur-Mer|feeder;FRLEH|Le Havre|feeder;ITGOA|Genoa|feeder;ITLIV|Livorno|feeder;ITSAL|Salerno|feeder
ITRAN|Ravenna|feeder;HRRJK|Rijeka|feeder;SIKOP|Koper|feeder;GRSKG|Thessaloniki|feeder;CYLMS|Limassol|feeder
IEDUB|Dublin|feeder;GBFXT|Felixstowe|feeder;GBLIV|Liverpool|feeder;DKAAR|Aarhus|feeder;PLGDN|Gdansk|feeder
"""
PORTS = {
    code: {"name": name, "kind": kind}
    for code, name, kind in (
        row.split("|") for row in _PORT_TABLE.strip().replace("\n", ";").split(";")
    )
}
HUBS = [code for code, port in PORTS.items() if port["kind"] == "hub"]
VESSELS = tuple(
    f"{first} {second}"
    for first in ("Aurelia", "Borealis", "Celeste", "Dorado", "Estrela", "Fjordland")
    for second in ("Bridge", "Horizon", "Meridian", "Passage", "Venture")
)

# voyage|vessel|port|planned day|omitted in favour of|new day
_CORE_CALLS = """
DM614W|Dorado Meridian|ESVLC|16|MAPTM|14
DM614W|Dorado Meridian|ITGIT|11||11
DM614W|Dorado Meridian|GRPIR|8||9
CB609W|Celeste Bridge|ESVLC|18||19
"""
CORE_ROUTE = ("MAPTM", "ESVLC")
# sailing|origin|destination|departure day|transit days|reefer plugs left|freight per 40 ft in EUR
_CORE_FEEDERS = """
FS-70418|MAPTM|ESVLC|15|2|0|355
FS-71963|MAPTM|ESVLC|17|2|4|390
FS-72255|MAPTM|ESVLC|20|3|11|310
FS-70877|MAPTM|ESBCN|16|2|6|340
"""
# booking|shipper|order reference|container|voyage|discharge port|incoterm
_CORE_BOOKINGS = """
BKG4471936|Quimora Berries|88-2174|40RH|DM614W|ESVLC|CIF
BKG4471952|Quimora Berries|88-2169|40HC|CB609W|ESVLC|FOB
BKG4471967|Ostra Foods|88-2174|20RF|CB609W|ESVLC|DAP
BKG4471974|Alder Tools|31-0558|40HC|DM614W|ESVLC|FCA
BKG4471981|Delmare Fish|07-4410|20RF|DM614W|ESVLC|CIF
"""
HAULIERS = ("Levante Cargo", "Transportes Olivar", "Portway Haulage", "Rutas del Turia", "Medway Drayage")
SHIPPERS = ("Alder Tools", "Brisa Ceramics", "Corvin Paper", "Delmare Fish", "Ostra Foods")


def _rows(table: str) -> list:
    return [line.split("|") for line in table.strip().splitlines()]


def _plan_calls(rng: random.Random) -> dict:
    """Plan 90 voyages of five hub calls each; about one call in seven is omitted."""
    calls = {}
    for _ in range(90):
        vessel = rng.choice(VESSELS)
        initials = "".join(word[0] for word in vessel.split())
        voyage = f"{initials}{rng.randint(620, 799)}{rng.choice('EW')}"
        day = rng.randint(0, 30)
        for port in rng.sample(HUBS, 5):
            other = rng.choice([h for h in HUBS if h != port]) if rng.random() < 0.15 else ""
            calls[voyage, port] = (vessel, day, other, day + rng.randint(0, 2))
            day += rng.randint(2, 5)
    for voyage, vessel, port, day, other, new_day in _rows(_CORE_CALLS):
        calls[voyage, port] = (vessel, int(day), other, int(new_day))
    return calls


def _plan_feeders(rng: random.Random) -> dict:
    """Plan 900 feeder sailings from hubs to other ports; the core route has the core sailings alone."""
    routes = [(a, b) for a in HUBS for b in PORTS if a != b and (a, b) != CORE_ROUTE]
    feeders = {}
    for number in rng.sample(range(10_000, 70_000), 900):
        origin, destination = rng.choice(routes)
        feeders[f"FS-{number}"] = {
            "origin": origin,
            "destination": destination,
            "day": rng.randint(0, 45),
            "transit": rng.randint(1, 6),
            "plugs": rng.choice((0, 0, 3, 6, 12)),
            "freight": 5 * rng.randint(44, 130),
        }
    for sailing, origin, destination, *numbers in _rows(_CORE_FEEDERS):
        values = dict(zip(("day", "transit", "plugs", "freight"), map(int, numbers), strict=True))
        feeders[sailing] = {"origin": origin, "destination": destination, **values}
    return feeders


def _take_bookings(rng: random.Random) -> dict:
    """Take 600 bookings on the planned calls."""
    fields = ("shipper", "order_reference", "container", "voyage", "discharge_port", "incoterm")
    calls = list(CALLS)
    bookings = {}
    for number in rng.sample(range(4_400_000, 4_471_000), 600):
        order = f"{rng.randint(1, 99):02d}-{rng.randint(1000, 9999)}"
        row = (rng.choice(SHIPPERS), order, rng.choice(CONTAINERS), *rng.choice(calls))
        bookings[f"BKG{number}"] = dict(zip(fields, (*row, rng.choice(INCOTERMS)), strict=True))
    for booking, *row in _rows(_CORE_BOOKINGS):
        bookings[booking] = dict(zip(fields, row, strict=True))
    return bookings


def _open_quotes() -> dict:
    """Quote the first feeder that fits, for 30 of the bookings."""
    quotes = {}
    for booking_no in list(BOOKINGS)[:30]:
        port, landing = _landing(BOOKINGS[booking_no])
        for sailing, feeder in FEEDERS.items():
            if feeder["origin"] == port and feeder["day"] >= landing:
                quote = {"booking_no": booking_no, "sailing": sailing, "payer": "consignee"}
                quotes[_quote_no(**quote)] = quote
                break
    return quotes


def _landing(booking: dict) -> tuple:
    """Tell at which port, and on which day, the box of a booking is discharged."""
    _, _, other, actual = CALLS[booking["voyage"], booking["discharge_port"]]
    return other or booking["discharge_port"], actual


def _quote_no(booking_no: str, sailing: str, payer: str) -> str:
    digest = sha256(f"{booking_no}/{sailing}/{payer}".encode()).hexdigest()
    return f"TQ-{int(digest[:8], 16) % 900_000 + 100_000}"


_rng = random.Random(61403)
CALLS = _plan_calls(_rng)
FEEDERS = _plan_feeders(_rng)
BOOKINGS = _take_bookings(_rng)
QUOTES = _open_quotes()


def find_booking(shipper: str, order_reference: str) -> dict:
    """Find a shipper's booking by the shipper's own order reference."""
    name, reference = shipper.strip().casefold(), order_reference.strip()
    for booking_no, booking in BOOKINGS.items():
        if booking["shipper"].casefold() == name and booking["order_reference"] == reference:
            port = PORTS[booking["discharge_port"]]["name"]
            return {"booking_no": booking_no, **booking, "discharge_port_name": port}
    if name not in {b["shipper"].casefold() for b in BOOKINGS.values()}:
        raise LookupError(f"no shipper {shipper!r}; give the name as it stands on the booking")
    raise LookupError(f"{shipper} has no booking for order {order_reference!r}")


def get_port_call(voyage: str, port: str) -> dict:
    """Tell whether a voyage still calls at a port, and where its boxes go if it does not."""
    if (voyage, port) not in CALLS:
        if not any(v == voyage for v, _ in CALLS):
            raise LookupError(f"no voyage {voyage!r}; find_booking names the voyage of a booking")
        raise LookupError(f"voyage {voyage} was never planned to call at {port!r}")
    vessel, planned, other, actual = CALLS[voyage, port]
    answer = {
        "voyage": voyage,
        "vessel": vessel,
        "port": PORTS[port]["name"],
        "planned_arrival": _day(planned),
        "status": "omitted" if other else "on schedule" if actual == planned else "revised",
    }
    if not other:
        return answer | {"arrival": _day(actual)}
    return answer | {
        "discharge_instead_at": {
            "port": other,
            "name": PORTS[other]["name"],
            "arrival": _day(actual),
        }
    }


def search_feeders(
    origin: str,
    destination: str,
    depart_from: str,
    container_type: str = "40HC",
    max_results: int = 2,
) -> dict:
    """List the next feeder sailings between two ports with room for a container type."""
    for port in (origin, destination):
        if port not in PORTS:
            raise LookupError(f"no port {port!r}; ports are UN/LOCODEs of five letters")
    earliest = (_parse_day(depart_from) - EPOCH).days
    found = sorted(
        (f["day"], sailing)
        for sailing, f in FEEDERS.items()
        if f["origin"] == origin
        and f["destination"] == destination
        and f["day"] >= earliest
        and (f["plugs"] > 0 or container_type not in REEFERS)
    )
    return {
        "origin": origin,
        "destination": destination,
        "container_type": container_type,
        "sailings": [_sailing(sailing) for _, sailing in found[:max_results]],
        "more": len(found) > max_results,
    }


def quote_transfer(booking_no: str, sailing: str, payer: str = "consignee") -> dict:
    """Quote the transfer of a box from its substitute discharge port onto a feeder."""
    booking = _booking(booking_no)
    if sailing not in FEEDERS:
        raise LookupError(f"no sailing {sailing!r}; sailings come from search_feeders")
    feeder, size = FEEDERS[sailing], booking["container"][:2]
    port, landing = _landing(booking)
    if port != feeder["origin"]:
        raise ValueError(f"{sailing} does not sail from the port where the box lands")
    days = feeder["day"] - landing
    if days < 0:
        raise ValueError(f"{sailing} sails before the box lands")
    is_reefer = booking["container"] in REEFERS
    if is_reefer and not feeder["plugs"]:
        raise ValueError(f"{sailing} has no reefer plug left")
    per_day = STORAGE_PER_DAY + (PLUG_PER_DAY if is_reefer else 0)
    freight = feeder["freight"] * (0.62 if size == "20" else 1.0) * (1.45 if is_reefer else 1.0)
    # The line waives its own handling where it caused the transfer and the consignee pays.
    is_omission = port != booking["discharge_port"]
    handling = HANDLING[size] * (0 if payer == "consignee" and is_omission else 1)
    quote_no = _quote_no(booking_no, sailing, payer)
    QUOTES[quote_no] = {"booking_no": booking_no, "sailing": sailing, "payer": payer}
    return {
        "quote_no": quote_no,
        "booking_no": booking_no,
        "sailing": sailing,
        "payer": payer,
        "storage_days": days,
        "storage_and_power": f"{days * per_day:,.2f} EUR",
        "feeder_freight": f"{freight:,.2f} EUR",
        "handling": f"{handling:,.2f} EUR",
        "total": f"{days * per_day + freight + handling:,.2f} EUR",
        "valid_until": _day(landing + 1),
    }


def confirm_transfer(quote_no: str, release_to: str) -> dict:
    """Confirm a quote: the box is moved and released to a haulier at the final port."""
    if quote_no not in QUOTES:
        raise LookupError(f"no open quote {quote_no!r}; quotes come from quote_transfer")
    haulier = next((h for h in HAULIERS if h.casefold() == release_to.strip().casefold()), None)
    if haulier is None:
        raise LookupError(f"no haulier {release_to!r} is registered; give its full name")
    quote = QUOTES[quote_no]
    feeder = FEEDERS[quote["sailing"]]
    landed = feeder["day"] + feeder["transit"]
    container = BOOKINGS[quote["booking_no"]]["container"]
    digest = sha256(f"{quote_no}/{haulier.casefold()}".encode()).hexdigest()
    return {
        "quote_no": quote_no,
        "booking_no": quote["booking_no"],
        "status": "confirmed",
        "released_to": haulier,
        "release_pin": f"{feeder['destination'][2:]}-{digest[:6].upper()}",
        "arrival": _day(landed),
        "last_free_day": _day(landed + (2 if container in REEFERS else 5)),
    }


def _booking(booking_no: str) -> dict:
    if booking_no not in BOOKINGS:
        raise LookupError(f"no booking {booking_no!r}; numbers are BKG and seven digits")
    return BOOKINGS[booking_no]


def _sailing(sailing: str) -> dict:
    feeder = FEEDERS[sailing]
    return {
        "sailing": sailing,
        "departure": _day(feeder["day"]),
        "arrival": _day(feeder["day"] + feeder["transit"]),
        "reefer_plugs_left": feeder["plugs"],
    }


def _day(offset: int) -> str:
    return str(EPOCH + timedelta(days=offset))


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date written as YYYY-MM-DD") from None
