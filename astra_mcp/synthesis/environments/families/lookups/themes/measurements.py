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

    def asked(self, it: str) -> str:
        """The question without a conclusion."""
        say, measure, then, layout = (
            self.draft.say,
            self.measure,
            self.then,
            self.draft.brief.layout,
        )
        one = layout.subjects == 1
        if layout.depth == 1:
            numbers = "number" if one else "numbers"
            return say(
                f"I need to put the {numbers} of {it} on the work sheet. What {'is it' if one else 'are they'}? || "
                f"What {'is' if one else 'are'} the {numbers} of {it}?",
                f"工单上要写编号，{it}的编号{'' if one else '各'}是多少？ || 请问{it}{'的编号' if one else '，编号分别'}是多少？",
            )
        if layout.depth == 2:
            days = self.days
            more, more_zh = "", ""
            if layout.facets > 1:
                more = f" And how did the reading change from {days[0]} to {days[1]}{'' if one else ' in each case'}?"
                more_zh = f"另外，从{days[0]}到{days[1]}{'' if one else '各自'}变化了多少？"
            english = (
                f"On which day {then} did {it} record the highest {measure}?{more} || "
                f"I am writing up the figures: when exactly {then} was the {measure} recorded by {it} at its highest?{more}"
                if one
                else f"On which day {then} did each of these record its highest {measure}: {it}?{more} || "
                f"For {it}, I need the day {then} on which the {measure} was highest in each case.{more}"
            )
            return say(
                english,
                f"{it}{'' if one else '，'}{then}{measure}{'' if one else '各是'}哪天最高？{more_zh} || 整理数据要用：{then}{it}的{measure}{'' if one else '分别'}在哪一天达到最高？{more_zh}",
            )
        return self._wording_of_limits(it, one=one)

    def _wording_of_limits(self, it: str, *, one: bool) -> str:
        say, measure, then, layout = (
            self.draft.say,
            self.measure,
            self.then,
            self.draft.brief.layout,
        )
        each, both = "" if one else "各自", layout.facets > 1
        if layout.depth == 3:
            beside = say(*self.theme.beside)
            more = f" And what was the figure for {beside} on that day?" if both else ""
            more_zh = f"当天的{beside}又是多少？" if both else ""
            english = (
                f"On its worst day {then}, how far above the limit was the {measure} recorded by {it}?{more} || "
                f"The {measure} recorded by {it} went over the limit {then}. By how much on the highest day?{more}"
                if one
                else f"Take the worst day {then} of each of these: {it}. How far above the limit was the {measure}?{more} || "
                f"The {measure} recorded by {it} went over the limit {then}. By how much, on the highest day of each?{more}"
            )
            return say(
                english,
                f"{it}，{then}{each}{measure}最高的那天超出限值多少？{more_zh} || {then}{it}的{measure}超标了，{each}最高那天超了多少？{more_zh}",
            )
        more = " And how long do we have for it?" if both else ""
        more_zh = "要在多长时间内通知？" if both else ""
        told = f"recorded by {it} {then}" if one else f"{then} of each of these: {it}"
        return say(
            f"The {measure} recorded by {it} went over the limit {then}. Whom do we have to notify about the worst day{'' if one else ' of each'}?{more} || "
            f"Our limits were exceeded. Who has to be told about the highest {measure} {told}?{more}",
            f"{it}{then}{measure}超限，{each}最高的那天按规定该通知谁？{more_zh} || {then}{it}的{measure}超过了限值，最严重的那天{each}应该报给谁？{more_zh}",
        )

    def concluded(self, it: str) -> str:
        """The question for the one that is first, or furthest above its limit."""
        say, measure, then = self.draft.say, self.measure, self.then
        if self.draft.brief.layout.depth == 2:
            return say(
                f"Looking at {self.month}: which of these recorded its highest {measure} earliest, {it}? || Of {it}, which had its peak {measure} earliest {then}?",
                f"{then}{it}，哪一个最先达到当月最高{measure}？ || {it}，{then}哪处的{measure}最早到达最高值？",
            )
        return say(
            f"All of these went over the limit {then}: {it}. Which one was furthest above it on its worst day? || "
            f"Compare {it}: where did the {measure} go furthest above the limit on the worst day {then}?",
            f"{it}，{then}都超过了限值。各取{measure}最高的那天，哪处超得最多？ || 比较一下{it}{then}{measure}最高的那天，哪一处超出限值最多？",
        )
