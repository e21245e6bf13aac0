"""What lies between what: networks, roads, trails, power lines and water mains; and why people ask for ways in them."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Theme"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Theme:
    """A kind of network; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who run it end in."""
    unit: _Text
    """What stands at a node, by its code."""
    case: _Text
    """What leads to such a unit, by its code."""
    site: _Text
    """What kind of place a node is."""
    at_unit: tuple[_Text, _Text]
    at_case: tuple[_Text, _Text]
    """The place of one unit and those of several, with their codes ``{x}``; the same by their cases."""
    stretch: _Text
    measure: str
    """What of a stretch is compared, as code calls it."""
    measured: str
    """Its unit of measurement."""
    is_most: bool
    """Whether the stretch that counts is the one with the most, else the least."""
    weakest: _Text
    route: _Text
    story: _Text
    stories: _Text
    """Why one asks; ``{start}`` and ``{goal}`` are the ends of the way. The same for several."""
    keeper: _Text
    cost: _Text
    """The questions, with ``{it}``, and in Chinese ``{each}``."""
    total: _Text
    compared: _Text
    """The conclusions, with ``{it}`` and ``{most}``; compared on several routes."""
    chosen: _Text
    """The same of stretches with known codes."""
    priced: _Text
    """What is paid for, as a tool says it."""
    code: tuple[str, str, str, str, str]
    """What code calls unit, case, stretch, keeper and cost."""


THEMES = (
    Theme(
        Domain.CLOUD_SERVICES, (("Telecom", "Data Lines", "Fibre"), ("电信", "通信", "宽带")),
        ("access point", "接入点"), ("ticket", "工单"), ("site", "站点"),
        (("access point {x}", "接入点{x}"), ("access points {x}", "接入点{x}")),
        (("the access point in ticket {x}", "工单{x}里的接入点"), ("the access points in tickets {x}", "工单{x}里的接入点")),
        ("line", "线路"), "bandwidth", "Mbit/s", False, ("the line with the lowest bandwidth", "带宽最小的线路"), ("route", "路径"),
        ("On {house's} network, traffic from {start} to {goal} takes the shortest route, and it has become slow. || {house} sends traffic from {start} to {goal} by the shortest route, and users say it's too slow.", "在{house}的网络里，从{start}到{goal}的数据走最短路径，最近很慢。 || 用户反映，{house}从{start}到{goal}很卡，流量走的是最短路径。"),
        ("On {house's} network, traffic from {start} to {goal} takes the shortest route, and it has become slow.", "在{house}的网络里，{start}到{goal}的数据都走最短路径，最近都很慢。"),
        ("who maintains {it}?", "{it}{each}由谁维护？"), ("what would it cost to upgrade {it}?", "{it}扩容{each}要多少钱？"),
        ("what would it cost in total to upgrade {it}?", "{it}都扩容，一共要多少钱？"), ("on which route would it be {most} to upgrade {it}?", "哪条路径中{it}扩容{most}？"),
        ("which of {it} would be {most} to upgrade?", "{it}，哪条扩容{most}？"), ("an upgrade", "扩容"),
        ("access_point|ap", "ticket|trouble_ticket", "line|network_line", "maintainer|line_owner", "upgrade_cost|upgrade_price"),
    ),
    Theme(
        Domain.LOGISTICS, (("Highways", "Road Authority", "Road Office"), ("公路局", "路政", "公路集团")),
        ("load", "货件"), ("application", "申请单"), ("yard", "货场"),
        (("the yard where load {x} is stored", "货件{x}所在的货场"), ("the yards where loads {x} are stored", "货件{x}所在的货场")),
        (("the yard where the load in application {x} is stored", "申请单{x}里的货件所在的货场"), ("the yards where the loads in applications {x} are stored", "申请单{x}里的货件所在的货场")),
        ("road section", "路段"), "load_limit", "t", False, ("the section with the lowest load limit", "限重最低的路段"), ("route", "路线"),
        ("We're planning a heavy transport from {start} to {goal} by the shortest route on {house's} road network. || A heavy transport is going from {start} to {goal} by the shortest route on {house's} road network.", "有一件大件货要走{house}的公路，从{start}按最短路线运到{goal}。 || 我们要把一件大件货从{start}运到{goal}，走{house}公路的最短路线。"),
        ("We're planning heavy transports from {start} to {goal}, each by the shortest route on {house's} road network.", "我们有大件货要走{house}的公路，分别从{start}按最短路线运到{goal}。"),
        ("which officer is in charge of {it}?", "{it}{each}由谁负责？"), ("what does the permit for {it} cost?", "{it}的通行许可{each}要多少钱？"),
        ("what do the permits for {it} cost in total?", "{it}的通行许可一共要多少钱？"), ("on which route is the permit for {it} {most}?", "哪条路线中{it}的通行许可{most}？"),
        ("for which of {it} is the permit {most}?", "{it}，哪段的通行许可{most}？"), ("the permit", "通行许可"),
        ("load|load_unit", "application|permit_application", "road_section|road", "officer|road_officer", "permit_fee|permit_price"),
    ),
    Theme(
        Domain.TRAVEL, (("Alpine Huts", "Trails", "Hut Association"), ("登山协会", "徒步俱乐部", "山地营地")),
        ("party", "小队"), ("booking", "预订单"), ("hut", "营地"),
        (("the hut where party {x} is staying tonight", "小队{x}今晚住的营地"), ("the huts where parties {x} are staying tonight", "小队{x}今晚住的营地")),
        (("the hut where the party with booking {x} is staying tonight", "预订单{x}的小队今晚住的营地"), ("the huts where the parties with bookings {x} are staying tonight", "预订单{x}的小队今晚住的营地")),
        ("trail section", "路段"), "climb", "m", True, ("the section with the biggest climb", "爬升最大的路段"), ("route", "路线"),
        ("We're walking from {start} to {goal} tomorrow by the shortest route on {house's} map. || Tomorrow our group is walking the shortest route on {house's} map from {start} to {goal}.", "我们明天从{start}出发，按{house}的地图走最短路线去{goal}。 || 明天有一支队伍要从{start}走到{goal}，走的是{house}地图上的最短路线。"),
        ("Our groups are walking from {start} to {goal} tomorrow, each by the shortest route on {house's} map.", "明天我们的队伍分别从{start}出发，都按{house}的地图走最短路线去{goal}。"),
        ("which ranger looks after {it}?", "{it}{each}由哪位巡山员负责？"), ("what does a porter for {it} cost?", "{it}请人背行李{each}要多少钱？"),
        ("what do porters for {it} cost in total?", "{it}都请人背行李，一共要多少钱？"), ("on which route is a porter for {it} {most}?", "哪条路线中{it}请人背行李{most}？"),
        ("for which of {it} is a porter {most}?", "{it}，哪段请人背行李{most}？"), ("a porter", "背行李"),
        ("party|group", "booking|hut_booking", "trail_section|trail", "ranger|section_ranger", "porter_fee|porter_price"),
    ),
    Theme(
        Domain.ENERGY, (("Power Grid", "Electricity Works", "Energy Network"), ("电网", "供电公司", "电力")),
        ("meter", "电表"), ("complaint", "投诉单"), ("substation", "变电站"),
        (("the substation that feeds meter {x}", "电表{x}所接的变电站"), ("the substations that feed meters {x}", "电表{x}所接的变电站")),
        (("the substation that feeds the meter in complaint {x}", "投诉单{x}里的电表所接的变电站"), ("the substations that feed the meters in complaints {x}", "投诉单{x}里的电表所接的变电站")),
        ("power line", "输电线"), "capacity", "MW", False, ("the power line with the lowest capacity", "容量最小的输电线"), ("route", "线路"),
        ("{house} wants to send more power from {start} to {goal} by the shortest route. || {house} is planning to send more power from {start} to {goal}, using the shortest route.", "{house}想沿最短线路从{start}向{goal}多送些电。 || {house}准备沿最短线路，把更多的电从{start}送到{goal}。"),
        ("{house} wants to send more power from {start} to {goal}, each time by the shortest route.", "{house}想分别从{start}沿最短线路向{goal}多送些电。"),
        ("which engineer is in charge of {it}?", "{it}{each}由哪位工程师负责？"), ("what would it cost to reinforce {it}?", "{it}加固{each}要多少钱？"),
        ("what would it cost in total to reinforce {it}?", "{it}都加固，一共要多少钱？"), ("on which route would it be {most} to reinforce {it}?", "哪条线路中{it}加固{most}？"),
        ("which of {it} would be {most} to reinforce?", "{it}，哪条加固{most}？"), ("a reinforcement", "加固"),
        ("meter|power_meter", "complaint|outage_report", "power_line|feeder", "engineer|line_engineer", "reinforcement_cost|reinforcement_price"),
    ),
    Theme(
        Domain.GOVERNMENT, (("Waterworks", "Water Board", "Municipal Water"), ("水务", "自来水公司", "供水局")),
        ("hydrant", "消火栓"), ("inspection report", "检查单"), ("pumping station", "泵站"),
        (("the pumping station that supplies hydrant {x}", "消火栓{x}所属的泵站"), ("the pumping stations that supply hydrants {x}", "消火栓{x}所属的泵站")),
        (("the pumping station that supplies the hydrant in inspection report {x}", "检查单{x}里的消火栓所属的泵站"), ("the pumping stations that supply the hydrants in inspection reports {x}", "检查单{x}里的消火栓所属的泵站")),
        ("water main", "管段"), "diameter", "mm", False, ("the narrowest water main", "管径最小的管段"), ("route", "管路"),
        ("{house} pumps water from {start} to {goal} by the shortest route, but too little arrives. || Too little water reaches {goal} from {start}, though {house} sends it by the shortest route.", "{house}的水从{start}走最短管路送到{goal}，水压总是不够。 || {house}从{start}走最短管路向{goal}供水，但水量不足。"),
        ("{house} pumps water from {start} to {goal}, each time by the shortest route, but too little arrives.", "{house}分别从{start}走最短管路向{goal}供水，但水量不足。"),
        ("which inspector is in charge of {it}?", "{it}{each}由哪位巡检员负责？"), ("what would it cost to replace {it}?", "更换{it}{each}要多少钱？"),
        ("what would it cost in total to replace {it}?", "{it}都换掉，一共要多少钱？"), ("on which route would it be {most} to replace {it}?", "更换哪条管路中{it}{most}？"),
        ("which of {it} would be {most} to replace?", "{it}，更换哪段{most}？"), ("a replacement", "更换"),
        ("hydrant|fire_hydrant", "inspection|inspection_report", "water_main|main", "inspector|main_inspector", "replacement_cost|renewal_cost"),
    ),
)  # fmt: skip
