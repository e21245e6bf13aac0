"""Registrar of a small college: sections, registrations, swaps, payment plans and exam seats.

The state of an episode is the set of registrations. A swap changes it, and with it what the student
owes and where the exam is sat.
"""

import random
from hashlib import sha256

TERM = "2026-FALL"
TUITION_PER_CREDIT = 312.50
MODE_FACTOR = {"letter": 1.0, "pass_fail": 1.0, "audit": 0.5}
MODE_FEE = {"letter": 0.0, "pass_fail": 35.0, "audit": 12.5}
PLAN_FEE_PER_INSTALLMENT = 9.0
SLOTS = ("08:00", "09:30", "11:00", "13:00", "14:30", "16:00", "17:30")
SLOT_MINUTES = 75
CAMPUS_FEE = {"Harbor": 0.0, "Old Mill": 12.0, "North Hall": 18.5, "Lakeside": 27.25}
# Day patterns are drawn in this proportion; R stands for Thursday, as registrars write it.
PATTERNS = ("MW", "MW", "TR", "TR", "MWF", "WF", "M", "T", "W", "R", "F")
EXAM_HALLS = ("KEP", "NOR", "TYN", "ALD")

# subject|number title (credits, course fee in USD)
_CATALOG_TABLE = """
GEOG|1105 World Regions (3, 0)|2310 Thematic Cartography (3, 40)
GEOG|3420 Remote Sensing (4, 135)|3655 Urban Systems (3, 0)
ENVS|1010 Earth Systems (4, 60)|2240 Water Policy (3, 0)
ENVS|3180 Soil Science (4, 95)|4015 Field Ecology (4, 180)
STAT|1200 Data Literacy (3, 0)|2410 Linear Models (4, 25)
STAT|3305 Spatial Statistics (4, 25)|3620 Survey Design (3, 0)
CSCI|1150 Programming I (4, 50)|2260 Data Structures (4, 50)
CSCI|3330 Databases (3, 50)|3740 Visualization (3, 70)
BIOL|1110 Cell Biology (4, 110)|2205 Genetics (4, 110)
BIOL|3015 Botany (3, 85)|3450 Marine Biology (4, 150)
ECON|1020 Microeconomics (3, 0)|2130 Game Theory (3, 0)
ECON|3260 Resource Economics (3, 15)|3510 Econometrics (4, 25)
HIST|1080 Atlantic World (3, 0)|2350 History of Maps (3, 20)
HIST|3120 Oral History (3, 30)|3405 Industrial Cities (3, 0)
PHYS|1210 Mechanics (4, 75)|2220 Optics (4, 75)
PHYS|3310 Climate Physics (4, 75)|3515 Acoustics (3, 60)
ARTS|1015 Drawing (3, 55)|2140 Printmaking (3, 120)
ARTS|3230 Photography (3, 140)|3465 Book Arts (3, 105)
SPAN|1010 Elementary Spanish (4, 0)|2200 Conversation (3, 0)
SPAN|3305 Golden Age (3, 0)|3410 Translation (3, 10)
"""

COURSES = {}
for _line in _CATALOG_TABLE.strip().splitlines():
    _subject, *_entries = _line.split("|")
    for _entry in _entries:
        _number, _, _rest = _entry.partition(" ")
        _title, _, _terms = _rest.rstrip(")").partition(" (")
        _credits, _fee = map(int, _terms.split(", "))
        COURSES[f"{_subject}-{_number}"] = (_title, _credits, _fee)

# crn|course|days|start|campus|open seats
_CORE_SECTIONS = """
48217|STAT-3305|TR|16:00|Lakeside|3
61950|STAT-3305|TR|14:30|Lakeside|6
33408|STAT-3305|TR|16:00|Lakeside|0
57126|STAT-3305|TR|17:30|Lakeside|9
84035|GEOG-2310|WF|09:30|North Hall|1
29761|BIOL-1110|TR|17:30|Lakeside|0
70284|PHYS-3310|MW|11:00|Old Mill|4
41593|HIST-2350|MW|13:00|Harbor|0
"""
_CORE_STUDENT = ("S-209316", ("84035", "29761", "70284", "41593"), 2400.0)


def _open_sections(rng: random.Random) -> dict:
    """Schedule the core sections and three to six more of every course."""
    sections = {}
    for row in _CORE_SECTIONS.strip().splitlines():
        crn, course, days, start, campus, seats_open = row.split("|")
        sections[crn] = _section(course, days, start, campus, int(seats_open))
    numbers = (n for n in rng.sample(range(20_000, 90_000), 300) if str(n) not in sections)
    for course in COURSES:
        for _ in range(rng.randint(3, 6)):
            seats = rng.choice((18, 24, 30))
            seats_open = max(0, seats - rng.randint(seats // 2, seats + 4))
            sections[str(next(numbers))] = _section(
                course,
                rng.choice(PATTERNS),
                rng.choice(SLOTS),
                rng.choice([*CAMPUS_FEE]),
                seats_open,
            )
    return sections


def _section(course: str, days: str, start: str, campus: str, seats_open: int) -> dict:
    return {
        "course": course,
        "days": days,
        "start": start,
        "campus": campus,
        "seats_open": seats_open,
    }


def _enroll_students(rng: random.Random) -> dict:
    """Register 500 students, and the core one, for three or four sections each that do not overlap."""
    registrations = {}
    crns = list(SECTIONS)
    for number in range(500):
        student = f"S-{204_100 + 7 * number}"
        chosen = []
        for crn in rng.sample(crns, 12):
            is_new = SECTIONS[crn]["course"] not in {SECTIONS[c]["course"] for c in chosen}
            if len(chosen) < 3 + number % 2 and is_new and not _clashes(crn, chosen):
                chosen.append(crn)
        registrations |= _registered(student, chosen, 250.0 * rng.randint(2, 7))
    return registrations | _registered(*_CORE_STUDENT)


def _registered(student: str, crns: list, paid: float) -> dict:
    registration_id = f"REG-{sha256(f'{student}/{TERM}'.encode()).hexdigest()[:7].upper()}"
    record = {"student": student, "modes": dict.fromkeys(crns, "letter"), "paid": paid}
    return {registration_id: record}


def _clashes(crn: str, others: list) -> list:
    """Find the sections among ``others`` that meet on a day and at a time of this one."""
    section = SECTIONS[crn]
    return [
        other
        for other in others
        if SECTIONS[other]["start"] == section["start"]
        and set(SECTIONS[other]["days"]) & set(section["days"])
    ]


_rng = random.Random(20260824)
SECTIONS = _open_sections(_rng)
REGISTRATIONS = _enroll_students(_rng)


def get_registration(student_id: str, include_meetings: bool = False) -> dict:
    """Look up a student's registration for the fall term and the sections in it."""
    for registration_id, record in REGISTRATIONS.items():
        if record["student"] == student_id:
            courses = [
                {"course": SECTIONS[crn]["course"], "crn": crn, "grading": mode}
                | (_meeting(crn) if include_meetings else {})
                for crn, mode in record["modes"].items()
            ]
            return {
                "student_id": student_id,
                "term": TERM,
                "registration_id": registration_id,
                "courses": courses,
            }
    raise LookupError(f"no student {student_id!r} is registered for {TERM}; ids are S- and six digits")


def search_sections(
    course: str,
    days: str,
    campus: str,
    start_after: str = "08:00",
    open_only: bool = True,
) -> dict:
    """Find the sections of a course that meet on a day pattern at a campus."""
    title, credits_, fee = _course(course)
    found = [
        {"crn": crn, **_meeting(crn), "seats_open": section["seats_open"]}
        for crn, section in SECTIONS.items()
        if section["course"] == course
        and section["days"] == days
        and section["campus"] == campus
        and section["start"] >= start_after
        and (section["seats_open"] > 0 or not open_only)
    ]
    return {
        "course": course,
        "title": title,
        "credits": credits_,
        "course_fee": f"{fee:.2f} USD",
        "campus_fee": f"{CAMPUS_FEE[campus]:.2f} USD",
        "sections": found,
    }


def swap_section(
    registration_id: str, drop_course: str, add_crn: str, grading: str = "letter"
) -> dict:
    """Drop a course and add a section in one step; all or nothing."""
    record = _registration(registration_id)
    dropped = _crn_in(record, drop_course)
    if add_crn not in SECTIONS:
        raise LookupError(f"no section {add_crn!r}; section numbers come from search_sections")
    kept = [crn for crn in record["modes"] if crn != dropped]
    if add_crn in record["modes"]:
        raise ValueError(f"section {add_crn} is already in {registration_id}")
    if clashes := _clashes(add_crn, kept):
        raise ValueError(f"section {add_crn} overlaps {SECTIONS[clashes[0]]['course']}")
    if not SECTIONS[add_crn]["seats_open"]:
        raise ValueError(f"section {add_crn} is full; search_sections lists the open ones")
    difference = _price(add_crn, grading) - _price(dropped, record["modes"][dropped])
    del record["modes"][dropped]
    record["modes"][add_crn] = grading
    SECTIONS[dropped]["seats_open"] += 1
    SECTIONS[add_crn]["seats_open"] -= 1
    return {
        "registration_id": registration_id,
        "dropped": drop_course,
        "added": SECTIONS[add_crn]["course"],
        "crn": add_crn,
        "grading": grading,
        "tuition_difference": f"{difference:,.2f} USD",
    }


def get_payment_plan(registration_id: str, installments: int = 1) -> dict:
    """Split what a registration still owes into equal monthly installments."""
    record = _registration(registration_id)
    charges = sum(_price(crn, mode) for crn, mode in record["modes"].items())
    owed = max(0.0, charges - record["paid"])
    plan_fee = PLAN_FEE_PER_INSTALLMENT * (installments - 1)
    return {
        "registration_id": registration_id,
        "charges": f"{charges:,.2f} USD",
        "paid": f"{record['paid']:,.2f} USD",
        "plan_fee": f"{plan_fee:,.2f} USD",
        "installments": installments,
        "each_installment": f"{(owed + plan_fee) / installments:,.2f} USD",
        "first_due": "2026-09-15",
    }


def get_exam_seat(registration_id: str, course: str, sitting: str) -> dict:
    """Tell where and when the student of a registration sits the final exam of a course."""
    record = _registration(registration_id)
    crn = _crn_in(record, course)
    if record["modes"][crn] == "audit":
        raise ValueError(f"{course} is audited in {registration_id}; auditors sit no exam")
    rng = random.Random(f"{registration_id}/{crn}/{sitting}")
    month, first_day = (12, 7) if sitting == "regular" else (1, 11)
    return {
        "course": course,
        "sitting": sitting,
        "date": f"{2026 + (month == 1)}-{month:02d}-{first_day + rng.randint(0, 4):02d}",
        "start": rng.choice(("08:30", "12:00", "15:30")),
        "seat": f"{rng.choice(EXAM_HALLS)}-{rng.choice('ABCDEFGH')}{rng.randint(1, 60):02d}",
    }


def _course(course: str) -> tuple:
    if course not in COURSES:
        raise LookupError(f"no course {course!r}; codes are four letters, a hyphen and four digits")
    return COURSES[course]


def _registration(registration_id: str) -> dict:
    if registration_id not in REGISTRATIONS:
        raise LookupError(f"no registration {registration_id!r}; ids come from get_registration")
    return REGISTRATIONS[registration_id]


def _crn_in(record: dict, course: str) -> str:
    for crn in record["modes"]:
        if SECTIONS[crn]["course"] == course:
            return crn
    raise ValueError(f"{course} is not in this registration; get_registration lists its courses")


def _meeting(crn: str) -> dict:
    section = SECTIONS[crn]
    start = 60 * int(section["start"][:2]) + int(section["start"][3:])
    end = start + SLOT_MINUTES
    return {
        "days": section["days"],
        "start": section["start"],
        "end": f"{end // 60:02d}:{end % 60:02d}",
        "campus": section["campus"],
    }


def _price(crn: str, mode: str) -> float:
    _, credits_, fee = COURSES[SECTIONS[crn]["course"]]
    campus_fee = CAMPUS_FEE[SECTIONS[crn]["campus"]]
    return credits_ * TUITION_PER_CREDIT * MODE_FACTOR[mode] + fee + campus_fee + MODE_FEE[mode]
