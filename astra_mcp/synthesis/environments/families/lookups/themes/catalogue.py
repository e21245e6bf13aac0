"""What catalogues hold: products and parts of six trades."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Mark", "Theme"]

_Texts = tuple[str, str]
_Lists = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A property of products by which one of them is meant."""

    field: str
    unit: str
    low: int
    high: int
    best: _Texts
    is_low: bool = True


@dataclass(frozen=True, slots=True)
class Theme:
    """What the catalogue holds; each text in English and in Chinese."""

    domain: Domain
    about: _Texts
    makers: _Lists
    dealers: _Lists
    kinds: _Lists
    parts: _Lists
    marks: tuple[Mark, Mark]
    article: str
    """What code calls the number of a product."""
    part: str
    kind: str
    things: str
    spares: str


THEMES = (
    Theme(
        Domain.E_COMMERCE, ("Vacuum cleaners and their spare parts", "吸尘器及其备件"),
        (("Home", "Domestic", "Household"), ("电器", "家电", "家居")),
        (("Stores", "Electrical", "Warehouse"), ("商城", "电器行", "家电卖场")),
        (("upright vacuum", "canister vacuum", "handheld vacuum", "robot vacuum"),
         ("立式吸尘器", "卧式吸尘器", "手持吸尘器", "扫地机器人")),
        (("filter", "brush roll", "battery", "dust container"), ("滤网", "滚刷", "电池", "尘盒")),
        (Mark("noise", "dB", 48, 82, ("quietest", "最安静")), Mark("weight", "g", 1450, 6900, ("lightest", "最轻"))),
        "article|article_number|sku", "part|spare_part|part_number", "kind|category|vacuum_type",
        "vacuums|vacuum_cleaners|cleaners", "spare_parts|parts|vacuum_parts",
    ),
    Theme(
        Domain.AUTOMOTIVE, ("Carriers for cars and what belongs to them", "车载行李架及配件"),
        (("Racks", "Carriers", "Roof Systems"), ("车品", "汽车用品", "行李架")),
        (("Motors", "Garage", "Car Parts"), ("汽配城", "汽修厂", "汽车用品店")),
        (("roof box", "bike carrier", "ski rack", "luggage basket"), ("车顶箱", "自行车架", "滑雪板架", "行李框")),
        (("lock set", "fixing strap", "mounting foot", "rubber pad"), ("锁具", "绑带", "安装脚座", "橡胶垫")),
        (Mark("own_weight", "g", 3200, 24800, ("lightest", "最轻")),
         Mark("total_width", "mm", 410, 990, ("narrowest", "最窄"))),
        "model|model_number|product_code", "accessory|fitting_part|accessory_number", "carrier_type|carrier|kind_of_carrier",
        "carriers|car_carriers|carrier_models", "accessories|fitting_parts|carrier_accessories",
    ),
    Theme(
        Domain.SCIENCE, ("Laboratory devices and their parts", "实验室仪器及零件"),
        (("Instruments", "Labtech", "Scientific"), ("仪器", "科仪", "实验设备")),
        (("Lab Supply", "Laboratory Trade", "Equipment"), ("实验器材", "试剂仪器行", "科教器材")),
        (("centrifuge", "orbital shaker", "vacuum pump", "magnetic stirrer"), ("离心机", "摇床", "真空泵", "磁力搅拌器")),
        (("fuse", "power cord", "control board", "display"), ("保险丝", "电源线", "控制板", "显示屏")),
        (Mark("sound_level", "dB", 38, 74, ("quietest", "最安静")), Mark("width", "mm", 180, 690, ("narrowest", "最窄"))),
        "device|device_number|order_number", "component|component_number|replacement", "device_class|device_type|instrument",
        "devices|lab_devices|instruments", "components|device_components|replacements",
    ),
    Theme(
        Domain.MUSIC_AND_AUDIO, ("Stage equipment with parts", "舞台音响设备与配件"),
        (("Audio", "Sound", "Acoustics"), ("音响", "声学", "乐器")),
        (("Music Store", "Stage Supply", "Pro Shop"), ("琴行", "音响店", "舞台器材行")),
        (("guitar amplifier", "bass amplifier", "active speaker", "keyboard amplifier"), ("吉他音箱", "贝斯音箱", "有源音箱", "键盘音箱")),
        (("power supply", "dust cover", "input jack", "volume knob"), ("电源适配器", "防尘罩", "输入插座", "音量旋钮")),
        (Mark("weight", "g", 2400, 28600, ("lightest", "最轻")),
         Mark("power", "W", 20, 640, ("most powerful", "功率最大"), is_low=False)),
        "item|item_number|stock_code", "spare|spare_number|spare_code", "gear|kind_of_gear|gear_type",
        "gear|stage_gear|gear_items", "spares|gear_spares|spare_items",
    ),
    Theme(
        Domain.HEALTHCARE, ("Wheelchairs, with replacement parts", "轮椅及更换件"),
        (("Mobility", "Care", "Rehab"), ("康复器材", "医疗器械", "助行")),
        (("Medical Supply", "Care Centre", "Health Store"), ("医疗器械店", "康复用品店", "大药房")),
        (("folding wheelchair", "travel wheelchair", "electric wheelchair", "shower wheelchair"), ("折叠轮椅", "旅行轮椅", "电动轮椅", "淋浴轮椅")),
        (("armrest", "front wheel", "seat cover", "brake lever"), ("扶手", "前轮", "坐垫套", "刹车把手")),
        (Mark("weight", "g", 3100, 29500, ("lightest", "最轻")), Mark("total_width", "mm", 480, 790, ("narrowest", "最窄"))),
        "aid|aid_number|catalogue_number", "replacement|replacement_part|refill_part", "aid_type|kind_of_aid|group",
        "aids|mobility_aids|care_aids", "replacement_parts|aid_parts|exchange_parts",
    ),
    Theme(
        Domain.ENERGY, ("Solar and charging equipment", "光伏与充电设备"),
        (("Solar", "Power", "Energy Systems"), ("新能源", "光伏", "电力设备")),
        (("Electric", "Solar Trade", "Installers"), ("电气行", "光伏商城", "机电设备行")),
        (("solar inverter", "wall charger", "home battery", "charge controller"), ("光伏逆变器", "壁挂充电桩", "家用储能电池", "充电控制器")),
        (("cooling fan", "fuse holder", "display", "wall bracket"), ("散热风扇", "熔断器座", "显示屏", "挂墙支架")),
        (Mark("weight", "g", 2600, 31900, ("lightest", "最轻")),
         Mark("noise", "dB", 22, 61, ("quietest", "最安静"))),
        "unit|unit_number|type_number", "spare|unit_part|service_part", "equipment|equipment_type|unit_type",
        "units|power_units|solar_units", "service_parts|unit_parts|unit_spares",
    ),
)  # fmt: skip
