"""Counter of a pharmacy group: patients, prescriptions, stock lots and what a fill costs.

The patient of the question, her namesake and the lots of her branch are written out; everything
else is drawn once from a fixed generator.
"""

from datetime import date, timedelta
from random import Random
from typing import Any, NamedTuple

CURRENCY = "USD"
DISPENSING_FEE_CENTS = 325
BRAND_FACTOR = 3.4
BRAND_COPAY_FACTOR = 2
DISCOUNT_CARD_FACTOR = 0.62
COPAY_CENTS = {1: 500, 2: 1_800, 3: 4_200}
DAYS_PER_MONTH = 30

# name: (strength, tier, cost of one unit in cents, units a day)
MEDICINES = {
    "metoprolol": ("50 mg tablet", 1, 21, 2),
    "apixaban": ("5 mg tablet", 3, 468, 2),
    "atorvastatin": ("20 mg tablet", 1, 17, 1),
    "levothyroxine": ("75 mcg tablet", 1, 24, 1),
    "amlodipine": ("5 mg tablet", 1, 14, 1),
    "metformin": ("500 mg tablet", 1, 9, 2),
    "sertraline": ("100 mg tablet", 1, 27, 1),
    "pantoprazole": ("40 mg tablet", 1, 19, 1),
    "losartan": ("50 mg tablet", 1, 22, 1),
    "montelukast": ("10 mg tablet", 2, 58, 1),
    "duloxetine": ("60 mg capsule", 2, 83, 1),
    "tamsulosin": ("0.4 mg capsule", 2, 61, 1),
    "rosuvastatin": ("10 mg tablet", 2, 49, 1),
    "empagliflozin": ("10 mg tablet", 3, 1_935, 1),
    "ticagrelor": ("90 mg tablet", 3, 655, 2),
    "mirabegron": ("50 mg tablet", 3, 1_420, 1),
}
BRANCHES = (
    "Harbour Mall",
    "Alder Street",
    "University Gate",
    "Canal Square",
    "Northfield",
    "Mill Lane",
    "Westbridge",
)
FIRST_NAMES = (
    "Anouk Bela Cormac Dunja Edgar Fenna Gideon Hedda Ivo Jarmila Kasper Ludmila Matthis Noor"
).split()
LAST_NAMES = (
    "Aldous Brekke Corvin Dahlke Estrada Fiala Grimaud Hollander Ivers Jansma Kovalenko Lund"
).split()
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


class Patient(NamedTuple):
    """A person on file; the plan pays after the deductible, less the coinsurance."""

    patient_id: str
    name: str
    born: date
    plan: str
    deductible_left_cents: int
    coinsurance_percent: int


class Prescription(NamedTuple):
    """One prescription; the units a day are the medicine's."""

    number: str
    patient_id: str
    medicine: str
    status: str
    refills_left: int
    valid_until: date


class Lot(NamedTuple):
    """Stock of one medicine in one branch."""

    number: str
    expires: date
    on_hand: int


PATIENTS = [
    Patient("PT-58M2K", "Ilse Brandvold", date(1961, 4, 17), "Cedar Silver", 2_350, 25),
    Patient("PT-91C7X", "Ilse Brandvold", date(1987, 9, 2), "Cedar Bronze", 40_000, 40),
    Patient("PT-30W6F", "Teodor Haas", date(1961, 4, 17), "Juniper Plus", 0, 15),
]
PRESCRIPTIONS = [
    Prescription("RX7720418", "PT-58M2K", "metoprolol", "expired", 0, date(2025, 8, 30)),
    Prescription("RX8104492", "PT-58M2K", "apixaban", "expired", 0, date(2025, 12, 14)),
    Prescription("RX8813560", "PT-58M2K", "metoprolol", "active", 3, date(2026, 11, 12)),
    Prescription("RX8829047", "PT-58M2K", "apixaban", "active", 5, date(2027, 1, 20)),
    Prescription("RX8790332", "PT-58M2K", "atorvastatin", "active", 1, date(2026, 9, 4)),
    Prescription("RX8801965", "PT-91C7X", "metoprolol", "active", 2, date(2026, 12, 1)),
    Prescription("RX8816274", "PT-30W6F", "metoprolol", "active", 2, date(2026, 10, 18)),
    Prescription("RX8822719", "PT-30W6F", "apixaban", "active", 4, date(2026, 12, 30)),
]
LOTS: dict[tuple[str, str], list[Lot]] = {
    ("Alder Street", "metoprolol"): [
        Lot("MT2409-D", date(2026, 4, 10), 400),
        Lot("MT2511-A", date(2026, 10, 31), 130),
        Lot("MT2502-K", date(2027, 1, 31), 264),
        Lot("MT2507-C", date(2027, 8, 31), 720),
    ]
}


def _fill_files() -> None:
    rng = Random(66_018)
    names = list(MEDICINES)
    for _ in range(260):
        first, last = rng.sample(LETTERS, 2)
        patient_id = f"PT-{rng.randrange(10, 100)}{first}{rng.randrange(10)}{last}"
        born = date(1938, 1, 1) + timedelta(days=rng.randrange(24_000))
        plan, coinsurance = rng.choice((("Cedar Silver", 25), ("Cedar Bronze", 40), ("Juniper Plus", 15)))
        name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        PATIENTS.append(Patient(patient_id, name, born, plan, 50 * rng.randrange(800), coinsurance))
        for medicine in rng.sample(names, rng.randrange(1, 5)):
            number = f"RX{rng.randrange(7_000_000, 8_790_000)}"
            status = rng.choice(("active", "active", "active", "expired", "on_hold"))
            valid_until = date(2026, 4, 1) + timedelta(days=rng.randrange(360))
            PRESCRIPTIONS.append(
                Prescription(number, patient_id, medicine, status, rng.randrange(6), valid_until)
            )
    for branch in BRANCHES:
        for medicine in names:
            if (branch, medicine) not in LOTS:
                LOTS[branch, medicine] = [
                    Lot(
                        f"{medicine[:2].upper()}{rng.randrange(2401, 2512)}-{rng.choice(LETTERS)}",
                        date(2026, 5, 1) + timedelta(days=rng.randrange(700)),
                        rng.randrange(40, 900, 10),
                    )
                    for _ in range(4)
                ]


_fill_files()
PATIENTS_BY_ID = {patient.patient_id: patient for patient in PATIENTS}
PRESCRIPTIONS_BY_NUMBER = {prescription.number: prescription for prescription in PRESCRIPTIONS}


def find_patient(full_name: str, date_of_birth: str) -> dict[str, Any]:
    """Identify a patient by name and date of birth."""
    try:
        born = date.fromisoformat(date_of_birth)
    except ValueError:
        raise ValueError(f"date_of_birth must be a date such as 1974-06-30, not {date_of_birth!r}") from None
    for patient in PATIENTS:
        if patient.name.casefold() == full_name.strip().casefold() and patient.born == born:
            return {"patient_id": patient.patient_id, "plan": patient.plan}
    raise LookupError("no patient with that name and date of birth; check the spelling with the patient")


def find_prescription(patient_id: str, medicine: str, status: str) -> dict[str, Any]:
    """Find a patient's prescription for a medicine."""
    if patient_id not in PATIENTS_BY_ID:
        raise LookupError(f"no patient {patient_id!r}; patient ids come from find_patient")
    wanted = medicine.strip().casefold()
    for prescription in PRESCRIPTIONS:
        if (prescription.patient_id, prescription.medicine, prescription.status) == (
            patient_id,
            wanted,
            status,
        ):
            strength, _, _, units = MEDICINES[wanted]
            return {
                "prescription_number": prescription.number,
                "strength": strength,
                "units_per_day": units,
                "refills_left": prescription.refills_left,
                "valid_until": prescription.valid_until.isoformat(),
            }
    raise LookupError(
        f"patient {patient_id} has no {status} prescription for {medicine!r}; give the generic name"
    )


def allocate_lot(
    prescription_number: str, branch: str, days_supply: int = 30, months_left: int = 1
) -> dict[str, Any]:
    """Pick the lot that expires first, among those that hold the whole fill and outlast it."""
    prescription = _prescription(prescription_number)
    lots = LOTS.get((branch.strip().title(), prescription.medicine))
    if lots is None:
        raise LookupError(f"no branch {branch!r}; give the branch name as on the shop front")
    units = days_supply * MEDICINES[prescription.medicine][3]
    outlasts = date.today() + timedelta(days=days_supply + DAYS_PER_MONTH * months_left)
    fitting = [lot for lot in lots if lot.on_hand >= units and lot.expires >= outlasts]
    if not fitting:
        raise LookupError(
            f"no single lot at {branch} holds {units} units that last long enough; try a shorter supply"
        )
    lot = min(fitting, key=lambda candidate: candidate.expires)
    return {
        "lot_number": lot.number,
        "expires_on": lot.expires.isoformat(),
        "units": units,
        "left_after_fill": lot.on_hand - units,
        "lots_passed_over": len(lots) - len(fitting),
    }


def price_fill(
    prescription_number: str, payer: str, days_supply: int = 30, allow_generic: bool = False
) -> dict[str, Any]:
    """Work out what the patient pays at the counter."""
    prescription = _prescription(prescription_number)
    if prescription.status != "active":
        raise ValueError(
            f"prescription {prescription_number} is {prescription.status}; only active ones are priced"
        )
    patient = PATIENTS_BY_ID[prescription.patient_id]
    _, tier, unit_cents, units_a_day = MEDICINES[prescription.medicine]
    list_price = round(unit_cents * units_a_day * days_supply * (1 if allow_generic else BRAND_FACTOR))
    list_price += DISPENSING_FEE_CENTS
    result: dict[str, Any] = {"prescription_number": prescription.number, "payer": payer}
    if payer == "plan":
        deductible = min(list_price, patient.deductible_left_cents)
        share = round((list_price - deductible) * patient.coinsurance_percent / 100)
        fills = days_supply // DAYS_PER_MONTH * (1 if allow_generic else BRAND_COPAY_FACTOR)
        pays = deductible + min(COPAY_CENTS[tier] * fills, share)
        result |= {"towards_deductible": _money(deductible), "tier": tier}
    else:
        pays = round(list_price * (DISCOUNT_CARD_FACTOR if payer == "discount_card" else 1))
    return result | {"patient_pays": _money(pays)}


def _prescription(number: str) -> Prescription:
    prescription = PRESCRIPTIONS_BY_NUMBER.get(number.strip().upper())
    if prescription is None:
        raise LookupError(f"no prescription {number!r}; numbers come from find_prescription")
    return prescription


def _money(cents: int) -> str:
    return f"{cents / 100:,.2f} {CURRENCY}"
