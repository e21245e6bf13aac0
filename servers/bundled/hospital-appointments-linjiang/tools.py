"""Outpatient appointments of one city's hospitals; a booking takes its number out of the session.

One department is written by hand, the rest is generated under a fixed seed. The bookings of an episode
are the only state: everything else is constant.
"""

import datetime as dt
from hashlib import sha256
from random import Random
from typing import NamedTuple

PAGE_SIZE = 3
FIRST_DAY = dt.date(2026, 3, 9)
OPEN_DAYS = 14
SESSION_STARTS = {"上午": 8 * 60, "下午": 13 * 60 + 30, "夜间": 17 * 60 + 45}  # minutes of the day
FEES_YUAN = {"主治医师": 25, "副主任医师": 38, "主任医师": 60}
INSURANCE_SHARE_PERCENT = 60

HOSPITALS = ("临江大学附属医院", "临江市第一人民医院", "临江市第二人民医院", "临江市中医院", "临江市妇幼保健院", "临江湾区医院")
SPECIALTIES = {
    "内分泌科": ("糖尿病", "甲状腺结节", "甲亢", "痛风", "骨质疏松"),
    "心血管内科": ("高血压", "冠心病", "心律失常", "心力衰竭"),
    "消化内科": ("慢性胃炎", "幽门螺杆菌感染", "肠易激综合征", "脂肪肝"),
    "呼吸内科": ("慢性咳嗽", "支气管哮喘", "肺结节", "慢阻肺"),
    "神经内科": ("偏头痛", "帕金森病", "失眠", "眩晕"),
    "皮肤科": ("湿疹", "银屑病", "痤疮", "荨麻疹"),
    "骨科": ("腰椎间盘突出", "膝关节炎", "肩周炎", "骨折康复"),
    "眼科": ("白内障", "青光眼", "近视防控", "干眼症"),
    "耳鼻喉科": ("过敏性鼻炎", "中耳炎", "声带息肉", "耳鸣"),
    "妇科": ("子宫肌瘤", "多囊卵巢综合征", "更年期综合征", "宫颈病变"),
}


class _Doctor(NamedTuple):
    doctor_id: str
    name: str
    gender: str
    title: str
    hospital: str
    department: str
    specialties: tuple[str, ...]


class _Session(NamedTuple):
    session_id: str
    doctor_id: str
    date: dt.date
    half_day: str
    minutes_each: int
    first_free: int
    last_slot: int
    is_suspended: bool = False


def _written_doctor(doctor_id: str, name: str, gender: str, title: str, *specialties: str) -> _Doctor:
    return _Doctor(doctor_id, name, gender, title, HOSPITALS[0], "内分泌科", specialties)


_WRITTEN_DOCTORS = (
    _written_doctor("D70401", "闻人杰", "男", "主任医师", "甲状腺结节", "痛风"),
    _written_doctor("D70403", "许照临", "女", "副主任医师", "甲状腺结节", "骨质疏松"),
    _written_doctor("D70406", "岑北辰", "男", "主任医师", "甲状腺结节", "甲亢"),
    _written_doctor("D70409", "江听澜", "女", "主治医师", "甲状腺结节", "甲亢"),
    _written_doctor("D70412", "容景行", "男", "主任医师", "甲状腺结节", "骨质疏松"),
    _written_doctor("D70414", "沈知微", "女", "副主任医师", "甲状腺结节", "糖尿病"),
    _written_doctor("D70418", "苏映岚", "女", "主任医师", "甲状腺结节", "甲亢", "骨质疏松"),
    _written_doctor("D70425", "贺庭松", "男", "主任医师", "甲状腺结节", "糖尿病"),
    _written_doctor("D70433", "纪明漪", "女", "副主任医师", "甲状腺结节", "痛风"),
    _written_doctor("D70447", "卓念慈", "女", "主任医师", "糖尿病", "痛风"),
    _written_doctor("D70456", "邵一舟", "男", "副主任医师", "甲状腺结节", "甲亢"),
    _written_doctor("D70462", "阮清和", "女", "主治医师", "甲状腺结节", "糖尿病"),
)
_WRITTEN_SESSIONS = (
    _Session("MZ580216", "D70401", dt.date(2026, 3, 18), "下午", 9, 10, 22),
    _Session("MZ580371", "D70403", dt.date(2026, 3, 12), "下午", 7, 14, 28),
    _Session("MZ580548", "D70406", dt.date(2026, 3, 10), "下午", 10, 8, 20),
    _Session("MZ580733", "D70409", dt.date(2026, 3, 17), "上午", 6, 19, 36),
    _Session("MZ580915", "D70412", dt.date(2026, 3, 19), "下午", 9, 15, 24),
    _Session("MZ581127", "D70414", dt.date(2026, 3, 11), "下午", 8, 21, 30),
    _Session("MZ582107", "D70418", dt.date(2026, 3, 10), "上午", 8, 12, 28),
    _Session("MZ582113", "D70418", dt.date(2026, 3, 11), "下午", 8, 27, 26),
    _Session("MZ582126", "D70418", dt.date(2026, 3, 13), "下午", 8, 9, 26, is_suspended=True),
    _Session("MZ582140", "D70418", dt.date(2026, 3, 17), "上午", 8, 20, 28),
    _Session("MZ582158", "D70418", dt.date(2026, 3, 18), "下午", 8, 16, 26),
    _Session("MZ582171", "D70418", dt.date(2026, 3, 20), "下午", 8, 6, 26),
    _Session("MZ581934", "D70425", dt.date(2026, 3, 12), "下午", 10, 11, 20),
    _Session("MZ582005", "D70425", dt.date(2026, 3, 16), "上午", 10, 7, 24),
    _Session("MZ583316", "D70433", dt.date(2026, 3, 11), "下午", 7, 13, 30),
    _Session("MZ583420", "D70447", dt.date(2026, 3, 18), "下午", 9, 8, 22),
)
_SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡林郭何高罗"
_GIVEN_NAMES = ("建华", "志远", "丽萍", "思敏", "文涛", "海波", "雪梅", "国栋", "雅琴", "晓东", "玉兰", "子轩", "慧敏", "立新")
_CARDS = ["LJ88204417", "LJ60917352", *(f"LJ{Random(i).randrange(10**7, 10**8)}" for i in range(300))]


def _generate() -> tuple[list[_Doctor], list[_Session]]:
    rng = Random(20260309)
    doctors: list[_Doctor] = []
    sessions: list[_Session] = []
    for hospital in HOSPITALS:
        for department, specialties in SPECIALTIES.items():
            if (hospital, department) == (HOSPITALS[0], "内分泌科"):
                continue
            for _ in range(rng.randint(3, 6)):
                doctor_id = f"D{10_000 + len(doctors) * 97 + rng.randrange(90)}"
                name = rng.choice(_SURNAMES) + rng.choice(_GIVEN_NAMES)
                title = rng.choice(tuple(FEES_YUAN))
                known = tuple(rng.sample(specialties, 2))
                doctor = _Doctor(doctor_id, name, rng.choice("男女"), title, hospital, department, known)
                doctors.append(doctor)
                for day in sorted(rng.sample(range(OPEN_DAYS), 4)):
                    first_free = rng.randint(3, 24)
                    sessions.append(
                        _Session(
                            f"MZ{100_000 + len(sessions) * 401 + rng.randrange(400)}",
                            doctor_id,
                            FIRST_DAY + dt.timedelta(days=day),
                            rng.choice(tuple(SESSION_STARTS)),
                            rng.randint(5, 11),
                            first_free,
                            first_free + rng.randint(-1, 12),
                        )
                    )
    return doctors, sessions


_generated_doctors, _generated_sessions = _generate()
_DOCTORS = {d.doctor_id: d for d in (*_WRITTEN_DOCTORS, *_generated_doctors)}
_SESSIONS = {s.session_id: s for s in (*_WRITTEN_SESSIONS, *_generated_sessions)}
_bookings: dict[str, dict[int, str]] = {}  # session id -> number -> card


def search_doctors(
    hospital: str,
    department: str,
    specialty: str,
    title: str = "不限",
    gender: str = "不限",
    page: int = 1,
) -> dict[str, object]:
    """Find the doctors of a department who treat a condition, by their ids, three a page."""
    if hospital not in HOSPITALS:
        raise LookupError("未找到该医院，请填写医院全称")
    found = [
        d
        for d in _DOCTORS.values()
        if (d.hospital, d.department) == (hospital, department)
        and any(specialty in known for known in d.specialties)
        and title in ("不限", d.title)
        and gender in ("不限", d.gender)
    ]
    found.sort(key=lambda d: d.doctor_id)
    shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return {
        "total": len(found),
        "page": page,
        "doctors": [
            {
                "doctor_id": d.doctor_id,
                "name": d.name,
                "gender": d.gender,
                "title": d.title,
                "specialties": list(d.specialties),
            }
            for d in shown
        ],
    }


def list_sessions(
    doctor_id: str, start_date: str, days: int = 3, half_day: str = "不限", page: int = 1
) -> dict[str, object]:
    """List a doctor's outpatient sessions from a day on, with their state, three a page."""
    if doctor_id not in _DOCTORS:
        raise LookupError("医生编号不存在，请先用 search_doctors 查询")
    try:
        first = dt.date.fromisoformat(start_date)
        last = first + dt.timedelta(days=days - 1)
    except (ValueError, OverflowError):
        raise ValueError("起始日期无效，请按 YYYY-MM-DD 填写") from None
    found = [
        s
        for s in _SESSIONS.values()
        if s.doctor_id == doctor_id and first <= s.date <= last and half_day in ("不限", s.half_day)
    ]
    found.sort(key=lambda s: s.date)
    return {
        "doctor_id": doctor_id,
        "period": f"{first} 至 {last}",
        "total": len(found),
        "page": page,
        "sessions": [
            {
                "session_id": s.session_id,
                "date": str(s.date),
                "half_day": s.half_day,
                "status": _status(s),
            }
            for s in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        ],
    }


def book_appointment(session_id: str, card_no: str, slot_no: int = 0, payment: str = "自费") -> dict[str, object]:
    """Book a number of a session for a patient; 0 takes the earliest free one."""
    session = _open_session(session_id)
    if card_no not in _CARDS:
        raise LookupError(f"就诊卡号“{card_no}”未登记，请核对卡号")
    free = _free_slots(session)
    if not free:
        raise ValueError(f"门诊场次 {session_id} 已约满，请改约其他场次")
    taken = _bookings.setdefault(session_id, {})
    if card_no in taken.values():
        raise ValueError(f"就诊卡 {card_no} 在场次 {session_id} 已有预约，不能重复预约")
    slot = slot_no or free[0]
    if slot not in free:
        raise ValueError(f"场次 {session_id} 的 {slot} 号不可预约，请用 get_next_slot 查询可约的号")
    taken[slot] = card_no
    doctor = _DOCTORS[session.doctor_id]
    fee = FEES_YUAN[doctor.title]
    own_share = fee * (100 - INSURANCE_SHARE_PERCENT) // 100 if payment == "医保" else fee
    digest = sha256(f"{session_id}|{card_no}|{slot}".encode()).hexdigest()
    return {
        "voucher": f"YY-{digest[:8].upper()}",
        "doctor": doctor.name,
        "date": str(session.date),
        "slot_no": f"{slot}号",
        "time": _time(session, slot),
        "fee": f"{fee} 元",
        "self_pay": f"{own_share} 元",
    }


def get_next_slot(session_id: str, not_before: str = "00:00") -> dict[str, object]:
    """Look up the earliest free number of a session, at or after a time of day."""
    session = _open_session(session_id)
    free = _free_slots(session)
    suitable = [slot for slot in free if _time(session, slot) >= not_before]
    return {
        "session_id": session_id,
        "remaining": f"{len(free)} 个",
        "next_slot": f"{suitable[0]}号 {_time(session, suitable[0])}" if suitable else None,
    }


def _open_session(session_id: str) -> _Session:
    session = _SESSIONS.get(session_id)
    if session is None:
        raise LookupError("门诊场次不存在，请先用 list_sessions 查询")
    if session.is_suspended:
        raise ValueError(f"门诊场次 {session_id} 已停诊，请改约其他场次")
    return session


def _free_slots(session: _Session) -> list[int]:
    taken = _bookings.get(session.session_id, {})
    return [n for n in range(session.first_free, session.last_slot + 1) if n not in taken]


def _status(session: _Session) -> str:
    if session.is_suspended:
        return "停诊"
    return "可预约" if _free_slots(session) else "约满"


def _time(session: _Session, slot: int) -> str:
    minutes = SESSION_STARTS[session.half_day] + (slot - 1) * session.minutes_each
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
