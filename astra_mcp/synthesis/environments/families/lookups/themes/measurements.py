"""Themes of the family ``measurements``: what is measured where."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["MEASUREMENT_THEMES", "MeasurementTheme", "MeasurementWording"]

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
    where: Words
    """A ``{spot}`` at a ``{site}``; in English with its preposition."""
    meters: tuple[Words, Words]
    """What measures ``{where}``: one, and several."""
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
    which_zh: str = "哪里"
    """Asks in Chinese for one of several places."""


MEASUREMENT_THEMES = (
    MeasurementTheme(
        Domain.WEATHER,
        (("River Authority", "Water Board"), ("水文局", "河道管理处")), (("Brook", "River", "Water"), ("河", "溪", "江")),
        (("old bridge", "upper weir", "old mill", "ferry landing"), ("老桥", "上游水闸", "磨坊", "渡口")),
        ("at the {spot} on {site}", "{site}{spot}"), (("the gauge {where}", "{where}的水位计"), ("the gauges {where}", "{where}的水位计")),
        ("water level", "水位"), (" cm", "厘米"), (210, 640), ("flow", "流量"), (" m³/s", "立方米/秒"),
        "gauge|river_gauge|water_gauge", "river|water_course|stream", "level|water_level|stage", "flow|discharge|flow_rate",
    ),
    MeasurementTheme(
        Domain.SCIENCE,
        (("Air Watch", "Air Laboratory"), ("环境监测站", "大气研究所")), ((), ()),
        (("market square", "town hall", "bus station", "harbour"), ("集市广场", "环城路", "火车站", "老城区")),
        ("at the {spot} in {site}", "{site}{spot}"), (("the air monitor {where}", "{where}的空气监测仪"), ("the air monitors {where}", "{where}的空气监测仪")),
        ("fine dust level", "细颗粒物浓度"), (" µg/m³", "微克/立方米"), (130, 480), ("carbon monoxide level", "一氧化碳浓度"), (" ppb", "ppb"),
        "monitor|air_monitor|sampler", "town|city|municipality", "fine_dust|dust|particles", "carbon_monoxide|monoxide|gas",
    ),
    MeasurementTheme(
        Domain.ENERGY,
        (("Estate Energy", "Building Services"), ("能源管理公司", "楼宇能耗中心")), (("House", "Tower", "Hotel"), ("大厦", "酒店", "广场")),
        (("kitchen", "laundry", "server room", "swimming pool"), ("厨房", "洗衣房", "机房", "游泳池")),
        ("in the {spot} at {site}", "{site}{spot}"), (("the electricity meter {where}", "{where}的电表"), ("the electricity meters {where}", "{where}的电表")),
        ("electricity use", "日用电量"), (" kWh", "千瓦时"), (340, 1900), ("peak load", "最大负荷"), (" kW", "千瓦"),
        "meter|electricity_meter|power_meter", "building|property|premises", "consumption|energy_used|usage", "peak_load|load|highest_load",
    ),
    MeasurementTheme(
        Domain.TRANSPORTATION,
        (("Traffic Office", "Roads Department"), ("交通管理局", "公路局")), (("Bridge", "Tunnel", "Bypass"), ("大桥", "隧道", "绕城公路")),
        (("north end", "south end", "toll plaza", "slip road"), ("北口", "南口", "收费站", "匝道")),
        ("at the {spot} of {site}", "{site}{spot}"), (("the traffic counter {where}", "{where}的车流计数器"), ("the traffic counters {where}", "{where}的车流计数器")),
        ("traffic", "日车流量"), (" vehicles", "辆"), (2100, 9800), ("number of lorries", "货车数"), (" lorries", "辆货车"),
        "counter|traffic_counter|count_site", "road|crossing|road_link", "vehicles|traffic|vehicle_count", "lorries|lorry_count|heavy_vehicles",
    ),
    MeasurementTheme(
        Domain.CLOUD_SERVICES,
        (("Hosting", "Data Centres"), ("云计算公司", "数据中心")), (("Studios", "Logistics", "Press", "Analytics"), ("传媒", "物流", "出版社", "科技公司")),
        (("backup", "archive", "mail", "staging"), ("备份", "归档", "邮件", "测试")),
        ("on the {spot} server of {site}", "{site}{spot}服务器"), (("the disk monitor {where}", "{where}的磁盘监控"), ("the disk monitors {where}", "{where}的磁盘监控")),
        ("write volume", "日写入量"), (" GB", "GB"), (410, 2600), ("number of failed requests", "失败请求数"), (" requests", "次请求"),
        "monitor|disk_monitor|probe", "client|tenant|account_name", "written|data_written|writes", "failed_requests|errors|failures",
        "哪台",
    ),
    MeasurementTheme(
        Domain.HEALTHCARE,
        (("Medical Gases", "Hospital Supply"), ("医用气体公司", "医院后勤中心")), (("Hospital", "Infirmary", "Clinic"), ("医院", "人民医院", "康复医院")),
        (("maternity ward", "intensive care unit", "operating theatre", "emergency room"), ("产科病房", "重症监护室", "手术室", "急诊室")),
        ("in the {spot} at {site}", "{site}{spot}"), (("the oxygen meter {where}", "{where}的氧气表"), ("the oxygen meters {where}", "{where}的氧气表")),
        ("oxygen use", "日用氧量"), (" litres", "升"), (1900, 8800), ("line pressure", "管道压力"), (" kPa", "千帕"),
        "oxygen_meter|gas_meter|supply_meter", "hospital|clinic|site", "oxygen|oxygen_used|litres_used", "pressure|line_pressure|supply_pressure",
    ),
    MeasurementTheme(
        Domain.ENTERTAINMENT,
        (("Museums Trust", "Heritage Parks"), ("文旅集团", "景区管理公司")), (("Castle", "Gardens", "Museum"), ("古堡", "园林", "博物馆")),
        (("main gate", "river gate", "rose gate", "hill gate"), ("正门", "东门", "西门", "后山门")),
        ("at the {spot} of {site}", "{site}{spot}"), (("the visitor counter {where}", "{where}的客流计数器"), ("the visitor counters {where}", "{where}的客流计数器")),
        ("number of visitors", "日客流量"), (" visitors", "人次"), (1200, 7400), ("number of season ticket holders", "年卡入园人次"), (" holders", "人次"),
        "gate_counter|visitor_counter|turnstile", "attraction|park|sight", "visitors|visitor_count|entries", "season_tickets|pass_holders|annual_passes",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeasurementWording:
    """How is asked for what was measured by ``it``."""

    draft: Draft
    theme: MeasurementTheme
    measure: str
    month: str
    """The month as people say it."""
    days: Sequence[str]
    """Two days in it."""

    @property
    def then(self) -> str:
        """The month as an adverb."""
        is_adverb = self.draft.brief.language == "zh" or self.month == "last month"
        return self.month if is_adverb else f"in {self.month}"

    def asked(self, it: str, where: str) -> str:
        """The question without a conclusion: by what measures, or by where it is."""
        say, measure, then = self.draft.say, self.measure, self.then
        layout = self.draft.brief.layout
        one = layout.subjects == 1
        if layout.depth == 1:
            numbers = "number does {it} have" if one else "numbers do {it} have"
            each_zh = "" if one else "分别"
            return say(
                f"What {'is the number' if one else 'are the numbers'} of {it}? || I'm filling in a work order. What {numbers.format(it=it)}?",
                f"{it}编号{each_zh}是多少？ || 我在填工单，{it}编号{each_zh}是多少？",
            )
        if layout.depth > 2:
            return self._wording_of_limits(where, one=one)
        more, more_zh = "", ""
        if layout.facets > 1:
            first, last = self.days
            more = f" And how did it change from {first} to {last}{'' if one else ' in each case'}?"
            more_zh = f"从{first}到{last}{'' if one else '又分别'}变化了多少？"
        days = "day" if one else "days"
        then_peak = (
            f"was the {measure} {where} at its highest"
            if one
            else f"did the {measure} peak {where}"
        )
        return say(
            f"On which {days} {then} did the {measure} peak {where}?{more} || "
            f"I'm writing up the figures for {self.month}. On which {days} {then_peak}?{more}",
            f"{then}{where}的{measure}{'' if one else '分别'}哪天最高？{more_zh} || "
            f"我在整理{then}的数据，{where}的{measure}{'' if one else '分别'}是哪天最高？{more_zh}",
        )

    def _wording_of_limits(self, where: str, *, one: bool) -> str:
        say, measure, then = self.draft.say, self.measure, self.then
        layout = self.draft.brief.layout
        case, both = "" if one else " in each case", layout.facets > 1
        over = f"The {measure} {where} went over the limit {then}."
        over_zh = f"{where}的{measure}{then}{'' if one else '都'}超标了，"
        each_zh = "" if one else "分别"
        if layout.depth == 4:
            more, more_zh = "", ""
            if both:
                more, more_zh = ", and within how many hours", "，要在几小时内通知"
            return say(
                f"{over} Who has to be notified about the peak{more}{case}? || {over} Who do we have to inform about the peak{more}{case}?",
                f"{over_zh}最高那天的情况{each_zh}该通知谁{more_zh}？ || {over_zh}最严重那天{each_zh}应该报给谁{more_zh}？",
            )
        more, more_zh = "", ""
        if both:
            beside = say(*self.theme.beside)
            more = f" And what was the {beside} on {'that day' if one else 'the day of each peak'}?"
            more_zh = f"当天的{beside}又{each_zh}是多少？"
        english = (
            f"On the day the {measure} {where} peaked {then}, how far above the limit was it?{more} || {over} How far over was it on the day it peaked?{more}"
            if one
            else f"{over} How far above the limit was the peak{case}?{more} || {over} By how much did each peak exceed the limit?{more}"
        )
        return say(
            english,
            f"{then}{where}的{measure}最高那天{each_zh}超出限值多少？{more_zh} || {over_zh}最高那天{each_zh}超了多少？{more_zh}",
        )

    def concluded(self, where: str, either: str) -> str:
        """The question for the place that is first, or furthest above its limit."""
        say, measure, then = self.draft.say, self.measure, self.then
        which = self.theme.which_zh
        two = self.draft.brief.layout.subjects == 2
        if self.draft.brief.layout.depth == 2:
            return say(
                f"Where did the {measure} peak {'earlier' if two else 'earliest'} {then}, {either}? || I'm looking at the figures for {self.month}. Where did the {measure} peak {'earlier' if two else 'earliest'}, {either}?",
                f"{then}{where}，{which}的{measure}{'先' if two else '最先'}达到各自的当月最高值？ || {where}，{then}{which}的{measure}{'更早' if two else '最早'}达到各自的最高值？",
            )
        far, more, more_zh = ("further", "more", "更") if two else ("furthest", "the most", "最")
        return say(
            f"The {measure} {where} went over the limit {then}. Where was the peak {far} above the limit? || "
            f"Where did the peak {measure} {then} exceed the limit by {more}, {either}?",
            f"{where}的{measure}{then}都超标了，按最高那天算，{which}超得{more_zh}多？ || {then}{where}的{measure}都超过了限值，最高那天{which}超得{more_zh}多？",
        )
