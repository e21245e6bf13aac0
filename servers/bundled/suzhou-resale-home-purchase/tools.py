"""A resale-home platform of one city: listings, cost estimates and viewing slots.

Two communities are written by hand; the other forty are generated under a fixed seed. Prices are kept
in wan (10,000 yuan) as the trade quotes them, costs in yuan.
"""

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import NamedTuple

PAGE_SIZE = 3
FIRST_VIEWING_DAY = dt.date(2025, 11, 18)
LAST_VIEWING_DAY = dt.date(2025, 12, 2)
LARGE_HOME_SQM = 140
REGISTRATION_FEE = Decimal(80)
VAT_PERCENT = Decimal("5.3")  # VAT with its surcharges, due within two years of the last sale
INCOME_TAX_PERCENT = Decimal(1)
DEED_TAX_PERCENT = {0: ("1", "1.5"), 1: ("1", "2")}  # by homes owned: up to 140 sqm, above
DEED_TAX_THIRD_HOME = ("3", "3")

TAX_STATUSES = ("不满两年", "满两年", "满五唯一")
ORIENTATIONS = ("朝南", "南北通透", "东西朝向", "朝北")
PERIOD_HOURS = {"上午": 9, "下午": 13, "晚上": 18}


class _Listing(NamedTuple):
    listing_id: str
    community: str
    bedrooms: int
    area: float
    price_wan: float
    orientation: str
    tax_status: str
    listed_on: str


_WRITTEN = (
    _Listing("SZ58203174", "澜溪雅苑", 3, 118.6, 398.0, "南北通透", "满五唯一", "2025-10-06"),
    _Listing("SZ58311920", "澜溪雅苑", 3, 121.3, 405.0, "南北通透", "满五唯一", "2025-11-09"),
    _Listing("SZ58290466", "澜溪雅苑", 3, 126.8, 418.0, "南北通透", "满五唯一", "2025-11-15"),
    _Listing("SZ58177035", "澜溪雅苑", 3, 117.2, 379.0, "南北通透", "不满两年", "2025-11-12"),
    _Listing("SZ58240817", "澜溪雅苑", 3, 119.5, 386.0, "南北通透", "满两年", "2025-11-03"),
    _Listing("SZ58266591", "澜溪雅苑", 3, 112.4, 388.5, "南北通透", "满两年", "2025-10-28"),
    _Listing("SZ58139940", "澜溪雅苑", 3, 109.0, 372.0, "东西朝向", "满五唯一", "2025-10-30"),
    _Listing("SZ58166328", "澜溪雅苑", 3, 108.3, 366.0, "朝南", "满五唯一", "2025-10-19"),
    _Listing("SZ58218874", "澜溪雅苑", 3, 112.9, 359.0, "朝北", "满五唯一", "2025-11-07"),
    _Listing("SZ58304258", "澜溪雅苑", 3, 92.7, 345.0, "南北通透", "满五唯一", "2025-11-01"),
    _Listing("SZ58322703", "澜溪雅苑", 2, 89.1, 318.0, "南北通透", "满五唯一", "2025-11-11"),
    _Listing("SZ58150382", "澜溪雅苑", 4, 143.6, 486.0, "南北通透", "满五唯一", "2025-09-27"),
    _Listing("SZ31760942", "桐泾晴园", 3, 143.2, 389.5, "南北通透", "满两年", "2025-09-30"),
    _Listing("SZ31844067", "桐泾晴园", 3, 128.9, 397.0, "南北通透", "满两年", "2025-11-10"),
    _Listing("SZ31792215", "桐泾晴园", 3, 131.4, 411.0, "南北通透", "满两年", "2025-11-14"),
    _Listing("SZ31808833", "桐泾晴园", 3, 125.0, 402.0, "南北通透", "满两年", "2025-11-16"),
    _Listing("SZ31735576", "桐泾晴园", 3, 122.6, 369.0, "南北通透", "不满两年", "2025-11-04"),
    _Listing("SZ31829109", "桐泾晴园", 3, 120.3, 374.0, "南北通透", "不满两年", "2025-10-22"),
    _Listing("SZ31710448", "桐泾晴园", 3, 124.8, 383.0, "南北通透", "不满两年", "2025-10-25"),
    _Listing("SZ31856294", "桐泾晴园", 3, 118.0, 377.0, "朝南", "满两年", "2025-11-13"),
    _Listing("SZ31748213", "桐泾晴园", 3, 119.6, 371.5, "东西朝向", "满两年", "2025-10-27"),
    _Listing("SZ31799650", "桐泾晴园", 3, 121.7, 364.0, "朝北", "满两年", "2025-11-02"),
    _Listing("SZ31771351", "桐泾晴园", 2, 96.2, 308.0, "南北通透", "满两年", "2025-10-18"),
    _Listing("SZ31862680", "桐泾晴园", 4, 156.7, 462.0, "南北通透", "满两年", "2025-11-06"),
)
_WRITTEN_VIEWINGS = {
    ("SZ58203174", "2025-11-22", "下午"): (("13:40", "陆绾青"), ("15:10", "查慎行")),
    ("SZ31760942", "2025-11-22", "下午"): (("14:00", "虞采薇"), ("16:20", "查慎行")),
}
_SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡林郭何"
_GIVEN_NAMES = ("建国", "志强", "雨桐", "思远", "佳怡", "浩然", "晓峰", "婷婷", "俊杰", "欣妍", "文博", "海燕")


def _generated_listings() -> list[_Listing]:
    rng = Random(20251118)
    listings: list[_Listing] = []
    for stem in ("枫林", "星湖", "金塘", "运河", "灵岩", "双塔", "白鹭", "横山", "莲香", "石湖"):
        for suffix in ("花园", "名邸", "新村", "华庭"):
            wan_per_sqm = rng.uniform(1.8, 4.6)
            for _ in range(rng.randint(22, 40)):
                bedrooms = rng.choice((1, 2, 2, 3, 3, 3, 4, 5))
                area = round(28 + 29 * bedrooms + rng.uniform(-9, 16), 1)
                listings.append(
                    _Listing(
                        f"SZ{rng.randrange(60_000_000, 99_999_999)}",
                        stem + suffix,
                        bedrooms,
                        area,
                        round(area * wan_per_sqm * rng.uniform(0.92, 1.08) * 2) / 2,
                        rng.choice(ORIENTATIONS),
                        rng.choice(TAX_STATUSES),
                        str(dt.date(2025, 11, 17) - dt.timedelta(days=rng.randrange(90))),
                    )
                )
    return listings


_LISTINGS = (*_WRITTEN, *_generated_listings())
_BY_ID = {listing.listing_id: listing for listing in _LISTINGS}
_COMMUNITIES = frozenset(listing.community for listing in _LISTINGS)
_SORT_KEYS = {
    "最新发布": (lambda home: home.listed_on, True),
    "总价从低到高": (lambda home: home.price_wan, False),
    "面积从大到小": (lambda home: home.area, True),
}


def search_listings(
    community: str,
    bedrooms: int,
    orientation: str = "不限",
    tax_status: str = "不限",
    min_area_sqm: float = 0,
    max_price_wan: float = 3000,
    sort_by: str = "最新发布",
    page: int = 1,
) -> dict[str, object]:
    """List the homes for sale in one community, three a page."""
    if community not in _COMMUNITIES:
        raise LookupError("未收录该小区，请填写小区全称，不要带区名或楼栋号")
    found = [
        home
        for home in _LISTINGS
        if home.community == community
        and home.bedrooms == bedrooms
        and orientation in ("不限", home.orientation)
        and tax_status in ("不限", home.tax_status)
        and home.area >= min_area_sqm
        and home.price_wan <= max_price_wan
    ]
    key, is_descending = _SORT_KEYS[sort_by]
    found.sort(key=key, reverse=is_descending)
    shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return {
        "community": community,
        "total": len(found),
        "page": page,
        "listings": [
            {
                "listing_id": home.listing_id,
                "layout": f"{home.bedrooms}室",
                "area": f"{home.area} 平方米",
                "price": f"{home.price_wan:g} 万元",
                "listed_on": home.listed_on,
            }
            for home in shown
        ],
    }


def estimate_purchase_cost(
    listing_id: str,
    owned_homes: int,
    agency_fee_percent: float,
    seller_pays_own_tax: bool = False,
) -> dict[str, object]:
    """Estimate all that a buyer pays for a home: price, taxes, agency and registration."""
    home = _home(listing_id)
    price = Decimal(str(home.price_wan)) * 10_000
    brackets = DEED_TAX_PERCENT.get(owned_homes, DEED_TAX_THIRD_HOME)
    deed_tax = _percent(price, Decimal(brackets[home.area > LARGE_HOME_SQM]))
    vat = _percent(price, VAT_PERCENT) if home.tax_status == "不满两年" else Decimal(0)
    income_tax = Decimal(0) if home.tax_status == "满五唯一" else _percent(price, INCOME_TAX_PERCENT)
    agency_fee = _percent(price, Decimal(str(agency_fee_percent)))
    seller_tax = Decimal(0) if seller_pays_own_tax else vat + income_tax
    total = price + deed_tax + seller_tax + agency_fee + REGISTRATION_FEE
    return {
        "listing_id": listing_id,
        "tax_status": home.tax_status,
        "deed_tax": _yuan(deed_tax),
        "vat": _yuan(vat),
        "income_tax": _yuan(income_tax),
        "seller_tax_paid_by": "卖方" if seller_pays_own_tax else "买方",
        "agency_fee": _yuan(agency_fee),
        "registration_fee": _yuan(REGISTRATION_FEE),
        "total_cost": _yuan(total),
    }


def list_viewing_slots(listing_id: str, date: str, period: str = "上午") -> dict[str, object]:
    """List the open viewing slots of a home on one day, earliest first."""
    home = _home(listing_id)
    try:
        day = dt.date.fromisoformat(date)
    except ValueError:
        raise ValueError("看房日期无效，请按 YYYY-MM-DD 填写") from None
    if not FIRST_VIEWING_DAY <= day <= LAST_VIEWING_DAY:
        raise ValueError(f"{day} 未开放预约，只能预约 {FIRST_VIEWING_DAY} 至 {LAST_VIEWING_DAY} 的带看")
    slots = _WRITTEN_VIEWINGS.get((listing_id, str(day), period))
    if slots is None:
        slots = _generated_viewings(f"{listing_id} {day} {period}", PERIOD_HOURS[period])
    return {
        "listing_id": listing_id,
        "community": home.community,
        "date": str(day),
        "period": period,
        "slots": [{"time": time, "agent": agent} for time, agent in slots],
    }


def _home(listing_id: str) -> _Listing:
    try:
        return _BY_ID[listing_id]
    except KeyError:
        raise LookupError("房源编号不存在或已下架，请先用 search_listings 查询") from None


def _generated_viewings(name: str, first_hour: int) -> list[tuple[str, str]]:
    rng = Random(name)
    minutes = sorted(rng.sample(range(0, 240, 10), rng.randint(1, 3)))
    return [
        (f"{first_hour + m // 60:02d}:{m % 60:02d}", rng.choice(_SURNAMES) + rng.choice(_GIVEN_NAMES))
        for m in minutes
    ]


def _percent(amount: Decimal, percent: Decimal) -> Decimal:
    return (amount * percent / 100).quantize(Decimal(1), ROUND_HALF_UP)


def _yuan(amount: Decimal) -> str:
    return f"{amount:,.0f} 元"
