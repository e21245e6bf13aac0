"""Forecast service for low-altitude flying: wind aloft and twilight at European forecast points.

Winds are synthetic: a slow weather wave, a daily cycle and a short wave per point, which each model
sees with its own small error. Twilight follows the usual solar equations, to a few seconds.
"""

import math
import random
from datetime import date as Date
from datetime import timedelta

FIRST_DAY = Date(2026, 8, 24)
FORECAST_DAYS = 14
STEP_MINUTES = 10
REFERENCE_HEIGHT_M = 10
UNITS_PER_MPS = {"kt": 1.943844, "m/s": 1.0, "km/h": 3.6, "mph": 2.236936}
SUN_ALTITUDE = {"sunset": -0.833, "civil": -6.0, "nautical": -12.0, "astronomical": -18.0}
COMPASS = "N NNE NE ENE E ESE SE SSE S SSW SW WSW W WNW NW NNW".split()

# name|country|latitude|longitude|summer offset to UTC in hours|mean wind at 10 m in m/s
_POINT_TABLE = """
Lisbon|PT|38.72|-9.14|1|4.4;Porto|PT|41.15|-8.61|1|4.1;Faro|PT|37.02|-7.93|1|4.0;Coimbra|PT|40.21|-8.43|1|3.0
Madrid|ES|40.42|-3.70|2|3.1;Valencia|ES|39.47|-0.38|2|3.6;Bilbao|ES|43.26|-2.93|2|3.3;Zaragoza|ES|41.65|-0.89|2|4.9
Lyon|FR|45.76|4.84|2|3.0;Nantes|FR|47.22|-1.55|2|3.7;Marseille|FR|43.30|5.37|2|4.8;Lille|FR|50.63|3.06|2|4.0
Dublin|IE|53.35|-6.26|1|5.0;Galway|IE|53.27|-9.05|1|5.6;Cork|IE|51.90|-8.47|1|4.7;Limerick|IE|52.66|-8.63|1|4.5
Leeds|GB|53.80|-1.55|1|4.0;Cardiff|GB|51.48|-3.18|1|4.6;Aberdeen|GB|57.15|-2.09|1|5.1;Norwich|GB|52.63|1.30|1|4.2
Ghent|BE|51.05|3.72|2|3.8;Liege|BE|50.63|5.57|2|3.3;Ostend|BE|51.23|2.91|2|5.7;Namur|BE|50.47|4.87|2|3.2
Rotterdam|NL|51.92|4.48|2|5.0;Groningen|NL|53.22|6.57|2|4.4;Utrecht|NL|52.09|5.12|2|4.0;Maastricht|NL|50.85|5.69|2|3.4
Bremen|DE|53.08|8.80|2|4.0;Leipzig|DE|51.34|12.37|2|3.6;Rostock|DE|54.09|12.10|2|5.1;Ulm|DE|48.40|9.99|2|2.7
Aarhus|DK|56.16|10.20|2|4.9;Odense|DK|55.40|10.39|2|4.5;Esbjerg|DK|55.48|8.46|2|6.0;Aalborg|DK|57.05|9.92|2|4.8
Bergen|NO|60.39|5.32|2|4.2;Stavanger|NO|58.97|5.73|2|5.2;Bodo|NO|67.28|14.40|2|6.1;Hamar|NO|60.79|11.07|2|2.4
Malmo|SE|55.60|13.00|2|4.9;Uppsala|SE|59.86|17.64|2|3.3;Kalmar|SE|56.66|16.36|2|4.3;Umea|SE|63.83|20.26|2|3.4
Turku|FI|60.45|22.27|3|3.8;Oulu|FI|65.01|25.47|3|3.7;Tampere|FI|61.50|23.76|3|3.1;Vaasa|FI|63.10|21.62|3|4.2
Gdansk|PL|54.35|18.65|2|4.0;Wroclaw|PL|51.11|17.04|2|3.2;Lublin|PL|51.25|22.57|2|3.3;Szczecin|PL|53.43|14.55|2|3.9
Kaunas|LT|54.90|23.90|3|3.3;Klaipeda|LT|55.71|21.13|3|4.9;Riga|LV|56.95|24.11|3|3.6;Tartu|EE|58.38|26.72|3|3.4
Graz|AT|47.07|15.44|2|1.9;Linz|AT|48.31|14.29|2|2.8;Bratislava|SK|48.15|17.11|2|3.7;Brno|CZ|49.20|16.61|2|3.2
Pecs|HU|46.07|18.23|2|2.5;Maribor|SI|46.55|15.65|2|2.0;Split|HR|43.51|16.44|2|4.4;Trieste|IT|45.65|13.77|2|4.2
Bologna|IT|44.49|11.34|2|2.0;Bari|IT|41.12|16.87|2|3.9;Catania|IT|37.51|15.09|2|3.6;Patras|GR|38.25|21.73|3|3.5
"""
POINTS = {}
for _entry in _POINT_TABLE.strip().replace("\n", ";").split(";"):
    _name, _country, *_numbers = _entry.split("|")
    POINTS[_name] = (_country, *map(float, _numbers))


def list_forecast_points(country: str) -> dict:
    """List the forecast points of one country, with their coordinates."""
    found = [
        {"place": name, "latitude": lat, "longitude": lon}
        for name, (code, lat, lon, _, _) in sorted(POINTS.items())
        if code == country
    ]
    if not found:
        raise LookupError(f"no forecast points in {country!r}; use a two-letter country code")
    return {"country": country, "points": found}


def get_wind_window(
    place: str,
    date: str,
    start_time: str,
    end_time: str,
    height_m: int = 10,
    model: str = "GFS",
    unit: str = "kt",
) -> dict:
    """Forecast the wind at a height, averaged over a window of local time on one day."""
    country, _, _, offset, base = _point(place)
    day = _forecast_day(date)
    start, end = _minutes(start_time), _minutes(end_time)
    if end <= start:
        raise ValueError(
            f"end_time {end_time} must be after start_time {start_time} on the same day"
        )
    hours = 24 * (day - FIRST_DAY).days - offset
    speeds = [_speed(place, base, model, hours + m / 60) for m in range(start, end, STEP_MINUTES)]
    # Power law of the wind profile; the exponent of open suburban ground.
    factor = (height_m / REFERENCE_HEIGHT_M) ** 0.19 * UNITS_PER_MPS[unit]
    mean, peak = factor * sum(speeds) / len(speeds), factor * max(speeds)
    heading = _direction(place, model, hours + start / 60)
    return {
        "place": place,
        "country": country,
        "date": str(day),
        "window_local": f"{start_time}-{end_time}",
        "model": model,
        "height": f"{height_m} m",
        "mean_wind": f"{mean:.2f} {unit}",
        "peak_gust": f"{peak * (1.62 - height_m / 500):.1f} {unit}",
        "direction": COMPASS[round(heading / 22.5) % 16],
    }


def get_twilight(place: str, date: str, event: str, phase: str = "sunset") -> dict:
    """Compute when the sun passes the altitude that ends (evening) or begins (morning) a phase."""
    _, latitude, longitude, offset, _ = _point(place)
    day = _forecast_day(date)
    gamma = 2 * math.pi / 365 * (day.timetuple().tm_yday - 1 + 0.25)
    equation = 229.18 * (
        0.000075
        + 0.001868 * math.cos(gamma)
        - 0.032077 * math.sin(gamma)
        - 0.014615 * math.cos(2 * gamma)
        - 0.040849 * math.sin(2 * gamma)
    )
    declination = (
        0.006918
        - 0.399912 * math.cos(gamma)
        + 0.070257 * math.sin(gamma)
        - 0.006758 * math.cos(2 * gamma)
        + 0.000907 * math.sin(2 * gamma)
    )
    lat, altitude = math.radians(latitude), math.radians(SUN_ALTITUDE[phase])
    cosine = (math.sin(altitude) - math.sin(lat) * math.sin(declination)) / (
        math.cos(lat) * math.cos(declination)
    )
    if not -1 <= cosine <= 1:
        raise ValueError(f"the sun does not pass the {phase} altitude in {place} on {date}")
    angle = math.degrees(math.acos(cosine)) * (1 if event == "evening" else -1)
    minutes = 720 + 4 * (angle - longitude) - equation + 60 * offset
    clock = round(minutes * 60) % 86400
    return {
        "place": place,
        "date": str(day),
        "phase": phase,
        "event": event,
        "local_time": f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}",
        "utc_offset": f"+{int(offset):02d}:00",
        "sun_altitude": f"{SUN_ALTITUDE[phase]} degrees",
    }


def _point(place: str) -> tuple:
    if place not in POINTS:
        raise LookupError(f"no forecast point {place!r}; names come from list_forecast_points")
    return POINTS[place]


def _forecast_day(text: str) -> Date:
    try:
        day = Date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"date {text!r} is not a date written as YYYY-MM-DD") from None
    last = FIRST_DAY + timedelta(days=FORECAST_DAYS - 1)
    if not FIRST_DAY <= day <= last:
        raise ValueError(f"the forecast covers {FIRST_DAY} to {last}, not {text}")
    return day


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    if not (hours.isdigit() and minutes.isdigit() and int(hours) < 24 and int(minutes) < 60):
        raise ValueError(f"time {text!r} is not a time of day such as 20:40")
    if int(minutes) % STEP_MINUTES:
        raise ValueError(f"time {text!r} must lie on a full ten minutes")
    return 60 * int(hours) + int(minutes)


def _speed(place: str, base: float, model: str, hours: float) -> float:
    """Wind speed at 10 m in m/s, ``hours`` after 00:00 UTC of the first day."""
    total = base
    for source, weight in ((place, 1.0), (f"{place}/{model}", 0.3)):
        rng = random.Random(source)
        for period, share in ((rng.uniform(60, 110), 0.38), (24.0, 0.2), (rng.uniform(3, 7), 0.14)):
            phase = rng.uniform(0, 2 * math.pi)
            total += weight * share * base * math.sin(2 * math.pi * hours / period + phase)
    return max(0.3, total)


def _direction(place: str, model: str, hours: float) -> float:
    rng = random.Random(f"{place}/{model}/direction")
    return rng.uniform(180, 320) + 70 * math.sin(2 * math.pi * hours / rng.uniform(50, 90))
