"""Units of measure: factors to one unit of each dimension, temperatures by their offsets.

Exact by definition where the unit is defined so (SI, the international yard and pound, IEC 80000-13).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from astra_mcp.types import JsonObject
from servers.emulated.offline.computing.computation import (
    Computation,
    Operand,
    computation,
    number,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "between", "converted", "unit_of"]

Number = int | float
_INCH, _POUND, _GALLON = 0.0254, 0.45359237, 0.003785411784
_DIMENSIONS: Final[dict[str, dict[str, float]]] = {
    "length": {
        "nm nanometer nanometre": 1e-9, "um μm micrometer micrometre micron": 1e-6, "mm millimeter millimetre": 1e-3,
        "cm centimeter centimetre": 1e-2, "dm decimeter decimetre": 1e-1, "m meter metre": 1.0,
        "km kilometer kilometre": 1e3, "in inch": _INCH, "ft foot feet": 12 * _INCH, "yd yard": 36 * _INCH,
        "mi mile": 63360 * _INCH, "nmi nautical_mile": 1852.0, "ly light_year": 9460730472580800.0,
        "au astronomical_unit": 149597870700.0,
    },
    "mass": {
        "ug μg mcg microgram": 1e-9, "mg milligram": 1e-6, "g gram gramme": 1e-3, "kg kilogram kilo": 1.0,
        "t tonne metric_ton": 1e3, "lb lbs pound": _POUND, "oz ounce": _POUND / 16, "st stone": 14 * _POUND,
        "ton us_ton short_ton": 2000 * _POUND, "long_ton imperial_ton": 2240 * _POUND,
    },
    "volume": {
        "ml milliliter millilitre": 1e-6, "cl centiliter centilitre": 1e-5, "dl deciliter decilitre": 1e-4,
        "l liter litre": 1e-3, "m3 cubic_meter cubic_metre": 1.0, "cm3 cc cubic_centimeter cubic_centimetre": 1e-6,
        "gal gallon us_gallon": _GALLON, "qt quart": _GALLON / 4, "pt pint": _GALLON / 8, "cup": _GALLON / 16,
        "fl_oz floz fluid_ounce": _GALLON / 128, "tbsp tablespoon": _GALLON / 256, "tsp teaspoon": _GALLON / 768,
        "ft3 cubic_foot cubic_feet": (12 * _INCH) ** 3, "in3 cubic_inch": _INCH**3, "imperial_gallon": 0.00454609,
        "bbl barrel": 42 * _GALLON,
    },
    "area": {
        "mm2 square_millimeter": 1e-6, "cm2 square_centimeter square_centimetre": 1e-4,
        "m2 sqm square_meter square_metre": 1.0, "km2 square_kilometer square_kilometre": 1e6,
        "ha hectare": 1e4, "in2 square_inch": _INCH**2, "ft2 sqft square_foot square_feet": (12 * _INCH) ** 2,
        "yd2 square_yard": (36 * _INCH) ** 2, "ac acre": 4840 * (36 * _INCH) ** 2,
        "mi2 square_mile": (63360 * _INCH) ** 2,
    },
    "speed": {
        "m_s mps meter_per_second metre_per_second": 1.0, "km_h kmh kph kmph kilometer_per_hour kilometre_per_hour": 1 / 3.6,
        "mph mi_h mile_per_hour": 63360 * _INCH / 3600, "kn kt knot": 1852 / 3600, "ft_s fps foot_per_second feet_per_second": 12 * _INCH,
    },
    "time": {
        "ns nanosecond": 1e-9, "us μs microsecond": 1e-6, "ms millisecond": 1e-3, "s sec second": 1.0,
        "min minute": 60.0, "h hr hour": 3600.0, "d day": 86400.0, "wk week": 604800.0,
        "fortnight": 1209600.0,
    },
    "data": {
        "bit": 0.125, "b byte": 1.0, "kb kilobyte": 1e3, "mb megabyte": 1e6, "gb gigabyte": 1e9, "tb terabyte": 1e12,
        "pb petabyte": 1e15, "kib kibibyte": 2.0**10, "mib mebibyte": 2.0**20, "gib gibibyte": 2.0**30,
        "tib tebibyte": 2.0**40, "kbit kilobit": 125.0, "mbit megabit": 125e3, "gbit gigabit": 125e6,
    },
    "energy": {
        "j joule": 1.0, "kj kilojoule": 1e3, "mj megajoule": 1e6, "cal calorie": 4.184, "kcal kilocalorie": 4184.0,
        "wh watt_hour": 3600.0, "kwh kilowatt_hour": 3.6e6, "ev electronvolt electron_volt": 1.602176634e-19,
        "btu british_thermal_unit": 1055.05585262, "ft_lb foot_pound": 1.3558179483314004,
    },
    "power": {
        "w watt": 1.0, "kw kilowatt": 1e3, "mw megawatt": 1e6, "hp horsepower": 745.6998715822702,
    },
    "pressure": {
        "pa pascal": 1.0, "hpa hectopascal": 100.0, "kpa kilopascal": 1e3, "mpa megapascal": 1e6, "bar": 1e5, "mbar millibar": 100.0,
        "atm atmosphere": 101325.0, "psi pound_per_square_inch": _POUND * 9.80665 / _INCH**2,
        "torr": 101325 / 760, "mmhg millimeter_of_mercury": 133.322387415,
    },
    "angle": {
        "rad radian": 1.0, "deg degree °": math.pi / 180, "grad gradian gon": math.pi / 200,
        "arcmin arcminute": math.pi / 10800, "arcsec arcsecond": math.pi / 648000, "turn revolution": 2 * math.pi,
    },
    "frequency": {"hz hertz": 1.0, "khz kilohertz": 1e3, "mhz megahertz": 1e6, "ghz gigahertz": 1e9},
    "force": {"n newton": 1.0, "kn_force kilonewton": 1e3, "lbf pound_force": _POUND * 9.80665},
}  # fmt: skip
_TEMPERATURES: Final[dict[str, tuple[float, float]]] = {
    "c celsius centigrade °c degree_celsius degrees_celsius degc": (1.0, 273.15),
    "f fahrenheit °f degree_fahrenheit degrees_fahrenheit degf": (5 / 9, 459.67 * 5 / 9),
    "k kelvin": (1.0, 0.0),
    "rankine °r": (5 / 9, 0.0),
}
"""Kelvins of one degree, and of zero degrees."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit."""

    name: str
    dimension: str
    factor: float
    """How many of the dimension's own unit it is."""
    offset: float = 0.0
    """What its zero is in the dimension's own unit."""


def _units() -> Iterator[tuple[str, Unit]]:
    for dimension, units in _DIMENSIONS.items():
        for names, factor in units.items():
            every = names.split()
            unit = Unit(every[1] if len(every) > 1 else every[0], dimension, factor)
            yield from ((name, unit) for name in every)
    for names, (factor, offset) in _TEMPERATURES.items():
        every = names.split()
        unit = Unit(every[1] if len(every) > 1 else every[0], "temperature", factor, offset)
        yield from ((name, unit) for name in every)


_BY_NAME: Final = dict(_units())
_CASED: Final = {
    "Mb": "mbit", "Kb": "kbit", "kb": "kb", "Gb": "gbit", "mW": "", "MW": "mw", "mPa": "", "MPa": "mpa", "mJ": "", "MJ": "mj",
    "Cal": "kcal", "mHz": "", "MHz": "mhz",
}  # fmt: skip
"""Symbols whose case decides; those of no value here are unknown."""
_POWERS: Final = str.maketrans({"²": "2", "³": "3", "^": "", "µ": "μ"})


def unit_of(name: str) -> Unit | None:
    """The unit of a name or a symbol, in the singular or the plural; None where it is none."""
    written = name.strip().rstrip(".").translate(_POWERS)
    if written in _CASED:
        return _BY_NAME.get(_CASED[written])
    plain = re.sub(r"[\s/\-_]+", "_", written.lower()).strip("_")
    singulars = (
        plain,
        plain.removesuffix("s"),
        plain.removesuffix("es"),
        plain.replace("s_per_", "_per_"),
    )
    return next((_BY_NAME[each] for each in singulars if each in _BY_NAME), None)


def converted(value: Number, first: Unit, second: Unit) -> float:
    """A value in another unit of its dimension."""
    if first.dimension != second.dimension:
        raise UnfitError(
            f"Cannot convert {first.name} ({first.dimension}) to {second.name} ({second.dimension})"
        )
    if first == second:
        return value
    basic = value * first.factor + first.offset
    if first.dimension == "temperature" and basic < -1e-9:
        raise UnfitError(f"{value} {first.name} is below absolute zero")
    result = (basic - second.offset) / second.factor
    return float(f"{result:.12g}")


def _convert(value: Number, source: str, target: str, dimension: str = "") -> JsonObject:
    first, second = (_known(name, dimension) for name in (source, target))
    return {"result": converted(value, first, second), "unit": target}


def _known(name: str, dimension: str) -> Unit:
    unit = unit_of(name)
    if unit is None and dimension in ("area", "volume"):
        unit = unit_of(f"{'square' if dimension == 'area' else 'cubic'} {name}")
    if unit is None or (dimension and unit.dimension != dimension):
        kind = f"{dimension} unit" if dimension else "unit"
        raise UnfitError(f"Invalid {kind}: {name[:40]} is not known")
    return unit


_VALUE: Final = "value amount number quantity x val magnitude measurement temperature temp length distance weight mass volume speed time input area pressure energy angle degrees"
_FROM: Final = "from_unit from source_unit source unit_from from_units input_unit original_unit from_scale current_unit start_unit"
_TO: Final = "to_unit to target_unit target unit_to to_units output_unit desired_unit to_scale destination_unit end_unit"


def _operands() -> tuple[Operand, ...]:
    return number("value", _VALUE), text("source", _FROM), text("target", _TO)


def between(source: str, target: str) -> Computation | None:
    """What a tool does that is named for two units, such as ``celsius_to_fahrenheit``; None for others."""
    first, second = unit_of(source), unit_of(target)
    if first is None or second is None or first.dimension != second.dimension:
        return None
    value = number("value", f"{_VALUE} {source} {source}s {first.name} {first.name}s n a")
    return computation("", partial(converted, first=first, second=second), value)


_CONVERT: Final = "convert unit, unit conversion, unit converter, unit convert, conversion unit, measurement converter, convert measurement"
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation(_CONVERT, _convert, *_operands(), beside="measurement between"),
    computation("convert, converter, conversion", _convert, *_operands(), is_sure=False),
    *(
        computation(
            f"convert {word}, {word} convert, {word} converter, {word} conversion",
            partial(_convert, dimension=dimension),
            *_operands(),
            beside="unit",
        )
        for dimension in (*_DIMENSIONS, "temperature")
        for word in {"mass": ("mass", "weight"), "length": ("length", "distance"), "data": ("data", "storage")}.get(dimension, (dimension,))
        if dimension != "time"
    ),
)  # fmt: skip
