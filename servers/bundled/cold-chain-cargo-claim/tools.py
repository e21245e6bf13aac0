"""A cold-chain carrier: waybills, legs of a journey, temperature logs of its reefer boxes, and claims.

The shipments of one shipper are written by hand, the others are generated under a fixed seed. Logs are
kept as excursions: a rise from the set point to a peak and back, so that the time above any limit follows.
"""

import datetime as dt
from random import Random
from typing import NamedTuple

PAGE_SIZE = 3
SET_POINT = -20.0  # degrees Celsius of every frozen box
MAX_LOG_DAYS = 10
CITY_HUBS = {"成都": "西安", "重庆": "武汉", "昆明": "贵阳", "南宁": "长沙", "西宁": "兰州", "福州": "南昌"}
ORIGINS = ("大连", "青岛", "烟台", "天津")
DEGREE_MINUTES_OF_TOTAL_LOSS = 9600  # minutes above the limit, times degrees of the peak above the set point
LIMITED_COVER_PERCENT = 30


class _Leg(NamedTuple):
    leg_type: str
    route: str
    box_no: str
    departed: dt.datetime
    delay_minutes: int


class _Waybill(NamedTuple):
    waybill_no: str
    shipper: str
    shipped_on: dt.date
    destination: str
    product: str
    cartons: int
    declared_yuan: int
    legs: tuple[_Leg, ...]


class _Excursion(NamedTuple):
    started: dt.datetime
    minutes: int  # above the set point
    peak: float


def _legs(origin: str, city: str, day: dt.date, boxes: list[str], delays: list[int]) -> tuple[_Leg, ...]:
    hub = CITY_HUBS[city]
    start = dt.datetime.combine(day, dt.time(7, 40))
    return (
        _Leg("提货", f"{origin}冷库 → {origin}分拨中心", boxes[0], start, delays[0]),
        _Leg("干线", f"{origin} → {hub}", boxes[1], start + dt.timedelta(hours=6), delays[1]),
        _Leg("干线", f"{hub} → {city}", boxes[2], start + dt.timedelta(hours=31), delays[2]),
        _Leg("派送", f"{city}分拨中心 → 收货方", boxes[3], start + dt.timedelta(hours=50), delays[3]),
    )


# waybill | shipper | day | city | product | cartons | declared yuan | boxes of the legs | delays in minutes
_WRITTEN_ROWS = """
LY6617401127|青禾远洋食品|2026-06-17|重庆|单冻南美白虾仁|120|97600|LX31168 LX50305 LX51018 LX30803|0 20 0 15
LY6617401296|青禾远洋食品|2026-06-17|成都|单冻带鱼段|160|67200|LX31172 LX50311 LX50948 LX30709|0 0 26 0
LY6617401463|青禾远洋食品|2026-06-17|昆明|去壳南美白虾仁|135|110300|LX31168 LX50305 LX51022 LX30827|0 20 55 0
LY6617401738|青禾远洋食品|2026-06-17|成都|虾夷扇贝柱|110|99000|LX31180 LX50331 LX50948 LX30712|0 0 26 35
LY6617401850|青禾远洋食品|2026-06-17|福州|凤尾虾仁|88|79200|LX31172 LX50311 LX51029 LX30841|0 0 72 10
LY6617402059|青禾远洋食品|2026-06-17|成都|三文鱼排|70|112000|LX31180 LX50331 LX50953 LX30718|0 0 41 0
LY6617402385|青禾远洋食品|2026-06-17|成都|去壳南美白虾仁|180|146880|LX31176 LX50318 LX50942 LX30725|0 35 318 20
LY6617402512|青禾远洋食品|2026-06-17|成都|阿拉斯加鳕鱼排|96|88300|LX31176 LX50327 LX50960 LX30731|0 12 64 0
LY6617403049|青禾远洋食品|2026-06-17|成都|手打墨鱼丸|240|61200|LX31180 LX50327 LX50960 LX30744|5 12 64 15
LY6617404174|青禾远洋食品|2026-06-17|重庆|去壳南美白虾仁|150|122400|LX31180 LX50331 LX51006 LX30819|0 0 47 10
LY6614398860|青禾远洋食品|2026-06-14|成都|去壳南美白虾仁|165|134640|LX31162 LX50294 LX50877 LX30692|0 226 18 0
LY6620405931|青禾远洋食品|2026-06-20|成都|去壳南美白虾仁|200|163200|LX31195 LX50366 LX51040 LX30750|10 0 0 95
LY6617404498|海昱水产|2026-06-17|成都|单冻青虾仁|75|52500|LX31211 LX50340 LX51013 LX30766|0 18 0 30
""".strip()
_WRITTEN_LOGS = {
    "LX50942": (
        _Excursion(dt.datetime(2026, 6, 18, 15, 20), 74, -13.5),
        _Excursion(dt.datetime(2026, 6, 18, 22, 45), 287, -7.8),
        _Excursion(dt.datetime(2026, 6, 19, 6, 10), 118, -11.6),
    ),
}
_BRANDS = "海昱 泓润 北澜 冰川 远帆 鲜屿 银鳞 蓝湾 松江 沃野 盛滩 云极".split()
_LINES = ("水产", "冷冻食品", "肉业")
_PRODUCTS = ("冻带鱼段", "冻鸡胸肉", "肥牛卷", "速冻水饺", "鲜冻扇贝", "冻秋刀鱼", "羊肉串", "冻蓝莓", "青虾仁", "鱼丸")


def _written() -> list[_Waybill]:
    waybills: list[_Waybill] = []
    for row in _WRITTEN_ROWS.splitlines():
        number, shipper, date, city, product, cartons, yuan, boxes, delays = row.split("|")
        day = dt.date.fromisoformat(date)
        legs = _legs("大连", city, day, boxes.split(), [int(d) for d in delays.split()])
        waybills.append(_Waybill(number, shipper, day, city, product, int(cartons), int(yuan), legs))
    return waybills


def _generated() -> list[_Waybill]:
    rng = Random(20260617)
    waybills: list[_Waybill] = []
    for shipper in (brand + line for brand in _BRANDS for line in _LINES):
        for _ in range(14):
            day = dt.date(2026, 6, 1) + dt.timedelta(days=rng.randrange(24))
            city = rng.choice(tuple(CITY_HUBS))
            boxes = [f"LX{rng.randrange(60_000, 99_999)}" for _ in range(4)]
            delays = [max(0, rng.randint(-90, 240)) for _ in range(4)]
            cartons = rng.randint(20, 400)
            legs = _legs(rng.choice(ORIGINS), city, day, boxes, delays)
            number = f"LY{rng.randrange(7_000_000_000, 9_999_999_999)}"
            product, yuan = rng.choice(_PRODUCTS), cartons * rng.randint(190, 900)
            waybills.append(_Waybill(number, shipper, day, city, product, cartons, yuan, legs))
    return waybills


_WAYBILLS = {w.waybill_no: w for w in (*_written(), *_generated())}
_SHIPPERS = {w.shipper for w in _WAYBILLS.values()}
_BOXES = {leg.box_no for waybill in _WAYBILLS.values() for leg in waybill.legs}


def find_waybills(
    shipper: str, ship_date: str, destination_city: str = "不限", product: str = "", page: int = 1
) -> dict[str, object]:
    """Find a shipper's waybills of one day in order of their numbers, three a page."""
    if shipper not in _SHIPPERS:
        raise LookupError("未找到该发货方，请填写发货方全称")
    day = _date(ship_date)
    found = [
        w
        for w in _WAYBILLS.values()
        if (w.shipper, w.shipped_on) == (shipper, day)
        and destination_city in ("不限", w.destination)
        and product in w.product
    ]
    found.sort(key=lambda w: w.waybill_no)
    shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return {
        "total": len(found),
        "page": page,
        "waybills": [
            {
                "waybill_no": w.waybill_no,
                "destination": w.destination,
                "product": w.product,
                "cartons": f"{w.cartons} 箱",
            }
            for w in shown
        ],
    }


def get_journey(waybill_no: str, leg_type: str = "全部") -> dict[str, object]:
    """Show the legs of a shipment: route, reefer box, departure and delay."""
    waybill = _waybill(waybill_no)
    return {
        "waybill_no": waybill_no,
        "product": waybill.product,
        "legs": [
            {
                "leg_type": leg.leg_type,
                "route": leg.route,
                "box_no": leg.box_no,
                "departed": f"{leg.departed:%Y-%m-%d %H:%M}",
                "delay": f"晚到 {leg.delay_minutes} 分钟" if leg.delay_minutes else "准点",
            }
            for leg in waybill.legs
            if leg_type in ("全部", leg.leg_type)
        ],
    }


def list_excursions(
    box_no: str, start_date: str, end_date: str, limit_celsius: float = -18, longest_only: bool = False
) -> dict[str, object]:
    """List when a box was warmer than a limit, for how long and how warm it got."""
    if box_no not in _BOXES:
        raise LookupError(f"冷藏箱“{box_no}”不存在，请先用 get_journey 查询箱号")
    first, last = _date(start_date), _date(end_date)
    if not 0 <= (last - first).days < MAX_LOG_DAYS:
        raise ValueError(f"结束日期不能早于开始日期，且一次最多查询 {MAX_LOG_DAYS} 天")
    log = [(e, _minutes_above(e, limit_celsius)) for e in _log(box_no, first, last)]
    found = [(e, minutes) for e, minutes in log if minutes > 0]
    if longest_only:
        found = sorted(found, key=lambda pair: pair[1])[-1:]
    return {
        "box_no": box_no,
        "limit": f"{limit_celsius:g} ℃",
        "excursions": [
            {
                "started": f"{e.started:%Y-%m-%d %H:%M}",
                "duration": f"{minutes} 分钟",
                "peak": f"{e.peak} ℃",
            }
            for e, minutes in found
        ],
    }


def assess_claim(
    waybill_no: str, excursion_minutes: int, peak_celsius: float, cover: str = "限额保价"
) -> dict[str, object]:
    """Assess what the carrier pays for one excursion of a shipment."""
    waybill = _waybill(waybill_no)
    degrees = max(0.0, peak_celsius - SET_POINT)
    loss_share = min(1.0, excursion_minutes * degrees / DEGREE_MINUTES_OF_TOTAL_LOSS)
    payable_percent = 100 if cover == "足额保价" else LIMITED_COVER_PERCENT
    fen = round(waybill.declared_yuan * loss_share * payable_percent)
    return {
        "waybill_no": waybill_no,
        "declared_value": f"{waybill.declared_yuan:,} 元",
        "loss_share": f"{loss_share:.2%}",
        "cover": cover,
        "payout": f"{fen / 100:,.2f} 元",
    }


def _waybill(waybill_no: str) -> _Waybill:
    try:
        return _WAYBILLS[waybill_no]
    except KeyError:
        raise LookupError(f"运单号“{waybill_no}”不存在，请先用 find_waybills 查询") from None


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError("日期无效，请按 YYYY-MM-DD 填写") from None


def _log(box_no: str, first: dt.date, last: dt.date) -> list[_Excursion]:
    written = _WRITTEN_LOGS.get(box_no)
    if written is not None:
        return [e for e in written if first <= e.started.date() <= last]
    days = [first + dt.timedelta(days=n) for n in range((last - first).days + 1)]
    return [_generated_excursion(box_no, day) for day in days]


def _generated_excursion(box_no: str, day: dt.date) -> _Excursion:
    rng = Random(f"{box_no} {day}")
    started = dt.datetime.combine(day, dt.time(rng.randrange(24), rng.randrange(0, 60, 5)))
    return _Excursion(started, rng.randint(30, 260), round(rng.uniform(-19, -9), 1))


def _minutes_above(excursion: _Excursion, limit: float) -> int:
    """Minutes over the limit, on a straight rise to the peak and a straight fall back."""
    if limit <= SET_POINT:
        return excursion.minutes
    return round(excursion.minutes * (excursion.peak - limit) / (excursion.peak - SET_POINT))
