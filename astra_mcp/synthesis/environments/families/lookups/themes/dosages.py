"""Themes of the family ``dosages``: what is treated with what."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["DOSAGE_THEMES", "DosageTheme", "Unit"]

Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as results write it, as questions say it, and as thousandths of the first unit of its kind."""

    sign: Words
    said: Words
    scale: int = 1000


@dataclass(frozen=True, slots=True)
class DosageTheme:
    """What is treated with what; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    owners: tuple[tuple[str, ...], tuple[str, ...]] | None
    """What the names of those end in to whom it belongs; None where they are people."""
    parts: tuple[tuple[str, ...], tuple[str, ...]]
    subject: Words
    """What is to be treated, of ``{owners}`` and ``{part}``; English owners that are people have an ``'s``."""
    one: Words
    """What one of several is called; in Chinese what stands behind ``每``."""
    task: Words
    """What is to be done to ``{it}``, as part of a sentence."""
    sizes: tuple[Words, Words, Words, Words]
    """Questions about the size: of one, of each of several, of all together, and which of them has most.

    Beside ``{it}``, the last may hold ``{part}``, ``{either}`` of the owners, ``{more}`` and ``{er}``.
    """
    size: Unit
    scope: tuple[int, int]
    """The smallest and the largest size."""
    rates: tuple[int, int]
    """Thousandths of the dose for one unit of size."""
    products: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of products end in."""
    dose: Unit
    measures: tuple[Unit, Unit]
    packs: tuple[Words, Words]
    """A usual pack and a large one."""
    contents: tuple[int, int]
    """The smallest and the largest usual pack."""
    nouns: str
    """What code calls what is treated."""
    extents: str
    """What code calls its size."""


_KILOS, _LITRES = Unit(("kg", "千克"), ("kilograms", "千克")), Unit(("l", "升"), ("litres", "升"))
_PINTS = Unit(("pints", "品脱"), ("pints", "品脱"), 1760)
_GALLONS = Unit(("gallons", "加仑"), ("gallons", "加仑"), 220)
_POUNDS = Unit(("lb", "磅"), ("pounds", "磅"), 2205)
_AREA = Unit(("m²", "平方米"), ("square metres", "平方米"))
_LARGE = (
    ("How large is {it}?||How many square metres does {it} cover?", "{it}有多大？||{it}有多少平方米？"),
    ("How large is each of {it}?||How many square metres does each of {it} cover?", "{it}各有多大？||{it}分别有多少平方米？"),
    ("What is the total area of {it}?||How many square metres do {it} cover altogether?", "{it}加起来一共有多大？||{it}总面积是多少？"),
    ("Which has the larg{er} {part}, {either}?", "{either}，哪里的{part}{more}大？"),
)  # fmt: skip

DOSAGE_THEMES = (
    DosageTheme(
        Domain.SPORTS,
        (("Groundskeeping", "Turf Service"), ("草坪养护队", "球场养护中心")),
        (("Rovers", "Athletic", "Town Club"), ("足球俱乐部", "体育公园", "中学")),
        (("main pitch", "training pitch", "youth pitch", "warm-up pitch"), ("主球场", "训练场", "少年球场", "热身场")),
        ("the {part} at {owners}", "{owners}的{part}"), ("pitch", "块场地"), ("top-dress {it}", "给{it}做草坪养护"),
        _LARGE, _AREA, (1311, 8970), (120, 640),
        (("Turf Conditioner", "Root Mix", "Lawn Compost"), ("草坪改良土", "草坪营养土", "草炭土")),
        _KILOS, (_LITRES, _GALLONS), (("bags", "袋"), ("bulk bags", "吨袋")), (40, 75), "pitch|field|turf_area", "area|surface|square_metres",
    ),
    DosageTheme(
        Domain.REAL_ESTATE,
        (("Property Care", "Caretakers"), ("物业公司", "房屋修缮队")),
        (("House", "Court", "Terrace"), ("公寓", "花园", "小区")),
        (("stairwell", "cellar", "garage", "laundry room"), ("楼梯间", "地下室", "车库", "洗衣房")),
        ("the {part} at {owners}", "{owners}的{part}"), ("building", "处"), ("repaint the walls of {it}", "把{it}重刷一遍"),
        (
            ("How many square metres of wall are there to paint in {it}?", "{it}要刷多少平方米的墙？||{it}要刷的墙面有多少平方米？"),
            ("How many square metres of wall are there to paint in each of {it}?", "{it}各要刷多少平方米的墙？||{it}要刷的墙面分别有多少平方米？"),
            ("How many square metres of wall are there to paint in {it} altogether?", "{it}一共要刷多少平方米的墙？||{it}要刷的墙面加起来有多少平方米？"),
            ("Which has {more} wall to paint in its {part}, {either}?", "{either}，哪里的{part}要刷的墙面{more}大？"),
        ),
        _AREA, (38, 690), (140, 420),
        (("Silicate Paint", "Limewash", "Wall Paint"), ("硅藻涂料", "内墙漆", "石灰涂料")),
        _LITRES, (_KILOS, _POUNDS), (("tubs", "桶"), ("drums", "大桶")), (6, 24), "room|wall_area|space_to_paint", "wall_area|surface|area",
    ),
    DosageTheme(
        Domain.FOOD_AND_DINING,
        (("Catering", "Banquet Kitchen"), ("宴会厨房", "餐饮服务公司")),
        None,
        (("wedding dinner", "birthday party", "farewell party", "retirement lunch"), ("寿宴", "升学宴", "乔迁宴", "生日宴")),
        ("{owners} {part}", "{owners}的{part}"), ("event", "场"), ("serve dessert at {it}", "给{it}准备甜品"),
        (
            ("How many guests are expected at {it}?||How many guests are coming to {it}?", "{it}有多少位客人？||{it}预计来多少位客人？"),
            ("How many guests are expected at each of {it}?||We're catering for {it}. How many guests are coming to each?", "{it}各有多少位客人？||{it}分别预计来多少位客人？"),
            ("How many guests are expected at {it} altogether?", "{it}一共有多少位客人？||{it}加起来预计来多少位客人？"),
            ("Whose {part} will have {more} guests, {either}?", "{either}，谁的{part}客人{more}多？"),
        ),
        Unit(("guests", "位客人"), ("guests", "位客人")), (38, 960), (60, 190),
        (("Vanilla Ice Cream", "Lemon Sorbet", "Hazelnut Gelato"), ("香草冰淇淋", "柠檬雪葩", "榛子冰淇淋")),
        _KILOS, (_LITRES, _PINTS), (("tubs", "桶"), ("catering packs", "大桶")), (4, 18), "party|banquet|event", "guests|guest_count|people_expected",
    ),
    DosageTheme(
        Domain.HEALTHCARE,
        (("Veterinary Practice", "Animal Clinic"), ("兽医站", "动物医院")),
        None,
        (("goats", "cows", "alpacas", "calves"), ("山羊", "奶牛", "羊驼", "小牛")),
        ("{owners} {part}", "{owners}家的{part}"), ("herd", "家"), ("worm {it}", "给{it}驱虫"),
        (
            ("How many kilograms do {it} weigh altogether?||What is the total weight of {it}?", "{it}一共有多重？||{it}总重多少千克？"),
            ("I'm treating {it}. How much does each herd weigh in total?||Herd by herd, how many kilograms do {it} weigh?", "{it}，每家的总重各是多少千克？"),
            ("Taken together, how many kilograms do {it} weigh?||What is the total weight of {it}?", "{it}加起来一共有多重？||{it}总重多少千克？"),
            ("Whose {part} weigh {more} in total, {either}?", "{either}，谁家的{part}总重{more}大？"),
        ),
        _KILOS, (611, 7900), (55, 310),
        (("Drench", "Worm Paste", "Oral Granules"), ("驱虫散", "驱虫膏", "口服颗粒")),
        Unit(("g", "克"), ("grams", "克")), (Unit(("ml", "毫升"), ("millilitres", "毫升")), Unit(("teaspoons", "茶匙"), ("teaspoons", "茶匙"), 203)),
        (("bottles", "瓶"), ("canisters", "大瓶")), (150, 350), "herd|animal_group|flock", "weight|herd_weight|live_weight",
    ),
    DosageTheme(
        Domain.ENTERTAINMENT,
        (("Water Parks", "Leisure Pools"), ("水上乐园", "游泳馆管理公司")),
        (("Lido", "Baths", "Lagoon"), ("泳池", "水世界", "温泉馆")),
        (("wave pool", "diving pool", "paddling pool", "leisure pool"), ("造浪池", "跳水池", "戏水池", "儿童池")),
        ("the {part} at {owners}", "{owners}的{part}"), ("pool", "个池子"), ("treat {it}", "给{it}做水处理"),
        (
            ("How many cubic metres of water does {it} hold?||How much water does {it} hold?", "{it}能装多少立方米水？"),
            ("How many cubic metres of water does each of {it} hold?||How much water does each of {it} hold?", "{it}各能装多少立方米水？"),
            ("How many cubic metres of water do {it} hold altogether?||How much water do {it} hold in total?", "{it}一共能装多少立方米水？||{it}加起来能装多少立方米水？"),
            ("Which {part} holds {more} water, the one at {either}?", "{either}，哪里的{part}水量{more}大？"),
        ),
        Unit(("m³", "立方米"), ("cubic metres", "立方米")), (211, 3890), (21, 96),
        (("Pool Salt", "Clear Granules", "Alkali Powder"), ("泳池盐", "澄清粉", "碱度剂")),
        _KILOS, (_LITRES, _GALLONS), (("pails", "桶"), ("barrels", "大桶")), (12, 32), "basin|pool|water_body", "volume|water_volume|cubic_metres",
    ),
    DosageTheme(
        Domain.TRANSPORTATION,
        (("Winter Service", "Road Service"), ("道路养护中心", "除雪服务队")),
        (("Station", "Terminal", "Shopping Park"), ("火车站", "客运站", "购物中心")),
        (("car park", "bus lane", "taxi rank", "forecourt"), ("停车场", "公交车道", "出租车上客区", "站前广场")),
        ("the {part} at {owners}", "{owners}的{part}"), ("site", "处"), ("de-ice {it} once", "给{it}除一次冰"),
        _LARGE, _AREA, (611, 9800), (25, 110),
        (("Road Salt", "Ice Melt", "Thawing Granules"), ("融雪盐", "融雪剂", "除冰颗粒")),
        _KILOS, (_LITRES, _GALLONS), (("sacks", "袋"), ("bulk bags", "吨袋")), (18, 40), "site|paved_area|plot", "area|paved_surface|square_metres",
    ),
)  # fmt: skip
