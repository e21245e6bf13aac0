"""Permissions: from a person to a group, over the group above it, to a right, its bounds, its approver and its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.asides import Aside, Asides
from astra_mcp.synthesis.environments.families.lookups.themes.permissions import PERMISSION_THEMES
from astra_mcp.synthesis.environments.families.phrases import labelled, listed

__all__ = ["PERMISSIONS"]

_ASIDES = (
    Aside("badge|card_number|badge_number", ("the number of the badge", "工牌号"), 'f"K{issued($member, $unit, \'b\') % 8999 + 1000}"'),
    Aside("since|joined|member_since", ("the year of joining", "加入年份"), '2003 + issued($unit, $member) % 22'),
    Aside("locker|locker_no|locker_number", ("the number of the locker", "储物柜号"), 'f"L-{issued(\'locker\', $unit, $member) % 390 + 10}"'),
)  # fmt: skip


_TOPS = 6
"""Groups that others inherit from."""


@dataclass(frozen=True, slots=True)
class _Grant:
    code: str
    bound: str
    size: int
    approver: str
    expires: str


class _Permission:
    """One house with its groups and rights, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.zh, self.layout = brief, brief.language == "zh", brief.layout
        self.theme = brief.draw("theme").pick(PERMISSION_THEMES)
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        self.group, house = (
            self.draft.say(*self.theme.group),
            self.entities.firms(1, *self.theme.houses[self.zh])[0],
        )
        self.draft.title = self.draft.say(f"Permissions at {house}", f"{house}：权限管理")
        self.draft.description = self.draft.say(
            f"Who may do what at {house}: people, groups, rights, and who approved them.",
            f"{house}的权限：人员、分组、授权和批准人。",
        )
        self.asks_expiry = self.layout.concludes or brief.draw("facet").chance(1, 2)
        self._name()
        self._fill()
        self._tools()
        self._ask()

    def _name(self) -> None:
        self.draft.name(
            member=self.theme.members, group=self.theme.groups, zone=self.theme.places, bound=self.theme.limits, unit="department|unit|works_in",
            grant="grant|permission|right", approver="approved_by|approver|signed_by", expires="expires_on|valid_until|ends_on",
            above="parent_$group|upper_$group|inherits_from", find="find_$member|look_up_$member|get_$member", up="get_$above|show_$above",
            check="get_$grant|check_$grant|show_$grant", who="who_approved|${grant}_approver|get_approver", end="${grant}_end|when_$grant|check_expiry",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw who is in which group, people of alike names, and what each group may do."""
        subjects, units = self.brief.subjects, self.theme.units[self.zh]
        count = max(12, self.brief.knobs.records)
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        # As many for each of those above, so that neighbours in the list never share one.
        leaves = _TOPS * (2 + min(5, count // 72))
        codes = self.entities.codes(f"{letters}-###", leaves + _TOPS)
        self.groups, tops = codes[:leaves], codes[leaves:]
        self.above = {g: tops[n % _TOPS] for n, g in enumerate(self.groups)}
        beside = max(3, min(subjects, 40))
        people = self.entities.people(subjects + beside + count)
        each = self.layout.subjects
        places_of = [u for _ in range(self.brief.questions) for u in self.draw.some(units, each)]
        chosen = [*zip(people, places_of, strict=False)]
        self.asked = self.brief.asked(chosen)
        places: dict[tuple[str, str], int] = {pair: n % leaves for n, pair in enumerate(chosen)}
        # A split holds too few people of one last name for near misses of everybody in a large world.
        apart = 1 if subjects < 50 else each
        for n, pair in [*enumerate(chosen)][::apart]:
            for further, near in enumerate(self._near(*pair), 1):
                places.setdefault(near, (n + further) % leaves)
        for n, name in enumerate(people[subjects : subjects + beside]):
            places[name, chosen[n % subjects][1]] = (n % subjects + 1 + n // subjects) % leaves
        for name in people[subjects + beside :]:
            places[name, self.draw.pick(units)] = self.draw.below(leaves)
        members = [(pair, self.groups[place]) for pair, place in places.items()]
        self.members = dict(self.draw.shuffled(members))
        self.zone = self.draw.pick(self.theme.zones[self.zh])
        self._allow([*self.groups, *tops] if self.layout.depth == 4 else self.groups)

    def _near(self, name: str, unit: str) -> list[tuple[str, str]]:
        """The same name elsewhere, or another of the family in the same place."""
        others = [u for u in self.theme.units[self.zh] if u != unit]
        return [
            (name, others[number // 2 % len(others)])
            if number % 2 == 0
            else (self.entities.relatives(name, 1)[0], unit)
            for number in range(self.brief.knobs.near_misses)
        ]

    def _allow(self, groups: Sequence[str]) -> None:
        """Draw rights; of groups with one above them some are of their own, but none that is asked for."""
        zones = self.theme.zones[self.zh]
        low, high, step = self.theme.scope
        codes = self.entities.codes(f"{self.draw.pick('JQXZ')}#####", len(groups) * len(zones))
        approvers = self.entities.people(11)
        days = self.draw.some(range(9, 340), min(331, len(codes)))
        sizes = self.draw.some(range(low, high, step), len(groups))
        self.grants: dict[str, dict[str, _Grant]] = {g: {} for g in groups}
        for number, code in enumerate(codes):
            group, zone = groups[number // len(zones)], zones[number % len(zones)]
            other = low + step * self.draw.below((high - low) // step)
            size = sizes[number // len(zones)] if zone == self.zone else other
            inherits = self.layout.depth == 4 and group in self.above
            if inherits and (zone == self.zone or self.draw.chance(1, 2)):
                continue
            day = self.calendar.today.toordinal() + days[number % len(days)]
            expires = self.calendar.today.fromordinal(day).isoformat()
            place = number // len(zones) if zone == self.zone else self.draw.below(len(approvers))
            approver = approvers[place % len(approvers)]
            self.grants[group][zone] = _Grant(code, self._shown(size), size, approver, expires)

    def _shown(self, size: int) -> str:
        if self.theme.sign is None:
            return f"{size // 60:02d}:{size % 60:02d}"
        return f"{size}{self.theme.sign[self.zh]}"

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        say = self.draft.say
        self.asides = Asides(self.draft, _ASIDES)
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        self.draft.data("MEMBERS", [[*pair, group] for pair, group in self.members.items()])
        self.draft.tool(
            "$find", say(f"Find the {self.group} of somebody.||Tell which {self.group} somebody is in.", f"查询某人所属的{self.group}。||按姓名和部门查询{self.group}。"),
            {
                "$member": {"type": "string", "minLength": 2, "description": say("Full name.||Name in full.", "姓名全称。")},
                "$unit": {"type": "string", "enum": [*self.theme.units[self.zh]]},
                **self.asides.parameters,
            },
            f"""
            for row in MEMBERS:
                if row[:2] == [$member.strip(), $unit]:
                    return {{"$group": row[2]{self.asides.members}}}
            {self.draft.refusal("There is no {$member!r} in {$unit}; give the full name and the right department.", "{$unit}没有{$member}；请核对姓名全称和部门。")}
            """,
        )  # fmt: skip
        if self.layout.depth == 4:
            self._above_tool()
        if self.layout.depth > 1:
            self._grant_tool()
        if self.layout.depth > 2:
            self._approval_tools()

    def _by_group(self) -> dict[str, str]:
        pattern = f"^{self.groups[0][:3]}[0-9]{{3}}$"
        return {
            "type": "string",
            "pattern": pattern,
            "description": self.draft.say(
                "From $find or $up." if self.layout.depth == 4 else "From $find.",
                "由 $find 或 $up 查得。" if self.layout.depth == 4 else "由 $find 查得。",
            ),
        }

    def _above_tool(self) -> None:
        say = self.draft.say
        self.draft.data("ABOVE", self.above)
        self.draft.tool(
            "$up", say(f"Tell which {self.group} another inherits its rights from.", f"查询某个{self.group}继承自哪个{self.group}。"), {"$group": self._by_group()},
            f"""
            if $group not in ABOVE:
                {self.draft.refusal("{$group!r} inherits from none; look up the group of a person first.", "{$group}没有上级；请先查询人员所在的分组。")}
            return {{"$above": ABOVE[$group]}}
            """,
        )  # fmt: skip

    def _grant_tool(self) -> None:
        say, zones = self.draft.say, self.theme.zones[self.zh]
        self.draft.data(
            "GRANTS",
            {g: {z: [k.code, k.bound] for z, k in own.items()} for g, own in self.grants.items()},
        )
        none = ""
        if self.layout.depth == 4:
            note = say(
                "It has no such right of its own; it may inherit one.",
                "该组自身没有这项授权，可能由上级继承。",
            )
            none = f'if $zone not in GRANTS[$group]:\n                return {{"$grant": None, "note": "{note}"}}'
        self.draft.tool(
            "$check", say(f"Look up the grant that a group has for something: its code and its {self.theme.bound[0]}.||Give the code of a group's grant, and its {self.theme.bound[0]}.", f"查询某个{self.group}的授权编号和{self.theme.bound[1]}。"),
            {"$group": self._by_group(), "$zone": {"type": "string", "enum": [*zones]}},
            f"""
            if $group not in GRANTS:
                {self.draft.refusal("There is no group {$group!r}; look it up by person with $find.", "没有{$group}这个分组；请用 $find 按人员查询。")}
            {none}
            return {{"$grant": GRANTS[$group][$zone][0], "$bound": GRANTS[$group][$zone][1]}}
            """,
        )  # fmt: skip

    def _approval_tools(self) -> None:
        say, both = self.draft.say, self.layout.facets > 1
        every = [k for own in self.grants.values() for k in own.values()]
        self.draft.data("APPROVALS", {k.code: [k.approver, k.expires] for k in every})
        grant = {
            "type": "string",
            "pattern": f"^{every[0].code[0]}[0-9]{{5}}$",
            "description": say("From $check.", "由 $check 查得。"),
        }
        unknown = self.draft.refusal(
            "There is no {$grant!r}; it comes from $check.", "没有{$grant}；请从 $check 获取。"
        )
        for place, (tool, result, english, chinese) in enumerate((
            ("$who", "$approver", "Tell who approved a grant.", "查询授权的批准人。"),
            ("$end", "$expires", "Tell on which day a grant expires.", "查询授权的到期日。"),
        )):  # fmt: skip
            if both or place == self.asks_expiry:
                self.draft.tool(
                    tool, say(english, chinese), {"$grant": grant},
                    f"""
                    if $grant not in APPROVALS:
                        {unknown}
                    return {{"{result}": APPROVALS[$grant][{place}]}}
                    """,
                )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _who(self, pair: tuple[str, str]) -> str:
        return self.draft.say(f"{pair[0]} from {pair[1]}", f"{pair[1]}的{pair[0]}")

    def _ask(self) -> None:
        found = [self._follow(pair) for pair in self.asked]
        names = [self._who(pair) for pair in self.asked]
        who = listed(names, self.brief.language)
        if not self.layout.concludes:
            answers = dict(zip(names, (told for _, told, _ in found), strict=True))
            self.draft.answer = labelled([*answers], [*answers.values()], self.brief.language)
            self.draft.question = self._wording(who)
            return
        ranked = [value for _, _, value in found]
        is_bound = self.layout.depth == 2
        self.draft.answer = names[ranked.index(max(ranked) if is_bound else min(ranked))]
        say, two = self.draft.say, self.layout.subjects == 2
        more_zh = "更" if two else "最"
        asked = (
            say("Whose goes further?" if two else "Whose goes furthest?", f"谁的{more_zh}高？")
            if is_bound
            else say("Whose expires first?", f"谁的{more_zh}早到期？")
        )
        self.draft.conclude(asked, self.draft.answer, [step for step, _, _ in found])
        act = say(*self.theme.act).format(zone=self.zone)
        either = listed(names, self.brief.language, either=True)
        self.draft.question = (
            self._bound_question(2, either)
            if is_bound
            else say(
                f"Who will lose permission to {act} first, {either}? || {who} are allowed to {act}. Whose permission expires first?",
                f"{who}都可以{act}，谁的权限{more_zh}早到期？ || {who}，谁{act}的权限{more_zh}早到期？",
            )
        )

    def _bound_question(self, kind: int, who: str) -> str:
        two = self.layout.subjects == 2
        more, er = (
            ("更" if self.zh else "more", "er") if two else ("最" if self.zh else "the most", "est")
        )
        template = self.draft.say(*self.theme.bounds[kind])
        return template.format(who=who, zone=self.zone, more=more, er=er, the="" if two else "the ")

    def _wording(self, who: str) -> str:
        say, group, layout = self.draft.say, self.group, self.layout
        one = layout.subjects == 1
        if layout.depth == 1:
            belong = f"{group} does {who}" if one else f"{group}s do {who}"
            each_zh = "" if one else "分别"
            return say(
                f"Which {group}{' is' if one else 's are'} {who} in? || I'm checking the member lists. Which {belong} belong to?",
                f"{who}{each_zh}在哪个{group}？ || 我在核对名单，{who}{each_zh}属于哪个{group}？",
            )
        if layout.depth == 2:
            return self._bound_question(int(not one), who)
        act = say(*self.theme.act).format(zone=self.zone)
        return self._approval_wording(who, act, one=one)

    def _approval_wording(self, who: str, act: str, *, one: bool) -> str:
        say, each_zh = self.draft.say, "" if one else "分别"
        allowed = f"{who} {'is' if one else 'are'} allowed to {act}."
        right_zh = f"{who}{act}的权限{each_zh}"
        for_each = "" if one else " for each of them"
        if self.layout.facets > 1:
            both = (
                "Who approved that, and when does it expire?"
                if one
                else "Who approved each permission, and when does each of them expire?"
            )
            until_zh = "，有效期到哪天" if one else "，有效期各到哪天"
            return say(
                f"{allowed} {both} || I'm doing the yearly review. Who gave {who} permission to {act}, and when does it expire{for_each}?",
                f"{right_zh}是谁批准的{until_zh}？ || 我在做年度核查，{right_zh}是谁批准的{until_zh}？",
            )
        if self.asks_expiry:
            when = (
                "When does that permission expire?" if one else "When does each permission expire?"
            )
            until = f"is {who}" if one else f"are {who} each"
            return say(
                f"{allowed} {when} || Until what date {until} allowed to {act}?",
                f"{right_zh}到哪天为止？ || {right_zh}哪天到期？",
            )
        return say(
            f"{allowed} Who approved that{for_each}? || Who gave {who} {'' if one else 'their '}permission to {act}?",
            f"{right_zh}是谁批准的？ || {who}可以{act}，{each_zh}是谁批准的？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, pair: tuple[str, str]) -> tuple[int, list[str], str | int]:
        """The sub-tasks of one person: the last step, what the question asks for, and by what it is compared."""
        say, (name, unit), group = self.draft.say, pair, self.members[pair]
        others = [n for (n, u), g in self.members.items() if u == unit and g != group and n != name]
        units = [u for (n, u), g in self.members.items() if n == name and g != group]
        arguments = {
            "$member": key(
                name,
                sorted(others, key=lambda n: n[0] != name[0] and n.split()[-1] != name.split()[-1]),
            ),
            "$unit": key(unit, [*units, *self.theme.units[self.zh]]),
        }
        asked = say(
            f"Which {self.group} is {self._who(pair)} in?", f"{self._who(pair)}在哪个{self.group}？"
        )
        step = self.draft.solve(asked, group, "$find", arguments)
        self.asides.show("$find", **{"$member": name, "$unit": unit})
        if self.layout.depth == 1:
            return step, [group], group
        if self.layout.depth == 4:
            above = self.above[group]
            others = [g for g in self.groups if self.above[g] != above]
            asked = say(
                f"Which {self.group} does it inherit rights from?", f"它继承自哪个{self.group}？"
            )
            step = self.draft.solve(
                asked, above, "$up", {"$group": key(group, others)}, needs=[step]
            )
            group = above
        return self._rights(group, step)

    def _rights(self, group: str, known: int) -> tuple[int, list[str], str | int]:
        say, grant = self.draft.say, self.grants[group][self.zone]
        groups = [
            g
            for g, own in self.grants.items()
            if self.zone in own and own[self.zone].bound != grant.bound
        ]
        zones = [
            z for z, k in self.grants[group].items() if z != self.zone and k.bound != grant.bound
        ]
        arguments = {"$group": key(group, groups), "$zone": key(self.zone, zones)}
        act = say(*self.theme.act).format(zone=self.zone)
        if self.layout.depth == 2:
            bound = self.theme.bound[self.zh]
            asked = say(
                f"What is its {bound} for the right to {act}?",
                f"它{act}的{bound}是多少？",
            )
            step = self.draft.solve(asked, grant.bound, "$check", arguments, needs=[known])
            return step, [grant.bound], grant.size
        asked = say(f"What is the code of its grant to {act}?", f"它{act}的授权编号是多少？")
        step = self.draft.solve(asked, grant.code, "$check", arguments, needs=[known])
        return self._approval(grant, step)

    def _approval(self, grant: _Grant, known: int) -> tuple[int, list[str], str | int]:
        say, both = self.draft.say, self.layout.facets > 1
        every = [k for own in self.grants.values() for k in own.values()]
        said: list[str] = []
        step = known
        for place, (tool, answer, english, chinese) in enumerate((
            ("$who", grant.approver, "Who approved that?", "是谁批准的？"),
            ("$end", grant.expires, "When does that expire?", "哪天到期？"),
        )):  # fmt: skip
            if both or place == self.asks_expiry:
                others = [k.code for k in every if answer not in (k.approver, k.expires)]
                arguments = {"$grant": key(grant.code, others)}
                step = self.draft.solve(
                    say(english, chinese), answer, tool, arguments, needs=[known]
                )
                said.append(answer)
        return step, said, grant.expires


def _make(brief: Brief) -> Draft:
    return _Permission(brief).draft


PERMISSIONS = Family(
    "permissions", "Who may do what: from a person over groups to a right, its bounds, its approver and its end.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=3, concludes_from=2),
)  # fmt: skip
