"""Retail bank: find a debit, see what it paid, and price an extra payment into a loan.

Interest accrues daily on an actual/365 basis and is settled with each monthly instalment. Quotes
are kept, those of the last days too; accounts and loans never change. The accounts of the question
are written out; the rest is drawn once from a fixed generator.
"""

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

CURRENCY = "SEK"
CENT = Decimal("0.01")
FREE_SHARE_PERCENT = 10
FEE_PERCENT = Decimal("1.25")
DAYS_PER_YEAR = 365
LONGEST_NOTICE_DAYS = 365
MERCHANTS = (
    "Kvarnbageriet, Norra Järn, Ljusbolaget, Torgets Apotek, Sjöbuss, Bokhuset, Fjällnära, "
    "Gröna Disken, Hammarö El, Pendelkort, Tvättstugan, Linnés Optik"
).split(", ")
FIRST_NAMES = (
    "Alva Birger Disa Elof Freja Gunnar Hedvig Ivar Juni Knut Liv Malte Nanna Otto Rut Sixten"
).split()
LAST_NAMES = (
    "Ahlgren Björk Dahlin Ekman Forsell Granlund Hultin Jernberg Kjellin Lundell Melin Norell"
).split()


class Account(NamedTuple):
    """A current account; ``ending`` is the last four digits of its number."""

    holder: str
    ending: str


class Debit(NamedTuple):
    """Money that left an account."""

    reference: str
    account: Account
    booked: date
    amount: Decimal
    payee: str
    contract: str | None


class Loan(NamedTuple):
    """An annuity loan after its last instalment; ``rate`` is in percent a year."""

    number: str
    purpose: str
    principal: Decimal
    rate: Decimal
    instalment: Decimal
    last_paid: date


class Quote(NamedTuple):
    """A priced overpayment."""

    loan: Loan
    amount: Decimal
    value_date: date
    effect: str
    fee: Decimal


LOANS: dict[str, Loan] = {}
DEBITS: dict[str, Debit] = {}
quotes: dict[str, Quote] = {}


def _add_debit(account: Account, booked: date, amount: str, payee: str, contract: str | None = None) -> None:
    digest = sha256(f"{account}/{booked}/{payee}/{amount}".encode()).hexdigest()
    reference = f"TR{int(digest[:12], 16) % 10**9:09d}"
    DEBITS[reference] = Debit(reference, account, booked, Decimal(amount), payee, contract)


def _add_loan(number: str, purpose: str, principal: int, rate: str, instalment: int) -> None:
    terms = Decimal(principal), Decimal(rate), Decimal(instalment)
    LOANS[number] = Loan(number, purpose, *terms, date(2026, 2, 27))


def _add_quote(loan: Loan, amount: Decimal, value_date: date, effect: str) -> str:
    free = loan.principal * FREE_SHARE_PERCENT / 100
    fee = (max(amount - free, Decimal(0)) * FEE_PERCENT / 100).quantize(CENT, ROUND_HALF_UP)
    digest = sha256(f"{loan.number}/{amount}/{value_date}/{effect}".encode()).hexdigest()
    reference = f"OQ-{int(digest[:12], 16) % 10**8:08d}"
    quotes[reference] = Quote(loan, amount, value_date, effect, fee)
    return reference


def _open_books() -> None:
    rng = Random(28_114)
    own, savings = Account("Tove Rosenlund", "3390"), Account("Tove Rosenlund", "7715")
    namesake = Account("Arvid Rosenlund", "3390")
    _add_loan("HL-204-66831", "houseboat", 684_300, "4.85", 6_412)
    _add_loan("HL-198-40277", "car", 143_900, "6.20", 3_075)
    _add_loan("HL-187-92054", "home renovation", 412_600, "5.35", 5_240)
    _add_debit(own, date(2026, 2, 27), "6412.00", "Autogiro 55-0182", "HL-204-66831")
    _add_debit(own, date(2026, 2, 27), "489.00", "Ljusbolaget")
    _add_debit(own, date(2026, 2, 27), "3075.00", "Autogiro 55-0182", "HL-198-40277")
    _add_debit(own, date(2026, 2, 25), "7140.00", "Hammarö El")
    _add_debit(own, date(2026, 3, 2), "9250.00", "Norra Järn")
    _add_debit(savings, date(2026, 2, 27), "12000.00", "Fjällnära")
    _add_debit(namesake, date(2026, 2, 27), "5240.00", "Autogiro 55-0182", "HL-187-92054")
    for index in range(240):
        name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        account = Account(name, f"{rng.randrange(1_000, 10_000)}")
        for _ in range(4):
            booked = date(2026, 1, 2) + timedelta(days=rng.randrange(72))
            amount = f"{rng.randrange(60, 9_000)}.{rng.randrange(100):02d}"
            _add_debit(account, booked, amount, rng.choice(MERCHANTS))
        if index % 2:
            number = f"HL-{rng.randrange(150, 230)}-{rng.randrange(10_000, 100_000)}"
            principal = rng.randrange(60_000, 900_000, 100)
            purpose = rng.choice(("car", "home renovation", "boat", "studies"))
            rate = f"{rng.randrange(395, 790) / 100:.2f}"
            instalment = principal // rng.randrange(60, 130)
            _add_loan(number, purpose, principal, rate, instalment)
            _add_debit(account, date(2026, 2, 27), f"{instalment}.00", "Autogiro 55-0182", number)
    for loan in list(LOANS.values())[1::4]:
        extra = Decimal(rng.randrange(10_000, 60_000, 500)).quantize(CENT)
        _add_quote(loan, extra, date(2026, 4, 1), rng.choice(("lower_instalment", "shorten_term")))


_open_books()


def search_debits(
    account_holder: str, account_ending: str, booked_on: str, min_amount: float = 0
) -> dict[str, Any]:
    """List the debits of one account on one booking day."""
    booked = _day(booked_on, "booked_on")
    account = Account(account_holder.strip().title(), account_ending.strip())
    return {
        "debits": [
            {"transaction_reference": debit.reference, "amount": _money(debit.amount), "payee": debit.payee}
            for debit in DEBITS.values()
            if debit.account == account
            and debit.booked == booked
            and debit.amount >= Decimal(str(min_amount))
        ]
    }


def get_transaction(transaction_reference: str, include_loan_terms: bool = False) -> dict[str, Any]:
    """Show what a debit was for, and the loan contract that it served."""
    debit = DEBITS.get(transaction_reference.strip().upper())
    if debit is None:
        raise LookupError(f"no transaction {transaction_reference!r}; references come from search_debits")
    loan = LOANS[debit.contract] if debit.contract else None
    result: dict[str, Any] = {
        "kind": "loan instalment" if loan else "card or transfer",
        "booked_on": debit.booked.isoformat(),
        "payee": debit.payee,
        "loan_number": loan and loan.number,
        "loan_purpose": loan and loan.purpose,
    }
    if include_loan_terms:
        result["loan_terms"] = loan and {
            "rate_percent": str(loan.rate),
            "instalment": _money(loan.instalment),
        }
    return result


def quote_overpayment(
    loan_number: str, amount: float, value_date: str, effect: str = "lower_instalment"
) -> dict[str, Any]:
    """Price an extra payment into a loan; the quote can be compared with the present schedule."""
    loan, day = _loan(loan_number), _day(value_date, "value_date")
    extra = Decimal(str(amount)).quantize(CENT)
    if not 0 < (day - date.today()).days <= LONGEST_NOTICE_DAYS:
        raise ValueError(f"value_date {value_date} must lie after today and within a year")
    if extra >= loan.principal:
        raise ValueError("an overpayment must stay below what the loan stands at")
    reference = _add_quote(loan, extra, day, effect)
    return {
        "quote_reference": reference,
        "loan_number": loan.number,
        "principal_now": _money(loan.principal),
        "fee_free_up_to": _money(loan.principal * FREE_SHARE_PERCENT / 100),
        "fee": _money(quotes[reference].fee),
        "valid_until": (date.today() + timedelta(days=14)).isoformat(),
    }


def compare_schedules(quote_reference: str, net_of_fee: bool = False, years: int = 0) -> dict[str, Any]:
    """Set the schedule of a quote beside the present one."""
    quote = quotes.get(quote_reference.strip().upper())
    if quote is None:
        raise LookupError(f"no quote {quote_reference!r}; quotes come from quote_overpayment")
    present, revised = _schedule(quote.loan, None), _schedule(quote.loan, quote)
    saved = sum(row[1] for row in present) - sum(row[1] for row in revised)
    result: dict[str, Any] = {
        "interest_saved": _money(saved - (quote.fee if net_of_fee else 0)),
        "instalments_left": {"present": len(present), "revised": len(revised)},
        "last_instalment": {"present": present[-1][0].isoformat(), "revised": revised[-1][0].isoformat()},
    }
    if years:
        result["balance_at_year_end"] = [
            {"month": row[0].isoformat()[:7], "present": _money(row[2])}
            for row in present[11 : 12 * years : 12]
        ]
    return result


def _schedule(loan: Loan, quote: Quote | None) -> list[tuple[date, Decimal, Decimal]]:
    """Rows of (due date, interest, principal left) until the loan is paid off."""
    rows: list[tuple[date, Decimal, Decimal]] = []
    left, instalment, start = loan.principal, loan.instalment, loan.last_paid
    daily_rate = loan.rate / 100 / DAYS_PER_YEAR
    while left > 0:
        due = _next_month(start)
        interest = left * daily_rate * (due - start).days
        if quote and start < quote.value_date <= due:
            interest -= quote.amount * daily_rate * (due - quote.value_date).days
            if quote.effect == "lower_instalment":
                instalment = instalment * (left - quote.amount) / left
            left -= quote.amount
        interest = interest.quantize(CENT, ROUND_HALF_UP)
        left = max(left + interest - instalment, Decimal(0)).quantize(CENT)
        rows.append((due, interest, left))
        start = due
    return rows


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, day.day)


def _loan(number: str) -> Loan:
    if number not in LOANS:
        raise LookupError(f"no loan {number!r}; loan numbers come from get_transaction")
    return LOANS[number]


def _day(value: str, field: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{field} must be a date such as 2026-01-14, not {value!r}") from None


def _money(amount: Decimal) -> str:
    return f"{amount:,.2f} {CURRENCY}"
