"""Ledgers: from a payment as somebody remembers it to its entry, its amount, and that in another currency."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.asides import Aside, Asides
from astra_mcp.synthesis.environments.families.lookups.themes.ledgers import (
    CURRENCIES,
    LEDGER_THEMES,
    LedgerWording,
)
from astra_mcp.synthesis.environments.families.phrases import amount, labelled, tagged

__all__ = ["LEDGERS"]

_ASIDES = (
    Aside("page|journal_page|sheet", ("the page of the journal", "账簿页码"), 'issued($entry, "page") % 412 + 3'),
    Aside("clerk|booked_by|initials", ("who booked it", "经办人编号"), 'f"U{issued($entry, \'clerk\') % 89 + 10}"'),
    Aside("batch|run|batch_number", ("the batch it was booked with", "批次号"), 'f"B-{issued($entry, \'batch\') % 8999 + 1000}"'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    code: str
    party: tuple[str, str]
    """Name and town."""
    day: dt.date
    booked: dt.date
    amount: int
    currency: str
    left: int


def _rate(rates: Mapping[str, int], currency: str, day: str) -> int:
    return rates[currency] * (100_000 + issued(day, currency) % 1993 - 996) // 100_000


class _Ledger:
    """One ledger, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.zh, self.layout = brief, brief.language == "zh", brief.layout
        self.theme = brief.draw("theme").pick(LEDGER_THEMES)
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.house = self.entities.firms(1, *self.theme.houses[self.zh])[0]
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        say = self.draft.say
        self.number = say(*self.theme.number)
        about = say(*self.theme.about)
        self.draft.title = say(f"{self.house}: {about}", f"{self.house}：{about}")
        self.draft.description = say(
            f"The books of {self.house}: {about}, in several currencies.",
            f"{self.house}的账务：{about}，含多种货币。",
        )
        self._name()
        self._fill()
        self.wording = LedgerWording(self.draft, self.theme, self.number, self.targets)
        self._tools()
        self._ask()

    def _name(self) -> None:
        self.draft.name(
            entry=self.theme.nouns, side=self.theme.sides, left=self.theme.left, account="account|${side}_account|account_number",
            day="day|date|paid_on", booked="booked_on|booking_day|value_date", amount="amount|sum|total", source="from_currency|currency|source_currency",
            target="to_currency|into|target_currency", rate_day="rate_day|at_rate_of|as_of", result="converted|equivalent|result",
            find="find_$entry|search_${entry}s|look_up_$entry", look="get_$entry|show_$entry|open_$entry", rest="get_$left|check_$left|show_$left",
            convert="convert_amount|exchange|convert_currency", who="find_$account|look_up_$account|search_$account", town="town|city|place",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw who is paid on which day, and near misses of what is asked for."""
        knobs, subjects = self.brief.knobs, self.brief.subjects
        self.days = [d for d in self.calendar.behind(self.draw, 34, within=48) if d.weekday() < 5]
        self.days = [d for d in self.days if (self.calendar.today - d).days > 3][:14]
        towns = self.entities.places(6)
        parties = self._parties(towns, 8 + subjects + knobs.records // 5)
        pairs = [(parties[n], self.draw.pick(self.days)) for n in range(subjects)]
        chosen = [*pairs]
        self.asked = self.brief.asked(chosen)
        # A split holds too few people of one last name for near misses of everybody in a large world.
        apart = 1 if subjects < 50 else self.layout.subjects
        pairs += [near for who, day in chosen[::apart] for near in self._near(who, day, towns)]
        pairs += [
            (parties[subjects + n % (len(parties) - subjects)], self.draw.pick(self.days))
            for n in range(max(12, knobs.records) - len(pairs))
        ]
        pairs = self.draw.shuffled([*dict.fromkeys(pairs)])
        self._book(pairs, chosen)
        self.rates = {
            c: CURRENCIES[c][0] * self.draw.between(930, 1070) // 1000
            for c in sorted({*self.foreign, *self.targets})
        }

    def _parties(self, towns: Sequence[str], count: int) -> list[tuple[str, str]]:
        kinds = self.theme.parties
        names = (
            self.entities.people(count)
            if kinds is None
            else self.entities.firms(count, *kinds[self.zh])
        )
        return [(name, self.draw.pick(towns)) for name in names]

    def _near(
        self, who: tuple[str, str], day: dt.date, towns: Sequence[str]
    ) -> list[tuple[tuple[str, str], dt.date]]:
        """Another day, another town or another name."""
        days, places = [d for d in self.days if d != day], [t for t in towns if t != who[1]]
        made: list[tuple[tuple[str, str], dt.date]] = []
        for number in range(self.brief.knobs.near_misses):
            if number % 2 == 0:
                made.append((who, days[number % len(days)]))
            elif self.layout.depth == 4:
                made.append(((who[0], self.draw.pick(places)), day))
            elif self.theme.parties is None:
                made.append(((self.entities.relatives(who[0], 1)[0], who[1]), day))
        return made

    def _book(
        self,
        pairs: Sequence[tuple[tuple[str, str], dt.date]],
        chosen: Sequence[tuple[tuple[str, str], dt.date]],
    ) -> None:
        home, *others = self.draw.shuffled([*CURRENCIES])
        home = "CNY" if self.zh else self.draw.pick(["EUR", "GBP"])
        others = [c for c in [*others, "USD"] if c not in (home, "CNY", "GBP", "EUR")]
        self.foreign = [*dict.fromkeys(others)][:4]
        second = "EUR" if home != "EUR" else "GBP"
        self.targets = [home, second]
        every = [self.draw.pick(self.foreign) for _ in range(self.brief.questions)]
        alike: dict[tuple[tuple[str, str], dt.date], str] = {}
        if self.layout.concludes and self.layout.depth == 2:
            alike = {pair: every[n // self.layout.subjects] for n, pair in enumerate(chosen)}
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        codes = self.entities.codes(f"{letters}-#####", len(pairs))
        amounts = self._amounts(2 * len(pairs))
        self.entries = {
            (party, day): _Entry(
                code, party, day, day + dt.timedelta(days=self.draw.between(1, 3)), amounts[2 * n],
                alike.get((party, day)) or self.draw.pick(self.foreign), amounts[2 * n + 1],
            )
            for n, ((party, day), code) in enumerate(zip(pairs, codes, strict=True))
        }  # fmt: skip

    def _amounts(self, count: int) -> list[int]:
        found: dict[int, None] = {}
        while len(found) < count:
            found[self.draw.between(18_011, 964_999)] = None
        return [*found]

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        self.asides = Asides(self.draft, _ASIDES)
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        self.draft.code(
            "def _money(amount, currency):\n    return f'{amount // 100}.{amount % 100:02d} {currency}'"
        )
        parties = [*dict.fromkeys(e.party for e in self.entries.values())]
        self.accounts = dict(zip(parties, self.entities.codes("7#####", len(parties)), strict=True))
        self.keys = {p: self.accounts[p] if self.layout.depth == 4 else p[0] for p in parties}
        self.draft.data(
            "ENTRIES",
            {
                e.code: [self.keys[e.party], e.day.isoformat(), e.booked.isoformat(), e.amount, e.currency, e.left]
                for e in self.entries.values()
            },
        )  # fmt: skip
        self._finding_tools()
        if self.layout.depth > 1:
            self._entry_tools()
        if self.layout.depth > 2:
            self._convert_tool()

    def _day(self) -> dict[str, Any]:
        about = self.draft.say("YYYY-MM-DD", "日期，如 2026-03-12")
        return {"type": "string", "format": "date", "description": about}

    def _finding_tools(self) -> None:
        say, text = self.draft.say, {"type": "string", "minLength": 2}
        by = "$side"
        if self.layout.depth == 4:
            by = "$account"
            self.draft.data("ACCOUNTS", {a: [*p] for p, a in self.accounts.items()})
            self.draft.tool(
                "$who", say("Find an account by name and town.||Look up the account of a name in a town.", "按名称和所在地查询账户号。"),
                {"$side": text | {"description": say("Full name.", "全称。")}, "$town": text},
                f"""
                found = [a for a, p in ACCOUNTS.items() if p == [$side.strip(), $town.strip()]]
                if not found:
                    {self.draft.refusal("No account is kept for {$side!r} in {$town!r}; give the full name and the town.", "没有{$town}的{$side}的账户；请提供全称和所在地。")}
                return {{"$account": found[0], "$side": $side.strip()}}
                """,
            )  # fmt: skip
        about = (
            say("Full name.||Name in full.", "全称。")
            if by == "$side"
            else say("Number of the account.", "账户号。")
        )
        self.draft.tool(
            "$find", say(f"Find a {self.number} by who it concerns and by the day.||Look up the {self.number} by name and day.", f"按对方和日期查询{self.number}。"),
            {by: text | {"description": about}, "$day": self._day(), **(self.asides.parameters if self.layout.depth == 1 else {})},
            f"""
            for $entry, row in ENTRIES.items():
                if row[:2] == [{by}.strip(), $day]:
                    return {{"$entry": $entry, "$day": $day{self.asides.members if self.layout.depth == 1 else ""}}}
            {self.draft.refusal(f"Nothing is booked for {{{by}!r}} on {{$day}}; {'give the full name' if by == '$side' else 'take the account from $who'} and the day as YYYY-MM-DD.", f"{{{by}}}在{{$day}}没有记录；请核对{'全称' if by == '$side' else '账户号'}和日期。")}
            """,
        )  # fmt: skip

    def _entry_tools(self) -> None:
        say = self.draft.say
        code = next(iter(self.entries.values())).code
        entry = {
            "type": "string",
            "pattern": f"^{code[:3]}[0-9]{{5}}$",
            "description": say("From $find.", "由 $find 查得。"),
        }
        unknown = self.draft.refusal(
            "There is no {$entry!r}; look it up with $find.", "没有{$entry}；请先用 $find 查询。"
        )
        self.draft.tool(
            "$look", say("Tell the amount, its currency and the day on which it was booked.||Show what was booked: amount, currency, day.", "查询入账金额、货币和入账日。"),
            {"$entry": entry, **self.asides.parameters},
            f"""
            if $entry not in ENTRIES:
                {unknown}
            row = ENTRIES[$entry]
            return {{"$amount": _money(row[3], row[4]), "$booked": row[2]{self.asides.members}}}
            """,
        )  # fmt: skip
        if self.layout.depth == 2 and self.layout.facets > 1:
            self.draft.tool(
                "$rest", say("Tell what is still to be settled beyond what was booked.", "查询这笔之外尚未结清的金额。"), {"$entry": entry},
                f"""
                if $entry not in ENTRIES:
                    {unknown}
                return {{"$left": _money(ENTRIES[$entry][5], ENTRIES[$entry][4])}}
                """,
            )  # fmt: skip

    def _convert_tool(self) -> None:
        say = self.draft.say
        last = self.calendar.today
        self.draft.data("FIRST_DAY", (last - dt.timedelta(days=70)).isoformat())
        self.draft.data("LAST_DAY", last.isoformat())
        self.draft.data("RATES", self.rates)
        self.draft.code("""
            def _rate(currency, day):
                return RATES[currency] * (100000 + issued(day, currency) % 1993 - 996) // 100000
        """)
        currency = {"type": "string", "enum": [*self.rates]}
        self.draft.tool(
            "$convert", say("Convert an amount at the rate of a day.", "按某日汇率换算金额。"),
            {"$amount": {"type": "number", "minimum": 0.01, "maximum": 1000000}, "$source": currency, "$target": currency, "$rate_day": self._day()},
            f"""
            if not FIRST_DAY <= $rate_day <= LAST_DAY:
                {self.draft.refusal("There are no rates of {$rate_day}; they are kept from {FIRST_DAY} to {LAST_DAY}.", "没有{$rate_day}的汇率；只有{FIRST_DAY}至{LAST_DAY}的。")}
            if $source == $target:
                {self.draft.refusal("Both currencies are {$source}; name two different ones.", "两种货币都是{$source}；请选择不同的货币。")}
            paid, got = _rate($source, $rate_day), _rate($target, $rate_day)
            return {{"$result": _money((2 * round($amount * 100) * paid + got) // (2 * got), $target)}}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _who(self, party: tuple[str, str]) -> str:
        if self.layout.depth < 4:
            return party[0]
        there = "from" if self.theme.parties is None else "in"
        return self.draft.say(f"{party[0]} {there} {party[1]}", f"{party[1]}的{party[0]}")

    def _ask(self) -> None:
        gold = [self.entries[pair] for pair in self.asked]
        found = [self._follow(e) for e in gold]
        self.last = [numbers[-1] for numbers, _ in found]
        say, total = self.draft.say, self.brief.draw("conclusion").chance(1, 2)
        answers = {e.party[0]: told for e, (_, told) in zip(gold, found, strict=True)}
        if self.layout.concludes:
            answer = self._concluded(gold, total=total)
            asked = (
                say("What is that altogether?", "合计是多少？")
                if total
                else say(
                    f"Which of them is {self.wording.larger}?", f"哪一笔{self.wording.larger}多？"
                )
            )
            self.draft.conclude(asked, answer, self.last)
            self.draft.answer, wording = answer, self.wording.concluded(total=total)
        else:
            self.draft.answer, wording = (
                labelled([*answers], [*answers.values()], self.brief.language),
                self.wording.asked(),
            )
        asked = wording.format(it=self._events(gold))
        self.draft.question = f"{self.calendar.now()}{'' if self.zh else ' '}{asked}"

    def _event(self, entry: _Entry) -> str:
        template = self.draft.say(*self.theme.event)
        return template.format(who=self._who(entry.party), when=self.calendar.on(entry.day))

    def _events(self, entries: Sequence[_Entry]) -> str:
        if len(entries) == 1:
            return self._event(entries[0])
        days = [self.calendar.relative(e.day) or self.calendar.day(e.day) for e in entries]
        whom = tagged([self._who(e.party) for e in entries], days, self.brief.language)
        return self.draft.say(*self.theme.events).format(whom=whom)

    def _concluded(self, gold: Sequence[_Entry], *, total: bool) -> str:
        values = [
            e.amount if self.layout.depth == 2 else self._converted(e, self.targets[0])
            for e in gold
        ]
        if not total:
            if values.count(max(values)) > 1:
                raise DrawError("two of them are the same")
            return gold[values.index(max(values))].party[0]
        return amount(sum(values), gold[0].currency if self.layout.depth == 2 else self.targets[0])

    def _converted(self, entry: _Entry, into: str) -> int:
        day = entry.booked.isoformat()
        paid, got = _rate(self.rates, entry.currency, day), _rate(self.rates, into, day)
        return (2 * entry.amount * paid + got) // (2 * got)

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, entry: _Entry) -> tuple[list[int], list[str]]:
        """The sub-tasks of one payment; gives their ids and what the question asks for."""
        say, layout = self.draft.say, self.layout
        steps: list[int] = []
        if layout.depth == 4:
            steps.append(self._account(entry))
        relative = self.calendar.relative(entry.day)
        days = [
            e.day.isoformat()
            for e in self.entries.values()
            if e.party == entry.party and e.day != entry.day
        ]
        others = [self.keys[e.party] for e in self.entries.values() if e.day == entry.day]
        others += [k for k in self.keys.values() if k != self.keys[entry.party]]
        by = "$account" if layout.depth == 4 else "$side"
        arguments = {
            by: key(self.keys[entry.party], others),
            "$day": key(
                entry.day.isoformat(), days + [d.isoformat() for d in self.days], source=relative
            ),
        }
        event = self._event(entry)
        asked = say(f"What is the {self.number} of {event}?", f"{event}，{self.number}是多少？")
        steps.append(self.draft.solve(asked, entry.code, "$find", arguments, needs=steps[-1:]))
        if layout.depth == 1:
            self.asides.show("$find", **{by: self.keys[entry.party], "$day": entry.day.isoformat()})
            return steps, [entry.code]
        return self._amount(entry, steps)

    def _account(self, entry: _Entry) -> int:
        name, town = entry.party
        who = self._who(entry.party)
        asked = self.draft.say(f"What is the account number of {who}?", f"{who}的账户号是多少？")
        names = [n for n, t in self.accounts if n != name and t == town]
        towns = [t for n, t in self.accounts if n == name and t != town] + [
            t for _, t in self.accounts
        ]
        names += [n for n, _ in self.accounts if n != name]
        return self.draft.solve(
            asked,
            self.accounts[entry.party],
            "$who",
            {"$side": key(name, names), "$town": key(town, towns)},
        )

    def _amount(self, entry: _Entry, steps: list[int]) -> tuple[list[int], list[str]]:
        say, layout = self.draft.say, self.layout
        of_entry = {"$entry": key(entry.code, [e.code for e in self.entries.values()])}
        paid = amount(entry.amount, entry.currency)
        found = steps[-1]
        asked = say("How much is it, and in which currency?", "这笔是多少钱，用什么货币？")
        steps.append(self.draft.solve(asked, paid, "$look", of_entry, needs=[found]))
        self.asides.show("$look", **{"$entry": entry.code})
        if layout.depth > 2:
            return self._in_currencies(entry, steps)
        if layout.facets == 1:
            return steps, [paid]
        left = amount(entry.left, entry.currency)
        rest = say(*self.theme.rest)
        asked = say(f"{rest[0].upper()}{rest[1:]}?", f"{rest}？")
        self.draft.solve(asked, left, "$rest", of_entry, needs=[found])
        return steps, [paid, left]

    def _in_currencies(self, entry: _Entry, steps: list[int]) -> tuple[list[int], list[str]]:
        said: list[str] = []
        known, booked = steps[-1], entry.booked.isoformat()
        days = [(entry.booked + dt.timedelta(days=n)).isoformat() for n in (-9, -4, -1, 1)]
        for into in self.targets[: self.layout.facets]:
            asked = self.draft.say(
                f"What is that in {self.wording.called(into)} at the exchange rate of the day it was booked?",
                f"按入账当天的汇率折合多少{self.wording.called(into)}？",
            )
            answer = amount(self._converted(entry, into), into)
            arguments = {
                "$amount": key(entry.amount / 100, any_value=True),
                "$source": key(entry.currency, [c for c in self.rates if c != into]),
                "$target": key(
                    into,
                    [c for c in self.rates if c != entry.currency],
                    source=self.wording.called(into),
                ),
                "$rate_day": key(booked, days),
            }
            steps.append(self.draft.solve(asked, answer, "$convert", arguments, needs=[known]))
            said.append(answer)
        return steps, said


def _make(brief: Brief) -> Draft:
    return _Ledger(brief).draft


LEDGERS = Family(
    "ledgers", "Payments as somebody remembers them, followed to their entries and into other currencies.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=2, concludes_from=2),
)  # fmt: skip
