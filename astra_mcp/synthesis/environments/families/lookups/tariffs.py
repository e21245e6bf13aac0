"""Tariffs: from a place to its zone, from circumstances to the class that applies, and what that costs."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.draft import Draft, key, shaping
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.lookups.themes.tariffs import THEMES, Theme
from astra_mcp.synthesis.environments.families.phrases import clauses
from astra_mcp.synthesis.environments.families.times import money

__all__ = ["TARIFFS"]

_COUNTS = (2, 24)
_MAX_ZONES = 80


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: who asks, by which file, for which place and zone, and what class that is."""

    name: str
    file: str
    place: str
    zone: str
    cls: str
    value: int
    count: int


@lru_cache(maxsize=2)
def _world(brief: Brief) -> "_Tariffs":
    return _Tariffs(brief, brief.draw("theme").pick(THEMES))


def _make(brief: Brief) -> Draft:
    return _world(replace(brief, turn=0)).asking(brief)


class _Tariffs:
    """One tariff, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.draft = Draft(brief, theme.domain)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.zone, self.file, self.form = (
            self.draft.say(*t) for t in (theme.zone, theme.file, theme.form)
        )
        self.currency = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        both = brief.layout.facets == 2
        is_fee = brief.layout.concludes or brief.draw("facet").chance(2, 3)
        self.facets = ["fee", "form"] if both else ["fee" if is_fee else "form"]
        has_option = brief.knobs.options > 0 and "fee" in self.facets
        self.is_extra = has_option and brief.draw("extra").chance(1, 2)
        """Whether the question asks for the extra, else an example shows it."""
        self._name()
        self._fill()
        self._tools()

    def asking(self, brief: Brief) -> Draft:
        """One question of this world."""
        own = copy(self)
        own.brief, own.draft = brief, self.draft.again(brief)
        own.asked = brief.asked(self.everyone)
        dues = [own._due(a) for a in own.asked]
        if "fee" in own.facets and len({*dues}) < len(dues):
            raise DrawError("two of them pay the same")
        own._ask()
        return own.draft

    def _name(self) -> None:
        zone, file, cls, form, count, extra = self.theme.code
        self.draft.title = f"{self.house}{'：收费标准' if self.zh else ': tariff'}"
        self.draft.description = self.draft.say(
            f"The tariff of {self.house}: {self.zone}s, classes and what they cost.",
            f"{self.house}的收费标准：{self.zone}、类别和费用。",
        )
        self.draft.name(
            zone=zone, file=file, cls=cls, form=form, count=count, extra=extra,
            ref="${file}_number|${file}_id|${file}_ref", place="place|town|location", least="from|at_least", most="up_to|to|at_most",
            open="open_$file|read_$file|get_$file", find="${zone}_of|find_$zone|which_$zone", classes="${cls}es|list_${cls}es|show_${cls}es",
            price="price_of_$cls|quote_$cls|amount_due", which="${form}_for|find_$form|get_$form", names="with_names|named|show_names",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        records, subjects = self.brief.knobs.records, self.brief.subjects
        fewest = max(self.brief.layout.subjects + 3, min(_MAX_ZONES, subjects // 4))
        zones = self.entities.codes("@##", max(fewest, min(36, records // 5)))
        places = self.entities.places(max(2 * len(zones), min(records, 80)))
        self.zones = {p: zones[i % len(zones)] for i, p in enumerate(places)}
        letters = self._letters()
        files = self.entities.codes(
            f"{letters}#####", max(records, len(places), min(subjects, 400))
        )
        self.files = {f: places[i % len(places)] for i, f in enumerate(self.draw.shuffled(files))}
        spans = {z: self._spans() for z in zones}
        codes = iter(
            self.entities.codes(f"{self._letters()}-####", sum(len(s) for s in spans.values()))
        )
        self.classes = {z: [(next(codes), *span) for span in spans[z]] for z in zones}
        self._price()
        self.everyone = self._subjects(subjects)
        self.asked = self.brief.asked(self.everyone)
        self._facts()

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _spans(self) -> list[tuple[int, int]]:
        """The values of the classes of one zone: without gaps, and in each zone others."""
        low, high, step = self.theme.values
        marks = range(low + 3 * step, high - 3 * step, step)
        ends = sorted(self.draw.some(marks[:: max(1, len(marks) // 40)], self.draw.between(3, 5)))
        return [*zip([low, *(e + step for e in ends)], [*ends, high], strict=True)]

    def _price(self) -> None:
        """What classes cost: a base and so much for each unit; and the form of each."""
        codes = [c for rows in self.classes.values() for c, _, _ in rows]
        bases = self.draw.some(range(60, 60 + 7 * len(codes)), len(codes))
        rates = self.draw.some(range(17, 17 + 7 * len(codes)), len(codes))
        self.prices = {c: (50 * b, 5 * r) for c, b, r in zip(codes, bases, rates, strict=True)}
        forms = self.entities.codes(f"{self._letters()}/####", len(codes))
        self.forms = dict(zip(codes, forms, strict=True))

    def _subjects(self, count: int) -> list[_Asked]:
        """Those of all questions: one zone after the other, and in each one class after the other."""
        zones, left = list[str](), {z: list[str]() for z in self.classes}
        for file in self.draw.shuffled([*self.files]):
            left[self.zones[self.files[file]]].append(file)
        names = self.entities.people(count) if self.brief.layout.subjects > 1 else [""] * count
        found: list[_Asked] = []
        for number, name in enumerate(names):
            zones = zones or self.draw.shuffled([*self.classes])
            zone = zones.pop()
            turn = number // len(self.classes)
            cls, value = self._circumstances(self.classes[zone][turn % len(self.classes[zone])])
            file = left[zone][turn % len(left[zone])]
            due = self.draw.between(*_COUNTS)
            found.append(_Asked(name, file, self.files[file], zone, cls, value, due))
        return found

    def _circumstances(self, row: tuple[str, int, int]) -> tuple[str, int]:
        """A class with a value that is in it, with near misses at one of its ends."""
        (low, high, step), (code, least, most) = self.theme.values, row
        edges = [v for v in (least, most) if v not in {low, high}]
        middle = least + self.draw.between(0, (most - least) // step) * step
        is_edge = self.brief.knobs.near_misses > self.draw.below(3)
        return code, self.draw.pick(edges) if is_edge else middle

    def _facts(self) -> None:
        draft, depth = self.draft, self.brief.layout.depth
        if depth > 3:
            draft.data("FILES", self.files)
        if depth > 2:
            draft.data("ZONES", self.zones)
        if depth > 1:
            draft.data("CLASSES", self.classes)
        if "fee" in self.facets:
            draft.data("CENTS", self.prices)
        if "form" in self.facets:
            draft.data("FORMS", self.forms)

    def _due(self, asked: _Asked) -> int:
        base, rate = self.prices[asked.cls]
        due = base + rate * asked.count
        return due * 6 // 5 if self.is_extra else due

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        say, depth, self.options = self.draft.say, self.brief.layout.depth, self.brief.knobs.options
        if depth > 3:
            some = next(iter(self.files))[:2]
            pattern = {"type": "string", "pattern": f"^{some}[0-9]{{5}}$"}
            unknown = say(f"There is no {self.file} {{$ref!r}}; numbers look like {some}00000.", f"没有编号为{{$ref}}的{self.file}；编号形如{some}00000。")  # fmt: skip
            self.open = self._plain("$open", say(f"Tell which place a {self.file} belongs to.", f"查询{self.file}所在的地方。"), {"$ref": pattern}, ("FILES", "$place", unknown))  # fmt: skip
        if depth > 2:
            text = {"type": "string", "minLength": 2}
            unknown = say("{$place!r} is not in the tariff; check how it is spelled.", "收费标准里没有{$place}；请核对地名。")  # fmt: skip
            self.find = self._plain("$find", say(f"Tell in which {self.zone} a place lies.", f"查询某地属于哪个{self.zone}。"), {"$place": text}, ("ZONES", "$zone", unknown))  # fmt: skip
        if "fee" in self.facets:
            self._fee()
        if "form" in self.facets:
            unknown = self._no_class()
            self.which = self._plain("$which", say(f"Tell the {self.form} of a class.", f"查询类别对应的{self.form}。"), {"$cls": self._class()}, ("FORMS", "$form", unknown))  # fmt: skip
        if depth > 1:
            self._classes()

    def _plain(self, name: str, about: str, given: Mapping[str, Mapping[str, Any]], told: tuple[str, str, str]) -> str:  # fmt: skip
        """A tool that tells one thing of another: from a table, under a name, or why not."""
        (asked,), (table, member, unknown) = given, told
        return self.draft.tool(
            name, about, given,
            f"""
            if {asked} not in {table}:
                raise ValueError(f"{unknown}")
            return {{"{asked}": {asked}, "{member}": {table}[{asked}]}}
            """,
        )  # fmt: skip

    def _class(self) -> dict[str, str]:
        return {"type": "string", "pattern": f"^{next(iter(self.prices))[:3]}[0-9]{{4}}$"}

    def _no_class(self) -> str:
        some = next(iter(self.prices))[:3]
        return self.draft.say(f"There is no class {{$cls!r}}; classes look like {some}0000.", f"没有类别{{$cls}}；类别形如{some}0000。")  # fmt: skip

    def _fee(self) -> None:
        say, gap = self.draft.say, "" if self.zh else " "
        more, factor = dict[str, dict[str, object]](), ""
        if self.options > 0:
            self.options -= 1
            more, factor = {"$extra": {"type": "boolean", "default": False}}, " * (6 if $extra else 5) // 5"  # fmt: skip
        count = {"type": "integer", "minimum": 1, "maximum": 60}
        self.price = self.draft.tool(
            "$price", say("Compute what is due in a class.||The amount due in a class.", "计算某类别应付的费用。||某类别应付多少。"), {"$cls": self._class(), "$count": count, **more},
            f"""
            if $cls not in CENTS:
                raise ValueError(f"{self._no_class()}")
            base, rate = CENTS[$cls]
            cents = (base + rate * $count){factor}
            return {{"$cls": $cls, "due": f"{{cents // 100}}.{{cents % 100:02d}}{gap}{self.currency}"}}
            """,
        )  # fmt: skip
        if more and not self.is_extra:
            asked = self.asked[0]
            self.draft.example("$price", **{"$cls": asked.cls, "$count": asked.count, "$extra": True})  # fmt: skip

    def _classes(self) -> None:
        say, some = self.draft.say, next(iter(self.classes))
        more, named = dict[str, dict[str, object]](), ""
        if self.options > 0:
            self.options -= 1
            more = {"$names": {"type": "boolean", "default": False}}
            named = ', **({"name": "ABCDEFGH"[n]} if $names else {})'
        self.find_classes = self.draft.tool(
            "$classes", say(f"List the classes of a {self.zone}, each with its range in {self.theme.unit[0]}.", f"列出某个{self.zone}的类别及各自适用的范围（{self.theme.unit[1]}）。"),
            {"$zone": {"type": "string", "pattern": "^[A-Z][0-9]{2}$"}, **more},
            f"""
            if $zone not in CLASSES:
                raise ValueError(f"{say(f"There is no {self.zone} {{$zone!r}}; they look like {some[0]}00.", f"没有{self.zone}{{$zone}}；编号形如{some[0]}00。")}")
            rows = enumerate(CLASSES[$zone])
            return {{"classes": [{{"$cls": c, "$least": a, "$most": b{named}}} for n, (c, a, b) in rows]}}
            """,
        )  # fmt: skip
        if more:
            self.draft.example("$classes", **{"$zone": self.asked[0].zone, "$names": True})

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found, kind = [self._follow(a) for a in self.asked], conclusion_of(self.brief)
        concluded = ("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else ("Which of them is it?", "是其中哪一位？")  # fmt: skip
        tell(self.draft, found, self.draft.say(*concluded), lambda cents: money(cents, self.currency))  # fmt: skip
        several = len(self.asked) > 1
        said = [self._said(a) for a in self.asked]
        told = clauses(said, self.brief.language) if several else said[0]
        extra = self.theme.extra[self.zh] if self.is_extra else ""
        asks = self._wanted_of_all(kind) if several else self._wanted()
        if self.zh:
            plus = f"{'都' if several else ''}{extra}，" if extra else ""
            self.draft.question = f"{told}{'。' if several else '，'}{plus}{asks}"
        else:
            asks = f"{_capital(extra)}, {asks[0].lower()}{asks[1:]}" if extra else asks
            self.draft.question = f"{told}{'.' if several else ''} {asks}"

    def _said(self, asked: _Asked) -> str:
        """What somebody needs."""
        depth, theme = self.brief.layout.depth, self.theme
        situation = theme.theirs if len(self.asked) > 1 else theme.mine
        text = situation.text(is_known=depth == 1, is_bare=self.facets == ["form"])
        x = [asked.zone, asked.zone, asked.place, asked.file][depth - 1]
        return self.draft.say(*text).format(
            name=asked.name, count=asked.count, value=asked.value, cls=asked.cls,
            at=self.draft.say(*theme.at[max(depth - 2, 0)]).format(x=x),
        )  # fmt: skip

    def _wanted(self) -> str:
        say, house, who, fee = self.draft.say, self.house, self.theme.who, self.theme.fee
        i = {"me": "I", "us": "we"}[who]
        if self.facets == ["form"]:
            needed = self.theme.needed.format(of=f"{house}的")
            return say(
                f"Which {self.form} do {i} need from {house}? || Can you tell me which {self.form} {i} need from {house}?",
                f"请问{needed}？ || {needed}？",
            )  # fmt: skip
        also, needed = (f", and which {self.form} do {i} need", f"，{self.theme.needed.format(of='')}") if len(self.facets) > 1 else ("", "")  # fmt: skip
        return say(
            f"What will {house} charge {who} in total{also}? || How much would {i} pay {house} in total{also}?",
            f"{house}一共收多少{fee}{needed}？ || 在{house}一共要交多少{fee}{needed}？",
        )  # fmt: skip

    def _wanted_of_all(self, kind: Conclusion) -> str:
        say, house, fee, form = self.draft.say, self.house, self.theme.fee, self.form
        if kind is Conclusion.SUM:
            return say(
                f"What will {house} charge them altogether? || How much would they pay {house} in total?",
                f"{house}总共收他们多少{fee}？ || 他们加起来要给{house}交多少{fee}？",
            )  # fmt: skip
        if kind is not Conclusion.NONE:
            least, two = kind is Conclusion.LEAST, len(self.asked) == 2
            most = (
                ("lower" if least else "higher") if two else f"the {'low' if least else 'high'}est"
            )
            bill = f"the {most.removeprefix('the ')} bill"
            zh = ("更" if two else "最") + ("少" if least else "多")
            return say(
                f"Whose bill from {house} would be {most}? || Which of them would get {bill} from {house}?",
                f"按{house}的标准，谁交的{fee}{zh}？ || 在{house}，谁要交的{fee}{zh}？",
            )  # fmt: skip
        if self.facets == ["form"]:
            needed = self.theme.needed.format(of=f"{house}的")
            return say(f"Which {form} from {house} applies to each of them?", f"分别{needed}？ || 请问他们分别{needed}？")  # fmt: skip
        also, needed = (f", and which {form} applies to each", f"，分别{self.theme.needed.format(of='')}") if len(self.facets) > 1 else ("", "")  # fmt: skip
        return say(
            f"What will {house} charge each of them{also}? || How much would each of them pay {house}{also}?",
            f"{house}分别收多少{fee}{needed}？ || 他们各要给{house}交多少{fee}{needed}？",
        )  # fmt: skip

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked) -> Found:
        say, depth, needs = self.draft.say, self.brief.layout.depth, list[int]()
        if depth > 3:
            others = [f for f, p in self.files.items() if p != asked.place]
            about = say(f"Which place does {self.file} {asked.file} belong to?", f"{self.file}{asked.file}在哪里？")  # fmt: skip
            needs = [self.draft.solve(about, asked.place, self.open, {"$ref": key(asked.file, others)})]  # fmt: skip
        if depth > 2:
            others = [p for p, z in self.zones.items() if z != asked.zone]
            place = say("that place", "该地") if needs else asked.place
            about = say(f"In which {self.zone} does {place} lie?", f"{place}属于哪个{self.zone}？")
            needs = [self.draft.solve(about, asked.zone, self.find, {"$place": key(asked.place, others)}, needs=needs)]  # fmt: skip
        if depth > 1:
            zone = say("there", "那里") if needs else asked.zone
            about = say(f"Which class is it for {asked.value} {self.theme.unit[0]} {'' if needs else f'in {self.zone} '}{zone}?", f"{zone}{'' if needs else '区'}{asked.value}{self.theme.unit[1]}适用哪个类别？")  # fmt: skip
            needs = [self.draft.solve(about, asked.cls, self.find_classes, {"$zone": key(asked.zone, self.classes)}, needs=needs)]  # fmt: skip
        return self._facet_steps(asked, needs)

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        say, answers, step = self.draft.say, list[str](), 0
        cls = say("that class", "该类别") if needs else say(f"class {asked.cls}", f"{asked.cls}类")
        own = key(asked.cls, [c for c in self.prices if c != asked.cls])
        if "fee" in self.facets:
            arguments = {"$cls": own, "$count": key(asked.count, any_value=True)}
            if self.is_extra:
                arguments["$extra"] = shaping(value=True)
            counted = (
                f"{asked.count}{self.theme.counted[1]}"
                if self.zh
                else f"{asked.count} {self.theme.counted[0]}"
            )
            extra = self.theme.extra[self.zh]
            with_extra = say(f", {extra}", f"（{extra}）") if self.is_extra else ""
            about = say(f"What is due in {cls} for {counted}{with_extra}?", f"{cls}，{counted}，应付多少{with_extra}？")  # fmt: skip
            answers.append(money(self._due(asked), self.currency))
            step = self.draft.solve(about, answers[-1], self.price, arguments, needs=needs)
        if "form" in self.facets:
            answers.append(self.forms[asked.cls])
            step = self.draft.solve(say(f"Which {self.form} goes with {cls}?", f"{cls}对应哪个编号的{self.form}？"), answers[-1], self.which, {"$cls": own}, needs=needs)  # fmt: skip
        return Found(asked.name, tuple(answers), step, self._due(asked))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


TARIFFS = Family(
    "tariffs", "Tariffs: the zone of a place, the class that applies to circumstances, and what is due.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
