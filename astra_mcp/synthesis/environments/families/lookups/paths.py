"""Paths: from what is reported to where that is, the shortest way from there, and the weakest stretch of it."""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt

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
from astra_mcp.synthesis.environments.families.lookups.themes.paths import THEMES, Theme
from astra_mcp.synthesis.environments.families.phrases import listed, possessive, with_article
from astra_mcp.synthesis.environments.families.times import money

__all__ = ["PATHS"]

_TO = re.compile(r"from \{start\} to \{goal\}( tomorrow)?( by)?")

_MAX_PLACES = 60
"""Between which ways are looked for."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: what is reported, what that is about, where it is, and the stretch that counts on the way."""

    case: str
    unit: str
    node: str
    stretch: str
    way: Way


@lru_cache(maxsize=4)
def _graph(brief: Brief, nodes: tuple[str, ...]) -> Graph:
    """The graph of all questions of a world."""
    columns, layout = max(5, isqrt(len(nodes))), brief.layout
    draw = brief.draw("graph", brief.attempt)
    if layout.depth > 1:
        return Graph.drawn(draw, nodes, columns, layout.subjects, brief.questions)
    graph = Graph.drawn(draw, nodes, columns, 1, 1)
    edges, asked = list[tuple[str, str]](), list[tuple[Way, ...]]()
    for _ in range(brief.questions):
        if len(edges) < layout.subjects:
            edges = draw.shuffled([*graph.edges])
        chosen, edges = edges[: layout.subjects], edges[layout.subjects :]
        asked.append(tuple(Way(*e, (e,), e, (), ()) for e in chosen))
    return replace(graph, questions=tuple(asked))


@lru_cache(maxsize=2)
def _world(brief: Brief) -> "_Paths":
    return _Paths(brief, brief.draw("theme").pick(THEMES))


def _make(brief: Brief) -> Draft:
    return _world(replace(brief, turn=0)).asking(brief)


class _Paths:
    """One graph, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
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

    def asking(self, brief: Brief) -> Draft:
        """One question of this world."""
        own = copy(self)
        own.brief, own.draft = brief, self.draft.again(brief)
        own.asked = brief.asked(self.everyone)
        own._ask()
        return own.draft

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
        brief, records = self.brief, self.brief.knobs.records
        is_known, wanted = brief.layout.depth == 1, brief.questions // 2
        least = 15 if records < 20 and brief.layout.subjects < 3 else 20 if records < 100 else 25
        nodes = self.entities.places(max(least, wanted if is_known else min(wanted, _MAX_PLACES)))
        graph = _graph(replace(brief, turn=0), tuple(nodes))
        lines = self.entities.codes(f"{self._letters()}-####", len(graph.edges))
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
        self.everyone = [self._subject(way) for question in graph.questions for way in question]
        self.asked = brief.asked(self.everyone)
        self._facts(lines)

    def _subject(self, way: Way) -> _Asked:
        unit = self.draw.pick([u for u, n in self.units.items() if n == way.start])
        case = next(c for c, u in self.cases.items() if u == unit)
        return _Asked(case, unit, way.start, self.lines[way.edge], way)

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _sizes(self, graph: Graph) -> dict[tuple[str, str], int]:
        """Sizes, all different, by rank; the more near misses, the closer they lie."""
        step = 5 - self.brief.knobs.near_misses
        top = len(graph.edges) if self.theme.is_most else 0
        return {e: 140 + max(1, step) * abs(top - rank) for e, rank in graph.ranks.items()}

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
            self.find = self._plain("$find", ("$code", "$node"), "UNITS", self.units, (self.unit, self.draft.say(*self.theme.site)))  # fmt: skip
        if "keeper" in self.facets:
            self._keeper()
        if "cost" in self.facets:
            self._cost()
        if depth > 1:
            self._way()

    def _plain(self, name: str, names: tuple[str, str], table: str, rows: Mapping[str, str], words: tuple[str, str]) -> str:  # fmt: skip
        """A tool that tells one thing of a code."""
        (given, told), (of, what) = names, words
        say, some = self.draft.say, next(iter(rows))
        digits = sum(s.isdigit() for s in some)
        pattern = {"type": "string", "pattern": f"^{some[:2]}[0-9]{{{digits}}}$"}
        return self.draft.tool(
            name, say(f"Tell the {what} of {with_article(of)}.||Look up the {what} of {with_article(of)} by its code.", f"按编号查询{of}对应的{what}。||查询{of}的{what}。"), {given: pattern},
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
            "$price", say(f"Tell what {self._priced()} for a {self.stretch} costs.", f"查询{self.stretch}的{self._priced()}费用。"), {"$line": self._line(), **more},
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
        return self.theme.priced[self.zh]

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
            self.draft.example("$way", **{"$start": self.asked[0].node, "$goal": self.asked[0].way.goal, "$age": True})  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found = [self._follow(a) for a in self.asked]
        kind = conclusion_of(self.brief)
        concluded = ("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else ("Which of them is it?", "是其中哪一个？")  # fmt: skip
        tell(self.draft, found, self.draft.say(*concluded), lambda cents: money(cents, self.currency))  # fmt: skip
        if self.brief.layout.depth == 1:
            self.draft.question = _capital(self._of_known(kind))
            return
        story = self.draft.say(*(self.theme.stories if len(self.asked) > 1 else self.theme.story))
        if (
            self.brief.layout.depth > 2
        ):  # the start has a clause, after which the goal would belong to that
            story = _TO.sub(_goal_first, story)
        told = _filled(story, {"start": self._start(), "goal": self.asked[0].way.goal, "house": self.house, "house's": possessive(self.house)})  # fmt: skip
        self.draft.question = told + ("" if self.zh else " ") + _capital(self._on_routes(kind))

    def _start(self) -> str:
        """Where the ways begin."""
        several, depth = len(self.asked) > 1, self.brief.layout.depth
        codes = [(a.node, a.unit, a.case)[depth - 2] for a in self.asked]
        said = listed(codes, self.brief.language)
        if depth == 2:
            return said
        text = (self.theme.at_unit, self.theme.at_case)[depth - 3][several]
        return _filled(self.draft.say(*text), {"x": said})

    def _of_known(self, kind: Conclusion) -> str:
        """The question where the codes of the stretches are known."""
        several = len(self.asked) > 1
        lines = listed([a.stretch for a in self.asked], self.brief.language)
        it = self.draft.say(
            f"{possessive(self.house)} {self.stretch}{'s' if several else ''} {lines}",
            f"{self.house}的{self.stretch}{lines}",
        )
        if kind is Conclusion.NONE:
            return self._asking(it, is_each=several)
        if self.zh and kind is not Conclusion.SUM:
            it += "中"
        return self._concluding(kind, self.theme.chosen, it)

    def _on_routes(self, kind: Conclusion) -> str:
        """The question where the stretches lie on routes."""
        weakest, several = self.draft.say(*self.theme.weakest), len(self.asked) > 1
        route = self.draft.say(*self.theme.route)
        every = f"各条{route}中{weakest}" if several else f"这条{route}中{weakest}"
        if kind is Conclusion.NONE:
            it = every if self.zh else weakest if several else f"{weakest} on that {route}"
            asks = self._asking(it, is_each=several)
            return f"for each {route}, {asks}" if several and not self.zh else asks
        if kind is Conclusion.SUM:
            it = every if self.zh else f"{weakest} on each {route}"
            return self._concluding(kind, self.theme.compared, it)
        return self._concluding(kind, self.theme.compared, weakest)

    def _concluding(self, kind: Conclusion, compared: tuple[str, str], it: str) -> str:
        text = self.theme.total if kind is Conclusion.SUM else compared
        least, two = kind is Conclusion.LEAST, len(self.asked) == 2
        if self.zh:
            most = ("更" if two else "最") + ("便宜" if least else "贵")
        elif least:
            most = "cheaper" if two else "cheapest"
        else:
            most = "more expensive" if two else "most expensive"
        return _filled(self.draft.say(*text), {"it": it, "most": most})

    def _asking(self, it: str, *, is_each: bool = False) -> str:
        """The questions for the facets, about one thing or each of several."""
        asks = {"keeper": self.theme.keeper, "cost": self.theme.cost}
        each = "分别" if is_each else ""
        first = _filled(self.draft.say(*asks[self.facets[0]]), {"it": it, "each": each})
        if len(self.facets) == 1:
            return first
        it = "" if self.zh else f"each {self.stretch}" if is_each else "it"
        again = _filled(self.draft.say(*self.theme.cost), {"it": it, "each": each and "各"})
        return first[:-1] + ("，" if self.zh else ", and ") + again.removeprefix("的")

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked) -> Found:
        say, depth, needs = self.draft.say, self.brief.layout.depth, list[int]()
        if depth > 3:
            about = say(f"Which {self.unit} is {self.case} {asked.case} about?", f"{self.case}{asked.case}涉及哪个{self.unit}？")  # fmt: skip
            needs = [self.draft.solve(about, asked.unit, self.open, {"$ref": key(asked.case, self.cases)})]  # fmt: skip
        if depth > 2:
            which = say(f"{self.unit} {asked.unit}" if depth == 3 else f"that {self.unit}", f"{self.unit}{asked.unit}" if depth == 3 else f"该{self.unit}")  # fmt: skip
            about = say(f"Which place is the {self.theme.site[0]} of {which}?", f"{which}对应的{self.theme.site[1]}是哪里？")  # fmt: skip
            needs = [self.draft.solve(about, asked.node, self.find, {"$code": key(asked.unit, self.units)}, needs=needs)]  # fmt: skip
        if depth > 1:
            needs = [self._weakest_step(asked, needs)]
        return self._facet_steps(asked, needs)

    def _weakest_step(self, asked: _Asked, needs: list[int]) -> int:
        start = self.draft.say("there", "那里") if needs else asked.node
        weakest = self.draft.say(*self.theme.weakest)
        about = self.draft.say(f"Which is {weakest} on the shortest way from {start} to {self.asked[0].way.goal}?", f"从{start}到{self.asked[0].way.goal}的最短路径上，{weakest}是哪个？")  # fmt: skip
        arguments = {
            "$start": key(asked.node, asked.way.starts),
            "$goal": key(self.asked[0].way.goal, asked.way.goals),
        }
        return self.draft.solve(about, asked.stretch, self.way, arguments, needs=needs)

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        say, line, answers, step = self.draft.say, asked.stretch, list[str](), 0
        depth = self.brief.layout.depth
        it = say("it", "它") if needs else line
        arguments = {"$line": key(line, self.rows)}
        if "keeper" in self.facets:
            answers.append(self.keepers[line])
            step = self.draft.solve(_capital(_filled(say(*self.theme.keeper), {"it": it, "each": ""})), answers[-1], self.who, arguments, needs=needs)  # fmt: skip
        if "cost" in self.facets:
            answers.append(money(self.prices[line], self.currency))
            step = self.draft.solve(_capital(_filled(say(*self.theme.cost), {"it": it, "each": ""})), answers[-1], self.price, arguments, needs=needs)  # fmt: skip
        name = (line, asked.node, asked.unit, asked.case)[depth - 1]
        return Found(name, tuple(answers), step, self.prices[line])


def _goal_first(said: re.Match[str]) -> str:
    tomorrow, by = said.groups()
    return f"to {{goal}}{tomorrow or ''} from {{start}}{', by' if by else ''}"


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, said in words.items():
        text = text.replace(f"{{{word}}}", said)
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


PATHS = Family(
    "paths", "Ways through a graph: where something lies, the shortest way from there, its weakest stretch.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
