"""Percentages, interest, instalments and the other everyday formulas of a few named numbers."""

import math
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    Operand,
    computation,
    number,
    option,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "compound_interest", "loan_payment"]

Number = int | float


def _positive(**named: Number) -> None:
    for name, value in named.items():
        if value <= 0:
            raise UnfitError(f"{name} must be positive")


def percentage_of(percentage: Number, number: Number) -> float:
    """So many hundredths of a number."""
    return number * percentage / 100


def share(part: Number, whole: Number) -> float:
    """How many hundredths of a whole a part is."""
    return part / whole * 100


def change(old: Number, new: Number) -> float:
    """By how many hundredths of the old value the new one is greater."""
    return (new - old) / abs(old) * 100


def _part(rate: Number, form: str) -> float:
    """A rate as a part of one: documents that do not say mean 5 and 0.05 alike."""
    is_percent = form == "percent" or (not form and abs(rate) >= 1)
    return rate / 100 if is_percent else rate


def compound_interest(
    principal: Number, rate: Number, years: Number, per_year: Number, form: str
) -> JsonObject:
    """What a principal grows to.

    Args:
        principal: In any currency.
        rate: Of a year.
        years: How long.
        per_year: How often interest is added.
        form: ``percent`` or ``decimal``, of the rate; empty where nothing says it.
    """
    _positive(compounding_frequency=per_year)
    amount = principal * math.pow(1 + _part(rate, form) / per_year, per_year * years)
    return {"final_amount": amount, "interest": amount - principal}


def simple_interest(principal: Number, rate: Number, years: Number, form: str) -> JsonObject:
    """Interest that earns none itself."""
    interest = principal * _part(rate, form) * years
    return {"interest": interest, "total_amount": principal + interest}


def loan_payment(
    principal: Number, rate: Number, term: Number, period: str, form: str
) -> JsonObject:
    """The monthly instalment that pays a loan off.

    Args:
        principal: In any currency.
        rate: Of a year.
        term: How long.
        period: ``years`` or ``months``, of the term.
        form: ``percent`` or ``decimal``, of the rate; empty where nothing says it.
    """
    _positive(principal=principal, term=term)
    if rate < 0:
        raise UnfitError("rate must not be negative")
    months = term if period == "months" else term * 12
    monthly = _part(rate, form) / 12
    payment = principal / months
    if monthly:
        payment = principal * monthly / -math.expm1(-months * math.log1p(monthly))
    total = payment * months
    return {
        "monthly_payment": payment,
        "total_payment": total,
        "total_interest": total - principal,
    }


def loan_by_months(principal: Number, rate: Number, months: Number, form: str) -> JsonObject:
    """The same, over so many months."""
    return loan_payment(principal, rate, months, "months", form)


_BODY_CLASSES: Final = ((18.5, "Underweight"), (25.0, "Normal weight"), (30.0, "Overweight"))


def _bmi(kilograms: float, metres: float) -> JsonObject:
    _positive(weight=kilograms, height=metres)
    index = kilograms / metres**2
    named = next((name for most, name in _BODY_CLASSES if index < most), "Obese")
    return {"bmi": round(index, 2), "category": named}


def bmi_by_metres(weight: Number, height: Number) -> JsonObject:
    """From kilograms and metres; a height above 3 can only be in centimetres."""
    return _bmi(weight, height / 100 if height > 3 else height)


def bmi(weight: Number, height: Number, units: str) -> JsonObject:
    """From kilograms and metres or centimetres, or from pounds and inches.

    Args:
        weight: In kilograms or pounds.
        height: In metres, centimetres or inches.
        units: ``imperial`` for pounds and inches.
    """
    if units == "imperial":
        return _bmi(weight * 0.45359237, height * 0.0254)
    return bmi_by_metres(weight, height)


def tip(amount: Number, percentage: Number, people: Number) -> JsonObject:
    """The tip on a bill, and what each pays."""
    _positive(people=people)
    tip = amount * percentage / 100
    return {"tip": tip, "total": amount + tip, "per_person": (amount + tip) / people}


def discount(price: Number, percentage: Number) -> JsonObject:
    """What is taken off a price."""
    off = price * percentage / 100
    return {"discount": off, "final_price": price - off}


def tax(amount: Number, rate: Number) -> JsonObject:
    """A tax on an amount; the rate in hundredths."""
    due = amount * rate / 100
    return {"tax": due, "total": amount + due}


def return_on_investment(gain: Number, cost: Number) -> JsonObject:
    """What was gained beyond the cost, in hundredths of it."""
    return {"roi_percent": (gain - cost) / cost * 100, "profit": gain - cost}


def area_of_circle(radius: Number) -> JsonValue:
    """By its radius."""
    if radius < 0:
        raise UnfitError("radius must not be negative")
    return math.pi * radius**2


def _circumference(radius: Number) -> JsonValue:
    return 2 * math.pi * radius


def _rectangle(width: Number, height: Number) -> JsonValue:
    return width * height


def _triangle(base: Number, height: Number) -> JsonValue:
    return base * height / 2


def _sphere(radius: Number) -> JsonValue:
    return 4 / 3 * math.pi * radius**3


_PRINCIPAL: Final = number(
    "principal",
    "loan_amount amount p initial_amount initial_investment present_value investment loan_principal capital",
)
_RATE: Final = number(
    "rate", "annual_rate interest_rate annual_interest_rate r yearly_rate apr rate_percent"
)
_YEARS: Final = number(
    "years",
    "time t term_years loan_term_years duration time_years term_in_years num_years number_of_years loan_term term",
)
_TERM: Final = number(
    "term", "years term_years loan_term loan_term_years duration time num_years number_of_years"
)
_MONTHS: Final = number(
    "months", "term_months loan_term_months num_months number_of_months months_term num_payments"
)
_PERCENT: Final = number("percentage", "percent pct p rate percentage_value percent_value")


_FORM: Final = option(
    "form", "rate_format", "", "decimal fraction=decimal percent percentage=percent"
)
_PERIOD: Final = option("period", "term_unit", "years", "month=months year=years")


def _per_year() -> Operand:
    keys = (
        "compounds_per_year n frequency compounding_frequency times_per_year compound_frequency periods_per_year"
        " compounding_periods compounds compounding"
    )
    return number("per_year", keys, default=1)


COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("percentage, percent", share, number("part", "portion numerator partial"),
                number("whole", "total denominator total_value")),
    computation("percentage, percent, percentage of, percent of", percentage_of, _PERCENT,
                number("number", "value total amount base whole of n x")),
    computation("percentage change, percent change, percentage increase, percent increase, percentage difference",
                change, number("old", "old_value from initial original start initial_value original_value before from_value start_value"),
                number("new", "new_value to final current end final_value current_value after to_value end_value")),
    computation("compound interest, future value", compound_interest, _PRINCIPAL, _RATE, _YEARS, _per_year(), _FORM, beside="investment growth"),
    computation("simple interest", simple_interest, _PRINCIPAL, _RATE, _YEARS, _FORM),
    computation("loan payment, mortgage payment, monthly payment, mortgage, loan, emi, loan emi", loan_by_months, _PRINCIPAL, _RATE, _MONTHS, _FORM,
                beside="monthly payment"),
    computation("loan payment, mortgage payment, monthly payment, mortgage, loan, emi, loan emi", loan_payment, _PRINCIPAL, _RATE, _TERM, _PERIOD, _FORM,
                beside="monthly payment"),
    computation("bmi, body mass index", bmi, number("weight", "weight_kg weight_in_kg mass kg weight_lbs"), number("height", "height_m height_in_m height_meters height_cm height_in"),
                option("units", "unit system unit_system", "metric", "metric imperial lbs=imperial pounds=imperial inches=imperial")),
    computation("tip", tip, number("amount", "bill bill_amount total subtotal price"), number("percentage", "tip_percentage tip_percent percent tip_rate"),
                number("people", "num_people split party_size number_of_people persons", default=1), beside="bill split"),
    computation("discount", discount, number("price", "original_price amount total"), number("percentage", "discount percent discount_percent discount_percentage discount_rate"),
                beside="price"),
    computation("tax, sales tax, vat", tax, number("amount", "price subtotal total"), number("rate", "tax_rate percentage vat_rate tax_percent percent"), beside="sale"),
    computation("roi, return investment", return_on_investment, number("gain", "final_value current_value revenue returns return_value"),
                number("cost", "initial_investment investment initial_value initial_cost"), beside="on"),
    computation("circle area, area circle", area_of_circle, number("radius", "r")),
    computation("circumference, circle circumference", _circumference, number("radius", "r"), beside="circle"),
    computation("rectangle area, area rectangle", _rectangle, number("width", "w a breadth"), number("height", "length h l b")),
    computation("triangle area, area triangle", _triangle, number("base", "b"), number("height", "h")),
    computation("sphere volume, volume sphere", _sphere, number("radius", "r")),
)  # fmt: skip
