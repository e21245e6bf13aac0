"""Dosages: from what is to be treated and its size to the amount of a product, in another unit, and in packs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.asides import Aside, Asides
from astra_mcp.synthesis.environments.families.lookups.questions.dosages import DosageWording
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
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.draft = Draft(brief, self.theme.domain)
        house = self.entities.firms(1, *self.theme.houses[self.zh])[0]
        self.draft.title = house
        self.draft.description = self.draft.say(
            f"What {house} looks after, and how much of a product that takes.",
            f"{house}的资料：服务对象及各种用品的用量。",
        )
        self._name()
        self._fill()
        self.wording = DosageWording(self.draft, self.theme, self.wanted)
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
        """Draw who has what, with other parts and other owners of alike names, and what it is treated with.

        All that one question is about is of the same part.
        """
        knobs, theme, subjects = self.brief.knobs, self.theme, self.brief.subjects
        parts, count = theme.parts[self.zh], max(4, knobs.records // 4) + subjects
        owners = (
            self.entities.people(count)
            if theme.owners is None
            else self.entities.firms(count, *theme.owners[self.zh])
        )
        asked = [self.draw.pick(parts) for _ in range(self.brief.questions)]
        each = self.layout.subjects
        self.asked = self.brief.asked(
            [(o, asked[n // each]) for n, o in enumerate(owners[:subjects])]
        )
        if theme.owners is None:
            # A split holds too few people of one last name for near misses of everybody in a large world.
            apart = 1 if subjects < 50 else each
            owners += [
                self.entities.relatives(owner, 1)[0]
                for owner in owners[:subjects:apart]
                for _ in range(knobs.near_misses // 2)
            ]
        pairs = [(owner, part) for owner in owners for part in parts]
        width = theme.scope[1] - theme.scope[0]
        step = max(1, width // (len(pairs) + 1))
        places = self.draw.shuffled(range(len(pairs)))
        self.sizes = {
            pair: theme.scope[0] + (step * place + self.draw.below(step)) % width
            for pair, place in zip(pairs, places, strict=True)
        }
        self._stock()

    def _stock(self) -> None:
        kinds = self.theme.products[self.zh]
        names = self.entities.firms(6, *kinds)
        stronger = self.draft.say(" Plus|| Extra|| Forte", "（升级版）||（经济装）")
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
            "$find", say(f"Look up how many {of} are on record.||Tell how many {of} there are, by owner and part.", f"查询登记在册的数量，单位为{of}。||查询某一对象有多少{of}。"),
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
            "$need", say(f"Work out how many {dose} of a product are needed for a size.", f"按规模计算某产品需要多少{dose}。"),
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
            "$convert", say(f"Convert {dose} of a product to another unit.", f"把以{dose}计的产品用量换算成其他单位。"),
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
            return {{"$order": f"{say("{$pack}: {count} ({left} left over)", "{count}{$pack}（剩余{left}）")}"}}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _it(self, pairs: Sequence[tuple[str, str]]) -> str:
        """What is to be treated: of one owner, or the same of several."""
        owners, part = [self._whose(owner) for owner, _ in pairs], pairs[0][1]
        if len(pairs) > 1 and not self.zh:
            part = self._plural(part)
        template = self.draft.say(*self.theme.subject)
        return template.format(owners=listed(owners, self.brief.language), part=part)

    @staticmethod
    def _plural(part: str) -> str:
        if part.endswith("y"):
            return f"{part[:-1]}ies"
        return part if part.endswith("s") else f"{part}es" if part.endswith("ch") else f"{part}s"

    def _whose(self, owner: str) -> str:
        return f"{owner}'s" if self.theme.owners is None and not self.zh else owner

    def _ask(self) -> None:
        found = [self._follow(pair) for pair in self.asked]
        it = self._it(self.asked)
        if not self.layout.concludes:
            told = [a for _, a, _ in found]
            self.draft.answer = labelled([o for o, _ in self.asked], told, self.brief.language)
            self.draft.question = (
                self._size_question(self.layout.subjects > 1, it)
                if self.layout.depth == 1
                else self.wording.asked(it)
            )
            return
        total = self.brief.draw("conclusion").chance(1, 2)
        values = [value for _, _, value in found]
        if values.count(max(values)) > 1 and not total:
            raise DrawError("two of them take the same")
        first = self.asked[values.index(max(values))]
        self.draft.answer = self._total(sum(values)) if total else self._it([first])
        say, (more, _) = self.draft.say, self.wording.compared()
        asked = (
            say("How much is that altogether?", "一共是多少？")
            if total
            else say(
                f"For which {self.wording.one} is that {more}?", f"哪{self.wording.one}{more}多？"
            )
        )
        self.draft.conclude(asked, self.draft.answer, [step for step, _, _ in found])
        self.draft.question = (
            self._size_question(2 if total else 3, it)
            if self.layout.depth == 1
            else self.wording.concluded(it, total=total)
        )

    def _total(self, value: int) -> str:
        """A sum of what was found on the last level."""
        theme = self.theme
        if self.layout.depth == 1:
            return f"{value}{self._sign(theme.size)}"
        return _shown(
            value, self._sign(theme.dose if self.layout.depth == 2 else theme.measures[0])
        )

    def _size_question(self, kind: int, it: str) -> str:
        more, er = self.wording.compared()
        owners = [self._whose(owner) for owner, _ in self.asked]
        either = listed(owners, self.brief.language, either=True)
        return self.draft.say(*self.theme.sizes[kind]).format(
            it=it, part=self.asked[0][1], either=either, more=more, er=er
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, pair: tuple[str, str]) -> tuple[int, list[str], int]:
        """The sub-tasks of one thing: the last step, what the question asks for, and that as a number."""
        owner, part = pair
        size, sign = self.sizes[pair], self._sign(self.theme.size)
        others = [o for (o, p), n in self.sizes.items() if p == part and n != size]
        last = owner[0] if self.zh else owner.split()[-1]
        near = [o for o in others if (o[0] if self.zh else o.split()[-1]) == last]
        parts = [p for p in self.theme.parts[self.zh] if self.sizes[owner, p] != size]
        arguments = {"$owner": key(owner, [*near, *others]), "$part": key(part, parts)}
        asked = self._size_question(0, self._it([pair]))
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
                f"How many {unit} of {product} does it take?", f"需要多少{unit}{product}？"
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
            answer = say(f"{pack}: {count} ({left} left over)", f"{count}{pack}（剩余{left}）")
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
