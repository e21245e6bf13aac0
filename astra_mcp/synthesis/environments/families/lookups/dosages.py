"""Dosages: from what is to be treated and its size to the amount of a product, in another unit, and in packs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.asides import Aside, Asides
from astra_mcp.synthesis.environments.families.lookups.themes.dosages import DOSAGE_THEMES, Unit
from astra_mcp.synthesis.environments.families.phrases import labelled, listed

__all__ = ["DOSAGES"]

_ASIDES = (
    Aside("recorded_by|clerk|entered_by", ("the number of who recorded it", "登记人员编号"), 'f"M{issued($owner, $part) % 89 + 10}"'),
    Aside("recorded_in|year|year_recorded", ("the year in which it was recorded", "登记年份"), '2011 + issued($part, $owner) % 14'),
    Aside("file|record_no|sheet", ("the file it is kept in", "档案号"), 'f"F-{issued(\'file\', $owner, $part) % 8999 + 1000}"'),
)  # fmt: skip


def _shown(amount: int, unit: str) -> str:
    """An amount in thousandths, with its unit as it stands behind a number."""
    return f"{amount // 1000}.{amount % 1000:03d}{unit}"


_SHOWN = "def _shown(amount, unit):\n    return f'{amount // 1000}.{amount % 1000:03d}{unit}'"


@dataclass(frozen=True, slots=True)
class _Product:
    rate: int
    factor: int
    """Hundredths of the first measure for one unit of dose."""
    contents: tuple[int, int]


class _Dosage:
    """One set of things to be treated, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.zh, self.layout = brief, brief.language == "zh", brief.layout
        self.theme = brief.draw("theme").pick(DOSAGE_THEMES)
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.draft = Draft(brief, self.theme.domain)
        house = self.entities.firms(1, *self.theme.houses[self.zh])[0]
        self.draft.title = house
        self.draft.description = self.draft.say(
            f"The records of {house}: what is looked after, and how much of what it takes.",
            f"{house}的资料：养护对象及各种用品的用量。",
        )
        self._name()
        self._fill()
        self._tools()
        self._ask()

    def _name(self) -> None:
        self.draft.name(
            subject=self.theme.nouns, size=self.theme.extents, owner="owner|belongs_to|held_by|whose", part="part|kind|which", product="product|article|product_name",
            dose="amount|needed|quantity", measure="measure|converted|result", unit="unit|in_unit|target_unit", pack="pack|pack_kind|container",
            order="order|to_order|purchase",
            find="get_$subject|find_$subject|look_up_$subject", need="work_out_$dose|calculate_$dose|get_dose", convert="convert_$dose|measure_out|in_other_unit",
            buy="plan_$order|count_packs|packs_needed",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw who has what, with other parts and other owners of alike names, and what it is treated with."""
        knobs, theme = self.brief.knobs, self.theme
        parts, count = theme.parts[self.zh], max(4, knobs.records // 4) + self.layout.subjects
        owners = (
            self.entities.people(count)
            if theme.owners is None
            else self.entities.firms(count, *theme.owners[self.zh])
        )
        self.asked = [(owner, self.draw.pick(parts)) for owner in owners[: self.layout.subjects]]
        if theme.owners is None:
            owners += [
                self.entities.relatives(owner, 1)[0]
                for owner, _ in self.asked
                for _ in range(knobs.near_misses // 2)
            ]
        pairs = [(owner, part) for owner in owners for part in parts]
        step = max(1, (theme.scope[1] - theme.scope[0]) // (len(pairs) + 1))
        places = self.draw.shuffled(range(len(pairs)))
        self.sizes = {
            pair: theme.scope[0] + step * place + self.draw.below(step)
            for pair, place in zip(pairs, places, strict=True)
        }
        self._stock()

    def _stock(self) -> None:
        kinds = self.theme.products[self.zh]
        names = self.entities.firms(6, *kinds)
        stronger = self.draft.say(" Plus|| Extra|| Forte", "（加强型）||（浓缩型）")
        stronger = stronger if self.zh else f" {stronger}"
        near = [name + stronger for name in names[: 1 + self.brief.knobs.near_misses]]
        rates = self.draw.some(range(*self.theme.rates), len(names) + len(near))
        factors = self.draw.some(range(113, 287), len(rates))
        self.products: dict[str, _Product] = {}
        packs = self.draw.some(range(*self.theme.contents), len(rates))
        for name, rate, factor, pack in zip([*names, *near], rates, factors, packs, strict=True):
            self.products[name] = _Product(rate, factor, (pack, 5 * pack + self.draw.below(4)))
        self.wanted = names[:2]

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        say, theme, depth = self.draft.say, self.theme, self.layout.depth
        self.asides = Asides(self.draft, _ASIDES)
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        parts, of = theme.parts[self.zh], say(*theme.size.said)
        self.draft.data(
            "SIZES",
            {
                o: {p: self.sizes[o, p] for p in parts}
                for o in dict.fromkeys(o for o, _ in self.sizes)
            },
        )
        text = {
            "type": "string",
            "minLength": 2,
            "description": say("Full name.||Name in full.", "全称。||完整名称。"),
        }
        self.draft.tool(
            "$find", say(f"Tell how many {of} are on record.||Look up how many {of} there are, by owner and part.", f"查询登记在册的数量，单位为{of}。||查询某一对象有多少{of}。"),
            {"$owner": text, "$part": {"type": "string", "enum": [*parts]}, **self.asides.parameters},
            f"""
            if $owner.strip() not in SIZES:
                {self.draft.refusal("Nothing is on record for {$owner!r}; give the full name.", "没有{$owner}的记录；请提供全称。")}
            return {{"$size": f"{{SIZES[$owner.strip()][$part]}}{self._sign(theme.size)}"{self.asides.members}}}
            """,
        )  # fmt: skip
        if depth > 1:
            self._need_tool(text)
        if depth > 2:
            self._convert_tool(text)
        if depth > 3:
            self._buy_tool(text)

    def _sign(self, unit: Unit) -> str:
        """A unit as it stands behind a number."""
        return unit.sign[1] if self.zh else f" {unit.sign[0]}"

    def _known(self) -> str:
        refusal = self.draft.refusal(
            "There is no product {$product!r}; give its full name.",
            "没有{$product}这种产品；请提供完整名称。",
        )
        return f"if $product.strip() not in PRODUCTS:\n                {refusal}"

    def _amount(self, about: str) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000, "description": about}

    def _need_tool(self, text: dict[str, Any]) -> None:
        say, theme = self.draft.say, self.theme
        self.draft.data(
            "PRODUCTS", {n: [p.rate, p.factor, *p.contents] for n, p in self.products.items()}
        )
        self.draft.code(_SHOWN)
        size, dose = say(*theme.size.said), say(*theme.dose.said)
        self.draft.tool(
            "$need", say(f"Work out how many {dose} of a product something of a size takes.", f"按规模计算某产品需要多少{dose}。"),
            {"$product": text, "$size": {"type": "integer", "minimum": 1, "maximum": 100_000, "description": say(f"In {size}.", f"单位：{size}。")}},
            f"""
            {self._known()}
            return {{"$dose": _shown($size * PRODUCTS[$product.strip()][0], "{self._sign(theme.dose)}")}}
            """,
        )  # fmt: skip

    def _convert_tool(self, text: dict[str, Any]) -> None:
        say, theme = self.draft.say, self.theme
        dose = say(*theme.dose.said)
        units = {say(*u.said): [u.scale, self._sign(u)] for u in theme.measures}
        self.draft.data("UNITS", units)
        self.draft.tool(
            "$convert", say(f"Turn {dose} of a product into another unit.", f"把某产品的{dose}数换算成其他单位。"),
            {"$product": text, "$dose": self._amount(say(f"In {dose}.", f"单位：{dose}。")), "$unit": {"type": "string", "enum": [*units]}},
            f"""
            {self._known()}
            first = round($dose * 1000) * PRODUCTS[$product.strip()][1] // 100
            scale, sign = UNITS[$unit]
            return {{"$measure": _shown(first * scale // 1000, sign)}}
            """,
        )  # fmt: skip

    def _buy_tool(self, text: dict[str, Any]) -> None:
        say, theme = self.draft.say, self.theme
        packs = [say(*p) for p in theme.packs]
        unit = theme.measures[0]
        self.draft.data("PACKS", packs)
        self.draft.tool(
            "$buy", say("Tell how many full packs cover an amount, and what is left over.", "计算需要多少整包装，以及剩余多少。"),
            {"$product": text, "$measure": self._amount(say(f"In {unit.said[0]}.", f"单位：{unit.said[1]}。")), "$pack": {"type": "string", "enum": packs}},
            f"""
            {self._known()}
            content = 1000 * PRODUCTS[$product.strip()][2 + PACKS.index($pack)]
            wanted = round($measure * 1000)
            count = -(-wanted // content)
            left = _shown(count * content - wanted, "{self._sign(unit)}")
            return {{"$order": f"{say("{$pack}: {count}, left over: {left}", "{count}{$pack}，剩余{left}")}"}}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _it(self, pair: tuple[str, str]) -> str:
        return self.draft.say(*self.theme.subject).format(owner=pair[0], part=pair[1])

    def _ask(self) -> None:
        found = [self._follow(pair) for pair in self.asked]
        names = [self._it(pair) for pair in self.asked]
        it = listed(names, self.brief.language)
        if not self.layout.concludes:
            self.draft.answer = labelled(names, [a for _, a, _ in found], self.brief.language)
            self.draft.question = (
                self._size_question(it) if self.layout.depth == 1 else self._wording(it)
            )
            return
        total = self.brief.draw("conclusion").chance(1, 2)
        values = [value for _, _, value in found]
        self.draft.answer = self._total(sum(values)) if total else names[values.index(max(values))]
        say = self.draft.say
        asked = (
            say("How much is that altogether?", "合计多少？")
            if total
            else say("Which has the most?", "哪个最多？")
        )
        self.draft.conclude(asked, self.draft.answer, [step for step, _, _ in found])
        self.draft.question = (
            say(*self.theme.sizes[2 if total else 3]).format(it=it)
            if self.layout.depth == 1
            else self._wording_of_conclusion(it, total=total)
        )

    def _total(self, value: int) -> str:
        """A sum of what was found on the last level."""
        theme = self.theme
        if self.layout.depth == 1:
            return f"{value}{self._sign(theme.size)}"
        return _shown(
            value, self._sign(theme.dose if self.layout.depth == 2 else theme.measures[0])
        )

    def _size_question(self, it: str) -> str:
        return self.draft.say(*self.theme.sizes[self.layout.subjects > 1]).format(it=it)

    def _wording(self, it: str) -> str:
        say, layout = self.draft.say, self.layout
        task = say(*self.theme.task).format(it=it)
        if layout.depth == 4:
            return self._wording_of_order(task)
        amount, more = self._amounts_asked()
        if layout.subjects == 1:
            return say(
                f"We are about to {task}. How many {amount} will that take{more}? || How many {amount} do I need to {task}{more}?",
                f"准备{task}，需要多少{amount}{more}？ || {task}要用多少{amount}{more}？",
            )
        return say(
            f"We are about to {task}. How many {amount} will each of them take{more}? || To {task}, how many {amount} do I have to set aside for each{more}?",
            f"准备{task}，各需要多少{amount}{more}？ || {task}，要分别准备多少{amount}{more}？",
        )

    def _amounts_asked(self) -> tuple[str, str]:
        """How much of what, behind ``how many``, and what else is asked at the end."""
        say, theme, (first, second), both = (
            self.draft.say,
            self.theme,
            self.wanted,
            self.layout.facets > 1,
        )
        if self.layout.depth == 2:
            unit = say(*theme.dose.said)
            products = listed(
                [first, say(f"of {second}", second)] if both else [first], self.brief.language
            )
            return say(f"{unit} of {products}", f"{unit}的{products}"), ""
        one, two = (say(*unit.said) for unit in theme.measures)
        more = say(f", and how many {two} is that", f"，换成{two}又是多少") if both else ""
        return say(f"{one} of {first}", f"{one}的{first}"), more

    def _wording_of_order(self, task: str) -> str:
        say, one = self.draft.say, self.layout.subjects == 1
        usual, large = self.theme.packs
        both = self.layout.facets > 1
        more = f" And how would that be with {large[0]} instead of {usual[0]}?" if both else ""
        more_zh = f"如果改买{large[1]}装的呢？" if both else ""
        each = "" if one else " for each of them"
        each_zh = "" if one else "各"
        return say(
            f"We want to {task}. How many {usual[0]} of {self.wanted[0]} should I order{each}, and how much will be left over?{more} || "
            f"I am ordering {self.wanted[0]} to {task}: how many {usual[0]} does it take{each}, and what remains?{more}",
            f"要{task}，{each_zh}需要买多少{usual[1]}{self.wanted[0]}，会剩下多少？{more_zh} || "
            f"我来订{self.wanted[0]}，准备{task}，{each_zh}要订几{usual[1]}，用完还剩多少？{more_zh}",
        )

    def _wording_of_conclusion(self, it: str, *, total: bool) -> str:
        say, product = self.draft.say, self.wanted[0]
        task = say(*self.theme.task).format(it=it)
        unit = say(*(self.theme.dose if self.layout.depth == 2 else self.theme.measures[0]).said)
        if total:
            return say(
                f"How many {unit} of {product} do we need in all to {task}? || We plan to {task}. How many {unit} of {product} is that in total?",
                f"{task}，一共需要多少{unit}的{product}？ || 计划{task}，{product}总共要用多少{unit}？",
            )
        return say(
            f"We are going to {task} with {product}. Which of them takes the most {unit}? || "
            f"If we use {product} to {task}, which one needs the most {unit}?",
            f"用{product}{task}，哪个用的{unit}数最多？ || 准备用{product}{task}，哪一个需要的最多（按{unit}算）？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, pair: tuple[str, str]) -> tuple[int, list[str], int]:
        """The sub-tasks of one thing: the last step, what the question asks for, and that as a number."""
        owner, part = pair
        size, sign = self.sizes[pair], self._sign(self.theme.size)
        near = [o for o, _ in self.sizes if o != owner and o.split()[-1] == owner.split()[-1]]
        arguments = {
            "$owner": key(owner, [*near, *dict.fromkeys(o for o, _ in self.sizes)]),
            "$part": key(part, self.theme.parts[self.zh]),
        }
        asked = self.draft.say(*self.theme.sizes[0]).format(it=self._it(pair))
        step = self.draft.solve(asked, f"{size}{sign}", "$find", arguments)
        self.asides.show("$find", **{"$owner": owner, "$part": part})
        if self.layout.depth == 1:
            return step, [f"{size}{sign}"], size
        return self._doses(step, size)

    def _doses(self, known: int, size: int) -> tuple[int, list[str], int]:
        depth, wanted = (
            self.layout.depth,
            self.wanted[: self.layout.facets if self.layout.depth == 2 else 1],
        )
        unit, sizes = (
            self.draft.say(*self.theme.dose.said),
            [n for n in self.sizes.values() if n != size],
        )
        steps: list[int] = []
        said: list[str] = []
        for product in wanted:
            asked = self.draft.say(
                f"How many {unit} of {product} does it take?", f"需要多少{unit}的{product}？"
            )
            answer = _shown(size * self.products[product].rate, self._sign(self.theme.dose))
            arguments = {
                "$product": key(product, self._others(product)),
                "$size": key(size, sizes, any_value=True),
            }
            steps.append(self.draft.solve(asked, answer, "$need", arguments, needs=[known]))
            said.append(answer)
        dose = size * self.products[self.wanted[0]].rate
        return (steps[-1], said, dose) if depth == 2 else self._measures(steps[0], dose)

    def _others(self, product: str) -> Sequence[str]:
        others = [p for p in self.products if p != product]
        return sorted(others, key=lambda p: not p.startswith(product))

    def _measures(self, known: int, dose: int) -> tuple[int, list[str], int]:
        say, product = self.draft.say, self.wanted[0]
        first = dose * self.products[product].factor // 100
        said: list[str] = []
        steps: list[int] = []
        units = [say(*u.said) for u in self.theme.measures]
        for unit in self.theme.measures[: self.layout.facets if self.layout.depth == 3 else 1]:
            called = say(*unit.said)
            answer = _shown(first * unit.scale // 1000, self._sign(unit))
            arguments = {
                "$product": key(product, self._others(product)),
                "$dose": key(dose / 1000, any_value=True),
                "$unit": key(called, units),
            }
            asked = say(f"How many {called} is that?", f"换算成{called}是多少？")
            steps.append(self.draft.solve(asked, answer, "$convert", arguments, needs=[known]))
            said.append(answer)
        return (steps[-1], said, first) if self.layout.depth == 3 else self._order(steps[0], first)

    def _order(self, known: int, measure: int) -> tuple[int, list[str], int]:
        say, product = self.draft.say, self.wanted[0]
        said: list[str] = []
        step = known
        packs = [say(*p) for p in self.theme.packs]
        for place, pack in enumerate(packs[: self.layout.facets]):
            content = 1000 * self.products[product].contents[place]
            count = -(-measure // content)
            left = _shown(count * content - measure, self._sign(self.theme.measures[0]))
            answer = say(f"{pack}: {count}, left over: {left}", f"{count}{pack}，剩余{left}")
            arguments = {
                "$product": key(product, self._others(product)),
                "$measure": key(measure / 1000, any_value=True),
                "$pack": key(pack, packs),
            }
            asked = say(
                f"How many {pack} is that, and what is left over?", f"需要多少{pack}，还剩多少？"
            )
            step = self.draft.solve(asked, answer, "$buy", arguments, needs=[known])
            said.append(answer)
        return step, said, measure


def _make(brief: Brief) -> Draft:
    return _Dosage(brief).draft


DOSAGES = Family(
    "dosages", "What is to be treated and its size, followed to the amount of a product and its packs.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=2),
)  # fmt: skip
