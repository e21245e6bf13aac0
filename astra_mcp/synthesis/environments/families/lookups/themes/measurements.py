"""Themes of the family ``measurements``: what is measured where."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["MEASUREMENT_THEMES", "MeasurementTheme"]

Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MeasurementTheme:
    """What is measured where; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of places end in at which something is measured; none for towns."""
    spots: tuple[tuple[str, ...], tuple[str, ...]]
    """Where at such a place."""
    meter: Words
    """What measures, at a ``{site}`` and a ``{spot}``."""
    measure: Words
    """What is measured."""
    unit: Words
    scope: tuple[int, int]
    """The smallest and the largest usual value."""
    beside: Words
    """What else is measured."""
    beside_unit: Words
    nouns: str
    """What code calls that which measures."""
    places: str
    """What code calls where it stands."""
    values: str
    """What code calls that which is measured."""
    others: str
    """What code calls that which is measured beside it."""


MEASUREMENT_THEMES = (
    MeasurementTheme(
        Domain.WEATHER,
        (("River Authority", "Water Board"), ("水文局", "河道管理处")), (("Brook", "River", "Water"), ("河", "溪", "江")),
        (("old bridge", "upper weir", "mill", "ferry landing"), ("老桥", "上游水闸", "磨坊", "渡口")),
        ("the gauge at the {spot} on {site}||the {site} gauge at the {spot}", "{site}{spot}水位站||{site}{spot}的水位站"),
        ("water level", "水位"), (" cm", "厘米"), (210, 640), ("flow", "流量"), (" m³/s", "立方米/秒"),
        "gauge|river_gauge|water_gauge", "river|water_course|stream", "level|water_level|stage", "flow|discharge|flow_rate",
    ),
    MeasurementTheme(
        Domain.SCIENCE,
        (("Air Watch", "Air Laboratory"), ("环境监测站", "大气研究所")), ((), ()),
        (("market square", "ring road", "station yard", "school lane"), ("集市广场", "环城路", "火车站", "学校巷")),
        ("the air monitor at the {spot} in {site}", "{site}{spot}的空气监测点||{site}{spot}空气监测点"),
        ("fine dust reading", "细颗粒物浓度"), (" µg/m³", "微克/立方米"), (130, 480), ("carbon monoxide", "一氧化碳浓度"), (" ppb", "ppb"),
        "monitor|air_monitor|sampler", "town|city|municipality", "fine_dust|dust|particles", "carbon_monoxide|monoxide|gas",
    ),
    MeasurementTheme(
        Domain.ENERGY,
        (("Estate Energy", "Building Services"), ("能源管理公司", "楼宇能耗中心")), (("House", "Tower", "Hotel"), ("大厦", "酒店", "广场")),
        (("kitchen", "laundry", "server room", "lift plant"), ("厨房", "洗衣房", "机房", "电梯间")),
        ("the electricity meter of the {spot} at {site}||the {spot} meter at {site}", "{site}{spot}的电表||{site}的{spot}电表"),
        ("daily electricity use", "日用电量"), (" kWh", "千瓦时"), (340, 1900), ("peak load", "最大负荷"), (" kW", "千瓦"),
        "meter|electricity_meter|power_meter", "building|property|premises", "consumption|energy_used|usage", "peak_load|load|highest_load",
    ),
    MeasurementTheme(
        Domain.TRANSPORTATION,
        (("Traffic Office", "Roads Department"), ("交通管理局", "公路局")), (("Bridge", "Tunnel", "Bypass"), ("大桥", "隧道", "绕城公路")),
        (("north end", "south end", "toll plaza", "slip road"), ("北口", "南口", "收费站", "匝道")),
        ("the traffic counter at the {spot} of {site}", "{site}{spot}的车流计数器||{site}{spot}车流计数点"),
        ("daily traffic", "日车流量"), (" vehicles", "辆"), (2100, 9800), ("lorries", "货车数"), (" lorries", "辆货车"),
        "counter|traffic_counter|count_site", "road|crossing|road_link", "vehicles|traffic|vehicle_count", "lorries|lorry_count|heavy_vehicles",
    ),
    MeasurementTheme(
        Domain.CLOUD_SERVICES,
        (("Hosting", "Data Centres"), ("云计算公司", "数据中心")), (("Studios", "Logistics", "Press", "Analytics"), ("传媒", "物流", "出版社", "科技公司")),
        (("backup", "archive", "mail", "staging"), ("备份", "归档", "邮件", "测试")),
        ("the {spot} volume of {site}||the volume for {spot} of {site}", "{site}的{spot}存储卷||{site}{spot}存储卷"),
        ("daily write volume", "日写入量"), (" GB", "GB"), (410, 2600), ("failed requests", "失败请求数"), (" requests", "次请求"),
        "volume|storage_volume|disk", "client|tenant|account_name", "written|data_written|writes", "failed_requests|errors|failures",
    ),
    MeasurementTheme(
        Domain.HEALTHCARE,
        (("Medical Gases", "Hospital Supply"), ("医用气体公司", "医院后勤中心")), (("Hospital", "Infirmary", "Clinic"), ("医院", "人民医院", "康复医院")),
        (("maternity ward", "intensive care unit", "operating theatre", "emergency room"), ("产科病房", "重症监护室", "手术室", "急诊室")),
        ("the oxygen meter of the {spot} at {site}", "{site}{spot}的氧气表||{site}{spot}氧气计量表"),
        ("daily oxygen use", "日用氧量"), (" litres", "升"), (1900, 8800), ("line pressure", "管道压力"), (" kPa", "千帕"),
        "oxygen_meter|gas_meter|supply_meter", "hospital|clinic|site", "oxygen|oxygen_used|litres_used", "pressure|line_pressure|supply_pressure",
    ),
    MeasurementTheme(
        Domain.ENTERTAINMENT,
        (("Museums Trust", "Heritage Parks"), ("文旅集团", "景区管理公司")), (("Castle", "Gardens", "Museum"), ("古堡", "园林", "博物馆")),
        (("main gate", "river gate", "rose gate", "hill gate"), ("正门", "东门", "西门", "后山门")),
        ("the visitor counter at the {spot} of {site}", "{site}{spot}的客流计数器||{site}{spot}客流统计点"),
        ("daily number of visitors", "日客流量"), (" visitors", "人次"), (1200, 7400), ("season tickets", "年卡入园数"), (" season tickets", "张年卡"),
        "gate_counter|visitor_counter|turnstile", "attraction|park|sight", "visitors|visitor_count|entries", "season_tickets|pass_holders|annual_passes",
    ),
)  # fmt: skip
