"""Paths: from what is reported to where that is, the shortest way from there, and the weakest stretch of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.graphs import Asked as Way
from astra_mcp.synthesis.environments.families.graphs import Graph, way_between
from astra_mcp.synthesis.environments.families.issued import source_of
from astra_mcp.synthesis.environments.families.phrases import listed
from astra_mcp.synthesis.environments.families.times import money

__all__ = ["PATHS"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Theme:
    """What lies between what; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who run it end in."""
    unit: _Text
    """What stands at a node, by its code."""
    case: _Text
    """What leads to such a unit, by its code."""
    lies: _Text
    """The place of the unit, as said of it."""
    stretch: _Text
    measure: str
    """What of a stretch is compared, as code calls it."""
    measured: str
    """Its unit of measurement."""
    is_most: bool
    """Whether the stretch that counts is the one with the most, else the least."""
    weakest: _Text
    story: _Text
    stories: _Text
    """Why one asks; ``{start}`` and ``{goal}`` are the ends of the way. The same for several."""
    keeper: _Text
    cost: _Text
    """The questions, with ``{it}``."""
    total: _Text
    compared: _Text
    """The conclusions, with ``{most}``."""
    code: tuple[str, str, str, str, str]
    """What code calls unit, case, stretch, keeper and cost."""


_THEMES = (
    _Theme(
        Domain.CLOUD_SERVICES, (("Networks", "Data Lines", "Fibre"), ("网络", "通信", "专网")),
        ("access point", "接入点"), ("ticket", "工单"), ("the site of", "接入的站点"), ("line", "线路"),
        "bandwidth", "Mbit/s", False, ("the line with the least bandwidth", "带宽最小的那条线路"),
        ("Data from {start} crawls on its way to {goal}; it always takes the shortest way there. || Users complain: from {start} to {goal} everything is slow, and traffic takes the shortest way.", "从{start}到{goal}的数据走最短路径，最近慢得很。 || 用户反映{start}到{goal}很卡，流量走的是最短路径。"),
        ("Data to {goal} takes the shortest way from each of these places: {start}.", "以下几处到{goal}的数据都走最短路径：{start}。"),
        ("who maintains {it}?||which person looks after {it}?", "{it}由谁维护？"), ("what would an upgrade of {it} cost?", "{it}扩容要多少钱？"),
        ("what would it cost to upgrade {it}?", "把{it}都扩容，一共要多少钱？"), ("from which of these places would it be {most} to upgrade {it}?", "哪一处{it}扩容费用最{most}？"),
        ("access_point|ap", "ticket|trouble_ticket", "line|network_line", "maintainer|line_owner", "upgrade_cost|upgrade_price"),
    ),
    _Theme(
        Domain.LOGISTICS, (("Heavy Haulage", "Special Loads", "Transport"), ("大件运输", "重载物流", "特种运输")),
        ("transformer crate", "大件货箱"), ("order", "订单"), ("the yard with", "存放的货场"), ("road section", "路段"),
        "load_limit", "t", False, ("the section with the lowest load limit", "限重最低的那个路段"),
        ("A heavy load has to go from {start} to {goal}, by the shortest way. || We are to haul something heavy the shortest way from {start} to {goal}.", "有一件大件货要从{start}按最短路线运到{goal}。 || 我们要把一件重货从{start}走最短路线拉到{goal}。"),
        ("Heavy loads go to {goal}, each by the shortest way, from these places: {start}.", "几件大件货都按最短路线运到{goal}，起点分别是：{start}。"),
        ("who has to be asked about {it}?||which officer is in charge of {it}?", "{it}归谁负责？"), ("what does the permit for {it} cost?", "{it}的通行许可要多少钱？"),
        ("what do the permits for {it} come to?", "{it}的通行许可费一共多少？"), ("from which of these places is the permit for {it} {most}?", "哪一处{it}通行许可费最{most}？"),
        ("crate|load_unit", "order|haulage_order", "road_section|road", "officer|road_officer", "permit_fee|permit_price"),
    ),
    _Theme(
        Domain.TRAVEL, (("Alpine Huts", "Trails", "Hut Association"), ("登山协会", "徒步俱乐部", "山地营地")),
        ("party", "小队"), ("booking", "预订"), ("tonight's hut of", "今晚住的营地"), ("trail section", "山路路段"),
        "climb", "m", True, ("the section with the biggest climb", "爬升最大的那一段"),
        ("Tomorrow we walk from {start} to {goal}, the shortest way. || A tour sets out from {start} and takes the shortest way to {goal}.", "明天从{start}走最短的路去{goal}。 || 有一队人要从{start}出发，走最短路线到{goal}。"),
        ("Several of us walk to {goal} tomorrow, each the shortest way, from these places: {start}.", "明天几队人都走最短路线去{goal}，出发地分别是：{start}。"),
        ("who is the ranger for {it}?||which ranger takes care of {it}?", "{it}的巡山员是谁？"), ("what does it cost to have the luggage carried on {it}?", "{it}请人背行李要多少钱？"),
        ("what does it cost altogether to have the luggage carried on {it}?", "{it}都请人背行李，一共多少钱？"), ("from which of these places is a porter on {it} {most}?", "从哪一处出发，{it}请人背行李的费用最{most}？"),
        ("party|group", "booking|hut_booking", "trail_section|trail", "ranger|section_ranger", "porter_fee|porter_price"),
    ),
    _Theme(
        Domain.ENERGY, (("Power Grid", "Electricity Works", "Energy Network"), ("电网", "供电公司", "电力")),
        ("meter", "电表"), ("complaint", "投诉单"), ("the substation of", "所接的变电站"), ("power line", "输电线"),
        "capacity", "MW", False, ("the line with the least capacity", "容量最小的那条线"),
        ("We want to send more power from {start} to {goal}, by the shortest way. || More current is to flow from {start} to {goal}; planning takes the shortest way.", "想沿最短线路从{start}向{goal}多送些电。 || 规划沿最短线路，把更多电力从{start}送到{goal}。"),
        ("More power is to go to {goal}, by the shortest way from each of these places: {start}.", "以下几处都要沿最短线路向{goal}多送电：{start}。"),
        ("who is the engineer for {it}?||which engineer is in charge of {it}?", "{it}由哪位工程师负责？"), ("what would it cost to reinforce {it}?", "{it}加固要多少钱？"),
        ("what would it cost altogether to reinforce {it}?", "把{it}都加固，一共要多少钱？"), ("from which of these places would it be {most} to reinforce {it}?", "哪一处{it}加固费用最{most}？"),
        ("meter|power_meter", "complaint|outage_report", "power_line|feeder", "engineer|line_engineer", "reinforcement_cost|reinforcement_price"),
    ),
    _Theme(
        Domain.GOVERNMENT, (("Waterworks", "Water Board", "Municipal Water"), ("水务", "自来水公司", "供水局")),
        ("hydrant", "消火栓"), ("inspection report", "检查单"), ("the pumping station of", "供水的泵站"), ("main", "管段"),
        "diameter", "mm", False, ("the narrowest main", "管径最小的那段管道"),
        ("Too little water comes from {start} to {goal}, though it takes the shortest way. || Water flows the shortest way from {start} to {goal}, and the pressure drops.", "水从{start}走最短管路到{goal}，压力总是不够。 || {start}到{goal}的水走最短管路，一路掉压。"),
        ("Water to {goal} takes the shortest way from each of these places: {start}.", "以下几处的水都走最短管路到{goal}：{start}。"),
        ("who is the inspector for {it}?||which inspector is in charge of {it}?", "{it}的巡检员是谁？"), ("what would it cost to replace {it}?", "更换{it}要多少钱？"),
        ("what would it cost altogether to replace {it}?", "把{it}都换掉，一共要多少钱？"), ("from which of these places would it be {most} to replace {it}?", "哪一处{it}更换费用最{most}？"),
        ("hydrant|fire_hydrant", "inspection|inspection_report", "water_main|main", "inspector|main_inspector", "replacement_cost|renewal_cost"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: what is reported, what that is about, where it is, and the stretch that counts on the way."""

    case: str
    unit: str
    node: str
    stretch: str
    way: Way


def _make(brief: Brief) -> Draft:
    return _Paths(brief, brief.draw("theme").pick(_THEMES)).draft


class _Paths:
    """One graph, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.draft = Draft(brief, theme.domain)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.unit, self.case, self.stretch = (
            self.draft.say(*t) for t in (theme.unit, theme.case, theme.stretch)
        )
        self.currency = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.facets = self._facets()
        self._name()
        self._fill()
        self._tools()
        self._ask()

    def _facets(self) -> list[str]:
        if self.brief.layout.facets == 2:
            return ["keeper", "cost"]
        is_cost = self.brief.layout.concludes or self.brief.draw("facet").chance(1, 2)
        return ["cost" if is_cost else "keeper"]

    def _name(self) -> None:
        unit, case, stretch, keeper, cost = self.theme.code
        self.draft.title = (
            f"{self.house}{'：' + self.stretch + '图' if self.zh else f': map of {self.stretch}s'}"
        )
        self.draft.description = self.draft.say(
            f"What {self.house} knows of its {self.stretch}s, and of what lies along them.",
            f"{self.house}的{self.stretch}资料，以及沿线的设施。",
        )
        self.draft.name(
            unit=unit, case=case, stretch=stretch, keeper=keeper, cost=cost,
            ref="${case}_number|${case}_id|${case}_ref", code="${unit}_code|${unit}_id|${unit}_number", line="code|${stretch}_code|${stretch}_id",
            node="node|site|location", start="start|origin|from_$node", goal="goal|target|to_$node", size=self.theme.measure,
            open="open_$case|read_$case|get_$case", find="locate_$unit|where_is_$unit|find_$unit", way="shortest_way|find_route|trace_way",
            who="${keeper}_of|find_$keeper|get_$keeper", price="${cost}_of|estimate_$cost|get_$cost",
            age="with_year|show_age|with_age", phone="with_phone|with_contact|contact", rush="urgent|express|rush",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        layout, records = self.brief.layout, self.brief.knobs.records
        rows, columns = (3, 5) if records < 20 else (4, 5) if records < 100 else (5, 5)
        nodes = self.entities.places(rows * columns)
        graph = Graph.drawn(self.draw, nodes, columns, layout.subjects)
        lines = self.entities.codes(f"{self._letters()}-####", len(graph.edges))
        self.goal, self.graph = graph.goal, graph
        self.lines = dict(zip(graph.edges, lines, strict=True))
        sizes = self._sizes(graph)
        self.rows = {
            self.lines[e]: [*e, length, sizes[e], 1962 + self.draw.below(60)]
            for e, length in graph.edges.items()
        }
        count = max(records, len(nodes))
        units = self.entities.codes(f"{self._letters()}####", count)
        cases = self.entities.codes(f"{self._letters()}#####", count)
        self.units = {u: nodes[i % len(nodes)] for i, u in enumerate(units)}
        self.cases = dict(zip(cases, self.draw.shuffled(units), strict=True))
        asked = {u: c for c, u in self.cases.items()}
        self.asked = list[_Asked]()
        for way in graph.asked:
            unit = self.draw.pick([u for u, n in self.units.items() if n == way.start])
            self.asked.append(_Asked(asked[unit], unit, way.start, self.lines[way.edge], way))
        self._facts(lines)

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _sizes(self, graph: Graph) -> dict[tuple[str, str], int]:
        """Sizes, all different: on each way that is asked for, one stands out, some of them narrowly."""
        count, ways = len(graph.edges), [a.way for a in graph.asked]
        low, high = [*range(0, 4 * count, 5)], [*range(4 * count + 5, 10 * count, 5)]
        low, high = self.draw.shuffled(low), self.draw.shuffled(high)
        sizes = {e: low.pop() for e in [a.edge for a in graph.asked]}
        on_ways = dict.fromkeys(e for way in ways for e in way if e not in sizes)
        sizes |= {e: high.pop() for e in on_ways}
        rest = self.draw.shuffled([*low, *high])
        sizes |= {e: rest.pop() for e in graph.edges if e not in sizes}
        for way, weakest in [(a.way, a.edge) for a in graph.asked]:
            alone = [e for e in way if e != weakest and sum(e in w for w in ways) == 1]
            for place, edge in enumerate(alone[: self.brief.knobs.near_misses // 2]):
                sizes[edge] = sizes[weakest] + 2 + place
        base = 140
        if self.theme.is_most:
            return {e: base + 10 * count - sizes[e] for e in graph.edges}
        return {e: base + sizes[e] for e in graph.edges}

    def _facts(self, lines: list[str]) -> None:
        draft, depth = self.draft, self.brief.layout.depth
        self.keepers = dict(zip(lines, self.entities.people(len(lines)), strict=True))
        prices = self.draw.some(range(130, 1900), len(lines))
        self.prices = {n: 500 * p for n, p in zip(lines, prices, strict=True)}
        if depth > 3:
            draft.data("CASES", self.cases)
        if depth > 2:
            draft.data("UNITS", self.units)
        if depth > 1:
            draft.data("STRETCHES", self.rows)
        if "keeper" in self.facets:
            phones = self.draw.some(range(20000, 99999), len(lines))
            draft.data("KEEPERS", {n: [k, str(p)] for (n, k), p in zip(self.keepers.items(), phones, strict=True)})  # fmt: skip
        if "cost" in self.facets:
            draft.data("CENTS", self.prices)

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        depth, self.options = self.brief.layout.depth, self.brief.knobs.options
        if depth > 3:
            self.open = self._plain("$open", ("$ref", "$code"), "CASES", self.cases, (self.case, self.unit))  # fmt: skip
        if depth > 2:
            self.find = self._plain("$find", ("$code", "$node"), "UNITS", self.units, (self.unit, self.draft.say("place", "位置")))  # fmt: skip
        if "keeper" in self.facets:
            self._keeper()
        if "cost" in self.facets:
            self._cost()
        if depth > 1:
            self._way()

    def _plain(self, name: str, names: tuple[str, str], table: str, rows: Mapping[str, str], words: _Text) -> str:  # fmt: skip
        """A tool that tells one thing of a code."""
        (given, told), (of, what) = names, words
        say, some = self.draft.say, next(iter(rows))
        digits = sum(s.isdigit() for s in some)
        pattern = {"type": "string", "pattern": f"^{some[:2]}[0-9]{{{digits}}}$"}
        return self.draft.tool(
            name, say(f"Tell the {what} of a {of}.||Look up the {what} of a {of} by its code.", f"按编号查询{of}对应的{what}。||查询{of}的{what}。"), {given: pattern},
            f"""
            if {given} not in {table}:
                raise ValueError(f"{say(f"There is no {of} {{{given}!r}}; codes look like {some[:2]}{'0' * digits}.", f"没有编号为{{{given}}}的{of}；编号形如{some[:2]}{'0' * digits}。")}")
            return {{"{given}": {given}, "{told}": {table}[{given}]}}
            """,
        )  # fmt: skip

    def _line(self) -> dict[str, str]:
        some = next(iter(self.rows))
        return {"type": "string", "pattern": f"^{some[:3]}[0-9]{{4}}$"}

    def _unknown(self) -> str:
        some = next(iter(self.rows))[:3]
        return self.draft.say(
            f"There is no {self.stretch} {{$line!r}}; codes look like {some}0000.",
            f"没有编号为{{$line}}的{self.stretch}；编号形如{some}0000。",
        )

    def _switch(self, name: str) -> dict[str, dict[str, object]]:
        """A further parameter, while there are options left."""
        if self.options < 1:
            return {}
        self.options -= 1
        return {name: {"type": "boolean", "default": False}}

    def _keeper(self) -> None:
        say, more = self.draft.say, self._switch("$phone")
        self.who = self.draft.tool(
            "$who", say(f"Tell who is responsible for a {self.stretch}.", f"查询{self.stretch}的负责人。"), {"$line": self._line(), **more},
            f"""
            if $line not in KEEPERS:
                raise ValueError(f"{self._unknown()}")
            found = {{"$line": $line, "$keeper": KEEPERS[$line][0]}}
            {'return {**found, "phone": KEEPERS[$line][1]} if $phone else found' if more else "return found"}
            """,
        )  # fmt: skip
        if more:
            self.draft.example("$who", **{"$line": self.asked[0].stretch, "$phone": True})

    def _cost(self) -> None:
        say, more = self.draft.say, self._switch("$rush")
        gap = "" if self.zh else " "
        self.price = self.draft.tool(
            "$price", say(f"Tell what {self._priced()} of a {self.stretch} costs.", f"查询{self.stretch}的{self._priced()}费用。"), {"$line": self._line(), **more},
            f"""
            if $line not in CENTS:
                raise ValueError(f"{self._unknown()}")
            cents = CENTS[$line]{" * (3 if $rush else 2) // 2" if more else ""}
            return {{"$line": $line, "$cost": f"{{cents // 100}}.{{cents % 100:02d}}{gap}{self.currency}"}}
            """,
        )  # fmt: skip
        if more:
            self.draft.example("$price", **{"$line": self.asked[0].stretch, "$rush": True})

    def _priced(self) -> str:
        """What is paid for, as a tool says it."""
        word = self.theme.code[4].split("|")[0].split("_")[0]
        named = {"upgrade": ("an upgrade", "扩容"), "permit": ("the permit", "通行许可"), "porter": ("a porter", "背行李"), "reinforcement": ("a reinforcement", "加固"), "replacement": ("a replacement", "更换")}  # fmt: skip
        return named[word][self.zh]

    def _way(self) -> None:
        say, more = self.draft.say, self._switch("$age")
        self.draft.code(source_of(way_between))
        about = {"type": "string", "minLength": 2, "description": say("Name of a place.", "地名。")}
        built = ', **({"year": v[4]} if $age else {})' if more else ""
        self.way = self.draft.tool(
            "$way", say(f"Give the shortest way between two places, with each {self.stretch} on it.", f"查询两地之间的最短路径及途经的{self.stretch}。"),
            {"$start": about, "$goal": about, **more},
            f"""
            links = {{(v[0], v[1]): v[2] for v in STRETCHES.values()}}
            for place in ($start, $goal):
                if all(place not in ends for ends in links):
                    raise ValueError(f"{say("There is no place {place!r} on the map; check how it is spelled.", "图上没有{place}这个地方；请核对地名。")}")
            if $start == $goal:
                raise ValueError("{say("Start and goal are the same place; name two.", "起点和终点相同；请给出两个不同的地方。")}")
            on = way_between(links, $start, $goal)
            rows = [(n, v) for e in on for n, v in STRETCHES.items() if (v[0], v[1]) == e]
            return {{"way": [{{"$line": n, "between": [v[0], v[1]], "length": f"{{v[2]}} km", "$size": f"{{v[3]}} {self.theme.measured}"{built}}} for n, v in rows]}}
            """,
        )  # fmt: skip
        if more:
            self.draft.example("$way", **{"$start": self.asked[0].node, "$goal": self.goal, "$age": True})  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found = [self._follow(a) for a in self.asked]
        kind = conclusion_of(self.brief)
        concluded = ("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else ("Which of them is it?", "是其中哪一个？")  # fmt: skip
        tell(self.draft, found, self.draft.say(*concluded), lambda cents: money(cents, self.currency))  # fmt: skip
        starts = listed([self._start(a) for a in self.asked], self.brief.language)
        if self.brief.layout.depth == 1:
            self.draft.question = self._known(kind)
            return
        story = self.theme.stories if len(self.asked) > 1 else self.theme.story
        told = self._filled(self.draft.say(*story), start=starts, goal=self.goal)
        parts = [self._setting(), told, self._wanted(kind)]
        self.draft.question = ("" if self.zh else " ").join(parts)

    def _setting(self) -> str:
        return self.draft.say(f"A question for {self.house}. || Hello {self.house}!", f"请教一下{self.house}。 || {self.house}你好！")  # fmt: skip

    def _filled(self, text: str, **words: str) -> str:
        for word, said in words.items():
            text = text.replace(f"{{{word}}}", said)
        return text

    def _start(self, asked: _Asked) -> str:
        say, (lies, there) = self.draft.say, self.theme.lies
        match self.brief.layout.depth:
            case 1 | 2:
                return asked.node
            case 3:
                return say(f"{lies} {self.unit} {asked.unit}", f"{self.unit}{asked.unit}{there}")  # fmt: skip
            case _:
                return say(f"{lies} the {self.unit} of {self.case} {asked.case}", f"{self.case}{asked.case}涉及的{self.unit}{there}")  # fmt: skip

    def _known(self, kind: Conclusion) -> str:
        """The question where the codes of the stretches are known."""
        lines = listed([a.stretch for a in self.asked], self.brief.language)
        several = len(self.asked) > 1
        it = self.draft.say(
            f"{self.stretch}{'s' if several else ''} {lines}", f"{self.stretch}{lines}"
        )
        if not several:
            return self._setting() + ("" if self.zh else " ") + self._asking(it)
        if kind is Conclusion.NONE:
            each = self.draft.say(f"each of the {it}", f"{it}各自")
            return self._setting() + ("" if self.zh else " ") + self._asking(each)
        if kind is Conclusion.SUM:
            asks = self._filled(
                self.draft.say(*self.theme.total), it=self.draft.say(f"all of the {it}", it)
            )
            return self._setting() + ("" if self.zh else " ") + _capital(asks)
        most = self._most(kind)
        asks = self.draft.say(
            f"For which of the {it} is {self._priced()} {most}?",
            f"{it}中，哪个的{self._priced()}费用最{most}？",
        )
        return self._setting() + ("" if self.zh else " ") + asks

    def _most(self, kind: Conclusion) -> str:
        least = kind is Conclusion.LEAST
        return ("低" if least else "高") if self.zh else "cheapest" if least else "most expensive"

    def _wanted(self, kind: Conclusion) -> str:
        weakest, several = self.draft.say(*self.theme.weakest), len(self.asked) > 1
        is_each = several and kind in (Conclusion.NONE, Conclusion.SUM)
        on = ("各自沿途" if is_each else "沿途") if self.zh else "on each of these ways" if is_each else "on that way"  # fmt: skip
        it = on + weakest if self.zh else f"{weakest} {on}"
        if kind is Conclusion.NONE:
            return self._asking(it)
        text = self.theme.total if kind is Conclusion.SUM else self.theme.compared
        return _capital(self._filled(self.draft.say(*text), it=it, most=self._most(kind)))

    def _asking(self, it: str) -> str:
        """The questions for the facets, about one thing."""
        say = self.draft.say
        asks = {"keeper": self.theme.keeper, "cost": self.theme.cost}
        first = self._filled(say(*asks[self.facets[0]]), it=it)
        if len(self.facets) == 1:
            return _capital(first)
        again = self._filled(say(*self.theme.cost), it="" if self.zh else "it").removeprefix("的")
        return _capital(first[:-1] + ("，" if self.zh else ", and ") + again)

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked) -> Found:
        say, depth, needs = self.draft.say, self.brief.layout.depth, list[int]()
        if depth > 3:
            about = say(f"Which {self.unit} is {self.case} {asked.case} about?", f"{self.case}{asked.case}涉及哪个{self.unit}？")  # fmt: skip
            needs = [self.draft.solve(about, asked.unit, self.open, {"$ref": key(asked.case, self.cases)})]  # fmt: skip
        if depth > 2:
            which = say(f"{self.unit} {asked.unit}" if depth == 3 else f"that {self.unit}", f"{self.unit}{asked.unit}" if depth == 3 else f"该{self.unit}")  # fmt: skip
            about = say(f"Which place is {self.theme.lies[0]} {which}?", f"{which}{self.theme.lies[1]}是哪里？")  # fmt: skip
            needs = [self.draft.solve(about, asked.node, self.find, {"$code": key(asked.unit, self.units)}, needs=needs)]  # fmt: skip
        if depth > 1:
            needs = [self._weakest_step(asked, needs)]
        return self._facet_steps(asked, needs)

    def _weakest_step(self, asked: _Asked, needs: list[int]) -> int:
        start = self.draft.say("there", "那里") if needs else asked.node
        weakest = self.draft.say(*self.theme.weakest)
        about = self.draft.say(f"Which is {weakest} on the shortest way from {start} to {self.goal}?", f"从{start}到{self.goal}的最短路径上，{weakest}是哪个？")  # fmt: skip
        arguments = {
            "$start": key(asked.node, asked.way.starts),
            "$goal": key(self.goal, asked.way.goals),
        }
        return self.draft.solve(about, asked.stretch, self.way, arguments, needs=needs)

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        say, line, answers, step = self.draft.say, asked.stretch, list[str](), 0
        depth = self.brief.layout.depth
        it = say("it", "它") if needs else line
        arguments = {"$line": key(line, self.rows)}
        if "keeper" in self.facets:
            answers.append(self.keepers[line])
            step = self.draft.solve(_capital(self._filled(say(*self.theme.keeper), it=it)), answers[-1], self.who, arguments, needs=needs)  # fmt: skip
        if "cost" in self.facets:
            answers.append(money(self.prices[line], self.currency))
            step = self.draft.solve(_capital(self._filled(say(*self.theme.cost), it=it)), answers[-1], self.price, arguments, needs=needs)  # fmt: skip
        names = [line, asked.node, f"{asked.node} ({asked.unit})", f"{asked.node} ({asked.case})"]
        name = (
            names[depth - 1].replace(" (", "（").replace(")", "）") if self.zh else names[depth - 1]
        )
        return Found(name, tuple(answers), step, self.prices[line])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


PATHS = Family(
    "paths", "Ways through a graph: where something lies, the shortest way from there, its weakest stretch.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
