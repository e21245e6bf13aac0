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
    """One thing to be treated, of ``{owner}`` and ``{part}``."""
    task: Words
    """What is to be done to ``{it}``, as part of a sentence."""
    sizes: tuple[Words, Words, Words, Words]
    """Questions about the size: of one, of each of several, of all together, and which has most."""
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
_PINTS, _POUNDS = (
    Unit(("pints", "品脱"), ("pints", "品脱"), 1760),
    Unit(("lb", "磅"), ("pounds", "磅"), 2205),
)
_AREA = Unit(("m²", "平方米"), ("square metres", "平方米"))
_LARGE = (
    (
        "How large is {it}?||How many square metres does {it} have?",
        "{it}有多大？||{it}有多少平方米？",
    ),
    ("How large are {it}, each for itself?", "{it}各有多大？"),
    ("How large are {it} taken together?", "{it}加起来一共有多大？"),
    ("Which of these is the largest: {it}?", "{it}，哪个面积最大？"),
)

DOSAGE_THEMES = (
    DosageTheme(
        Domain.SPORTS,
        (("Groundskeeping", "Turf Service"), ("草坪养护队", "球场养护中心")),
        (("Rovers", "Athletic", "Town Club"), ("足球俱乐部", "体育公园", "中学")),
        (("main pitch", "training pitch", "youth pitch", "warm-up field"), ("主球场", "训练场", "少年球场", "热身场")),
        ("the {part} of {owner}", "{owner}的{part}"), ("top-dress {it}", "给{it}做一遍草坪改良"),
        _LARGE, _AREA, (1311, 8970), (120, 640),
        (("Turf Conditioner", "Root Mix", "Lawn Compost"), ("草坪改良土", "草坪营养土", "草炭土")),
        _KILOS, (_LITRES, _PINTS), (("bags", "袋"), ("big bags", "吨袋")), (40, 75), "pitch|field|turf_area", "area|surface|square_metres",
    ),
    DosageTheme(
        Domain.REAL_ESTATE,
        (("Property Care", "Caretakers"), ("物业公司", "房屋修缮队")),
        (("House", "Court", "Terrace"), ("公寓", "花园", "小区")),
        (("stairwell", "cellar", "garage", "laundry room"), ("楼梯间", "地下室", "车库", "洗衣房")),
        ("the {part} at {owner}", "{owner}的{part}"), ("repaint the walls of {it}", "把{it}的墙面重刷一遍"),
        (
            ("How much wall is there to paint in {it}?", "{it}要刷的墙面有多大？"),
            ("How much wall is there to paint in {it}, each for itself?", "{it}要刷的墙面各有多大？"),
            ("How much wall is there to paint in {it} all together?", "{it}要刷的墙面加起来有多大？"),
            ("Which of these has the most wall to paint: {it}?", "{it}，哪里要刷的墙面最大？"),
        ),
        _AREA, (38, 690), (140, 420),
        (("Silicate Paint", "Limewash", "Wall Paint"), ("硅藻涂料", "内墙漆", "石灰涂料")),
        _LITRES, (_KILOS, _POUNDS), (("tubs", "桶"), ("drums", "大桶")), (6, 24), "room|wall_area|space_to_paint", "wall_area|surface|area",
    ),
    DosageTheme(
        Domain.FOOD_AND_DINING,
        (("Catering", "Banquet Kitchen"), ("宴会厨房", "餐饮服务公司")),
        None,
        (("wedding dinner", "birthday buffet", "farewell party", "christening lunch"), ("婚宴", "寿宴", "谢师宴", "满月酒")),
        ("{owner}'s {part}", "{owner}的{part}"), ("cook for {it}", "给{it}备料"),
        (
            ("How many guests are expected at {it}?", "{it}来多少位客人？"),
            ("How many guests are expected at each of {it}?", "{it}各来多少位客人？"),
            ("How many guests are expected altogether at {it}?", "{it}一共来多少位客人？"),
            ("Which of these has the most guests: {it}?", "{it}，哪一场的客人最多？"),
        ),
        Unit(("guests", "位客人"), ("guests", "位客人")), (38, 960), (60, 190),
        (("Long Grain Rice", "Red Lentils", "Bulgur"), ("香米", "珍珠米", "小米")),
        _KILOS, (_LITRES, _PINTS), (("boxes", "箱"), ("crates", "大箱")), (8, 26), "party|banquet|event", "guests|guest_count|people_expected",
    ),
    DosageTheme(
        Domain.HEALTHCARE,
        (("Veterinary Practice", "Animal Clinic"), ("兽医站", "动物医院")),
        None,
        (("goats", "ewes", "alpacas", "calves"), ("山羊", "母羊", "羊驼", "小牛")),
        ("{owner}'s {part}", "{owner}家的{part}"), ("worm all of {it}", "给{it}全部驱虫"),
        (
            ("How heavy are {it}, the whole herd together?||What does the whole herd of {it} weigh?", "{it}整群有多重？||{it}全群总重多少？"),
            ("How heavy are {it}, each herd for itself?", "{it}，每群各有多重？"),
            ("How heavy are {it} in total?", "{it}总共有多重？"),
            ("Which of these herds is the heaviest: {it}?", "{it}，哪一群最重？"),
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
        (("wave pool", "diving pool", "paddling pool", "lazy river"), ("造浪池", "跳水池", "戏水池", "漂流河")),
        ("the {part} of {owner}", "{owner}的{part}"), ("treat the water of {it}", "给{it}的水做处理"),
        (
            ("How much water does {it} hold?", "{it}有多少水？"),
            ("How much water do {it} hold, each for itself?", "{it}各有多少水？"),
            ("How much water do {it} hold taken together?", "{it}加起来有多少水？"),
            ("Which of these holds the most water: {it}?", "{it}，哪个水最多？"),
        ),
        Unit(("m³", "立方米"), ("cubic metres", "立方米")), (211, 3890), (21, 96),
        (("Pool Salt", "Clear Granules", "Alkali Powder"), ("泳池盐", "澄清粉", "碱度剂")),
        _KILOS, (_LITRES, _PINTS), (("pails", "桶"), ("barrels", "大桶")), (12, 32), "basin|pool|water_body", "volume|water_volume|cubic_metres",
    ),
    DosageTheme(
        Domain.TRANSPORTATION,
        (("Winter Service", "Road Service"), ("道路养护中心", "除雪服务队")),
        (("Station", "Terminal", "Shopping Park"), ("火车站", "客运站", "购物中心")),
        (("car park", "bus lane", "taxi rank", "forecourt"), ("停车场", "公交车道", "出租车上客区", "站前广场")),
        ("the {part} at {owner}", "{owner}的{part}"), ("de-ice {it} once", "给{it}除一次冰"),
        _LARGE, _AREA, (611, 9800), (25, 110),
        (("Road Salt", "Ice Melt", "Thawing Granules"), ("融雪盐", "融雪剂", "除冰颗粒")),
        _KILOS, (_LITRES, _PINTS), (("sacks", "袋"), ("pallet bags", "吨袋")), (18, 40), "site|paved_area|plot", "area|paved_surface|square_metres",
    ),
)  # fmt: skip
