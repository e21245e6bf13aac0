"""Archives: a document by author and year, what replaced it, what it cites, where that stands and when it is back."""

import datetime as dt
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle
from typing import Any

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.questions.archives import Questions
from astra_mcp.synthesis.environments.families.lookups.themes.archives import THEMES, Theme
from astra_mcp.synthesis.environments.families.phrases import labelled, with_article

__all__ = ["ARCHIVES"]


def _shelf(mark: str) -> str:
    number = issued(mark, "shelf")
    return "ABCDEFGHKLMNPRST"[number % 16] + f"{number // 16 % 70 + 11}.{number // 1120 % 89 + 10}"


def _days_out(mark: str) -> int:
    number = issued(mark, "loan")
    return 0 if number % 8 == 0 else 3 + number // 8 % 97


@dataclass(frozen=True, slots=True)
class _Document:
    """One row of the archive."""

    author: str
    about: str
    year: int
    pages: int
    newer: str = ""
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject of the question: the marks that its hops lead through."""

    first: str
    newer: str = ""
    cited: str = ""

    @property
    def last(self) -> str:
        """What is asked about in the end."""
        return self.cited or self.newer or self.first


def _make(brief: Brief) -> Draft:
    return copy(_drawn(replace(brief, turn=0))).written(brief)


@lru_cache(maxsize=1)
def _drawn(brief: Brief) -> "_Archive":
    """The world that all turns share."""
    return _Archive(brief, brief.draw("theme").pick(THEMES))


class _Archive:
    """One archive, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.house = self.entities.firms(1, *theme.house[self.zh])[0]
        layout = brief.layout
        hops = (
            ("newer", "cited")
            if layout.depth > 3
            else (brief.draw("hop").pick(["newer", "cited"]),) * (layout.depth == 3)
        )
        self.is_newer, self.is_cited = "newer" in hops, "cited" in hops
        asks_back = layout.concludes or brief.draw("last").chance(1, 2)
        self.last = (
            ("back", "shelf") if layout.facets > 1 else ("back",) if asks_back else ("shelf",)
        )
        self._fill()

    def _ask_about(self, brief: Brief) -> None:
        """Take up the subjects of one question.

        Raises:
            DrawError: Two of them have an answer or a label in common.
        """
        self.brief = brief
        self.asked = brief.asked(self.chosen)
        self.answers = [self._answers_of(asked) for asked in self.asked]
        self.labels = [self._label(asked) for asked in self.asked]
        told = [*(a for answers in self.answers for a in answers), *self.labels]
        if self.is_cited:
            people = [self.rows[m].author for a in self.asked for m in (a.first, a.cited)]
            told += people if self.zh else [name.rpartition(" ")[2] for name in people]
        if len(told) > len({*told}):
            raise DrawError("two subjects of the question have an answer in common")
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)

    def written(self, brief: Brief) -> Draft:
        """The draft with its texts, tools and sub-tasks."""
        self._ask_about(brief)
        say, document = self.draft.say, self.theme.document[self.zh]
        self.draft.title = self.house
        self.draft.description = say(
            f"The {self.theme.plural} kept by the {self.house}: what replaced them, what they cite, and where they are.",
            f"{self.house}馆藏{document}的新版、引用文献、架位和借阅情况。",
        )
        self._name()
        self._write_data()
        self._tools()
        ids = [
            self._follow(a, answers) for a, answers in zip(self.asked, self.answers, strict=True)
        ]
        self._ask(ids)
        return self.draft

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        draw, wanted = self.draw, self.brief.subjects
        count = max(self.brief.knobs.records, 10 + 6 * wanted)
        authors = self.entities.people(max(8, count // 4) + wanted)
        own, self.authors = authors[:wanted], authors[wanted:]
        self.places = self.entities.places(min(max(6, count // 10), 120))
        self.pages = cycle(draw.shuffled(range(104, 690)))
        rows: list[_Document] = []
        starts: list[int] = []
        for author in own:
            starts.append(len(rows))
            rows += self._near(self._drawn(author))
        near = len(rows)
        while len(rows) < max(count * 2 // 3, near + wanted + 6):
            rows.append(self._drawn(self.authors[len(rows) % len(self.authors)]))
        has_newer = [*dict.fromkeys([*starts, *(n for n in range(len(rows)) if draw.chance(1, 2))])]
        newer = [self._revised(rows[n]) for n in has_newer]
        replaced = [len(rows) + place for place in range(len(newer))]
        marks = self._marks(len(rows) + len(newer), [*starts, *replaced[:wanted]])
        by = {n: marks[place] for n, place in zip(has_newer, replaced, strict=True)}
        rows = [replace(r, newer=by.get(n, "")) for n, r in enumerate(rows)] + newer
        self._cite(dict(zip(marks, rows, strict=True)), [marks[n] for n in starts])

    def _marks(self, count: int, asked: list[int]) -> list[str]:
        """A mark for each row; what may be asked about in the end is out on loan."""
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        marks = self.entities.codes(f"{letters} ##.###", count + len(asked) // 2 + 9)
        lent = dict(zip(asked, filter(_days_out, marks), strict=False))
        taken = {*lent.values()}
        free = iter([m for m in marks if m not in taken])
        return [lent[n] if n in lent else next(free) for n in range(count)]

    def _drawn(self, author: str) -> _Document:
        draw = self.draw
        about = draw.pick(self.theme.subjects)[self.zh].replace("PLACE", draw.pick(self.places))
        return _Document(author, about, draw.between(1962, 2009), next(self.pages))

    def _near(self, meant: _Document) -> list[_Document]:
        """A document that is meant, and others that agree with it in all but one mark."""
        found, draw = [meant], self.draw
        near = self.brief.knobs.near_misses
        while len(found) < 3 + near:
            other = self._drawn(meant.author)
            match len(found) % 3:
                case 1:
                    other = replace(other, year=meant.year)
                case 2:
                    other = replace(other, year=meant.year + 1 + draw.below(9))
                case _:
                    other = replace(
                        other,
                        author=self.entities.relatives(meant.author, 1)[0],
                        about=meant.about,
                        year=meant.year,
                    )
            if other.about != meant.about or other.author != meant.author:
                found.append(other)
        return found

    def _revised(self, row: _Document) -> _Document:
        author = self.draw.pick(self.authors)
        if author == row.author:
            author = self.authors[self.authors.index(author) - 1]
        return _Document(
            author,
            row.about,
            row.year + self.draw.between(3, 14),
            next(self.pages),
        )

    def _cite(self, rows: dict[str, _Document], starts: list[str]) -> None:
        """Let documents cite others; what is asked for is cited only where the question leads."""
        draw, marks = self.draw, [*rows]
        chained = {*starts, *(rows[s].newer for s in starts)}
        others = {*self.authors}
        lent = [m for m in marks if rows[m].author in others and _days_out(m) and m not in chained]
        targets = draw.some(lent, len(starts))
        cited = {*targets}
        free = [m for m in marks if m not in cited]
        cites = {m: [f for f in draw.some(free, 4) if f != m][: draw.between(2, 3)] for m in marks}
        self.chosen = [
            _Asked(s, rows[s].newer if self.is_newer else "", t if self.is_cited else "")
            for s, t in zip(starts, targets, strict=True)
        ]
        for asked in self.chosen:
            if asked.cited:
                source = asked.newer or asked.first
                kept = [m for m in cites[source] if rows[m].author != rows[asked.cited].author]
                cites[source] = draw.shuffled([*kept, asked.cited])
        order = draw.shuffled(marks)
        self.rows = {m: replace(rows[m], cites=tuple(cites[m])) for m in order}

    def _write_data(self) -> None:
        rows = {
            m: [r.author, r.about, r.year, r.pages, r.newer, [*r.cites]]
            for m, r in self.rows.items()
        }
        self.draft.data(
            "HOLDINGS",
            {m: row[: 4 if self.brief.layout.depth < 3 else 6] for m, row in rows.items()},
        )
        if self.brief.layout.depth > 1:
            self.draft.data("TODAY", self.calendar.today.isoformat())
            self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
            for name, function in (("back", _days_out), ("shelf", _shelf)):
                if name in self.last:
                    self.draft.code(source_of(function))

    def _back(self, mark: str) -> str:
        return (self.calendar.today + dt.timedelta(days=_days_out(mark))).isoformat()

    def _answers_of(self, asked: _Asked) -> list[str]:
        """What the sub-tasks of a subject find, in order."""
        if self.brief.layout.depth == 1:
            pages = f"{self.rows[asked.first].pages} {'页' if self.zh else 'pages'}"
            return [pages if self.brief.layout.concludes else asked.first]
        hops = [m for m in (asked.first, asked.newer, asked.cited) if m]
        return hops + [
            self._back(asked.last) if name == "back" else _shelf(asked.last) for name in self.last
        ]

    # --- tools --------------------------------------------------------------------------------------------------

    def _name(self) -> None:
        self.draft.name(
            doc=self.theme.documents, mark=self.theme.mark, author=self.theme.author, year="year|published|year_of_issue",
            word="title_word|keyword|containing", order="sort|order|sort_by",
            find="find_$doc|search_$doc|${doc}_by_author", newer="newer_$doc|replacement_of_$doc|successor_of_$doc",
            cites="cited_in_$doc|references_of_$doc|list_citations",
            back="${doc}_loan|loan_status|due_back", shelf="shelf_of_$doc|locate_$doc|${doc}_location",
        )  # fmt: skip

    def _unknown(self) -> str:
        document = self.theme.document[self.zh]
        said = self.draft.say(
            f"No {document} has the number {{$mark!r}}; $find gives the numbers.", f"没有编号为{{$mark}}的{document}；编号可由 $find 查得。"
        )  # fmt: skip
        return f'if $mark not in HOLDINGS:\n                    raise ValueError(f"{said}")'

    def _tools(self) -> None:
        say, document, mark = self.draft.say, self.theme.document[self.zh], {"$mark": self._code()}
        one = self.theme.counter
        self._find_tool()
        if self.is_newer:
            self.newer = self.draft.tool(
                "$newer", say(f"Tell which newer {document} has replaced one.", f"查询某{one}{document}的新版。"), mark,
                f"""
                {self._unknown()}
                newer = HOLDINGS[$mark][4]
                if not newer:
                    return {{"$mark": $mark, "state": "{say("still current, not replaced", "没有新版")}"}}
                return {{"replaced": $mark, "by": newer, "$author": HOLDINGS[newer][0], "$year": HOLDINGS[newer][2]}}
                """,
            )  # fmt: skip
        if self.is_cited:
            self.cites = self.draft.tool(
                "$cites", say(f"List what {with_article(document)} {self.theme.cites[0]}.", f"列出某{one}{document}{self.theme.cites[1]}的文献。"), mark,
                f"""
                {self._unknown()}
                return {{"$doc": $mark, "cites": [{{"$mark": m, "$author": HOLDINGS[m][0], "title": HOLDINGS[m][1]}} for m in HOLDINGS[$mark][5]]}}
                """,
            )  # fmt: skip
        if self.brief.layout.depth > 1:
            self._last_tools(mark)

    def _last_tools(self, mark: dict[str, Any]) -> None:
        say, document, one = self.draft.say, self.theme.document[self.zh], self.theme.counter
        self.ends: dict[str, str] = {}
        if "back" in self.last:
            self.ends["back"] = self.draft.tool(
                "$back", say(f"Tell whether {with_article(document)} is out on loan, and when it is due back.", f"查询某{one}{document}是否借出以及应还日期。"), mark,
                f"""
                {self._unknown()}
                days = _days_out($mark)
                if not days:
                    return {{"$mark": $mark, "state": "{say("not on loan", "在馆")}"}}
                due = datetime.date.fromisoformat(TODAY) + datetime.timedelta(days=days)
                return {{"$mark": $mark, "state": "{say("on loan", "已借出")}", "due": due.isoformat()}}
                """,
            )  # fmt: skip
        if "shelf" in self.last:
            self.ends["shelf"] = self.draft.tool(
                "$shelf", say(f"Tell which shelf {with_article(document)} is kept on.", f"查询某{one}{document}的架位。"), mark,
                f"""
                {self._unknown()}
                return {{"$mark": $mark, "shelf": _shelf($mark)}}
                """,
            )  # fmt: skip

    def _find_tool(self) -> None:
        say, options, document = (
            self.draft.say,
            self.brief.knobs.options,
            self.theme.document[self.zh],
        )
        extra = {
            "$order": {"type": "string", "enum": ["pages", "pages_desc"], "description": say("Order of the result.", "结果排序。")},
            "$word": {"type": "string", "minLength": 2, "description": say("Only titles that contain this.", "标题须包含的词。")},
        }  # fmt: skip
        used = dict([*extra.items()][:options])
        ordered = (
            "\nif $order:\n    found.sort(key=lambda f: f[1][3], reverse=$order.endswith('desc'))"
        )
        narrowed = "\nif $word is not None:\n    found = [(m, r) for m, r in found if $word.casefold() in r[1].casefold()]"
        self.find = self.draft.tool(
            "$find", say(f"Find somebody's {self.theme.plural} of one year.", f"按作者和年份查找{document}。"),
            {"$author": {"type": "string", "minLength": 2, "description": say("Full name.", "姓名全称。")},
             "$year": {"type": "integer", "minimum": 1900, "maximum": 2030}, **used},
            """
            wanted = $author.strip().casefold()
            found = [(m, r) for m, r in HOLDINGS.items() if r[0].casefold() == wanted and r[2] == $year]
            """ + ("" if not options else ordered if options == 1 else narrowed + ordered).replace("\n", "\n            ") + f"""
            if not found:
                raise ValueError(f"{say("Nothing by {$author!r} from {$year} is kept here; give the full name and the year.", "没有{$author}{$year}年的馆藏；请提供姓名全称和正确的年份。")}")
            return {{"$author": found[0][1][0], "found": [{{"$mark": m, "title": r[1], "pages": f"{{r[3]}} {say("pages", "页")}"}} for m, r in found]}}
            """,
            optional=[*used],
        )  # fmt: skip
        self._show_options(options)

    def _show_options(self, options: int) -> None:
        """Calls in which each option changes the result."""
        meant = self.rows[self.asked[0].first]
        same = [r for r in self.rows.values() if (r.author, r.year) == (meant.author, meant.year)]
        pages = [r.pages for r in same]
        given: dict[str, Any] = {"$author": meant.author, "$year": meant.year}
        if options:
            self.draft.example(
                "$find", **given, **{"$order": "pages_desc" if pages == sorted(pages) else "pages"}
            )
        if options > 1:
            self.draft.example("$find", **given, **{"$word": meant.about})

    def _code(self) -> dict[str, str]:
        return {"type": "string", "pattern": f"^{self.asked[0].first[:2]} [0-9]{{2}}\\.[0-9]{{3}}$"}

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked, answers: list[str]) -> int:
        """The sub-tasks of one subject; gives the last of those that answer the question first."""
        say, row, layout = self.draft.say, self.rows[asked.first], self.brief.layout
        authors = [r.author for r in self.rows.values() if r.year == row.year] + self.authors
        years = [r.year for r in self.rows.values() if r.author == row.author] + [
            r.year for r in self.rows.values()
        ]
        meant, document = self._meant(asked), self.theme.document[self.zh]
        last = self.draft.solve(
            say(f"How many pages does {meant} have?", f"{meant}有多少页？") if layout.concludes and layout.depth == 1
            else say(f"What is the number of {meant}?", f"{meant}的编号是多少？"),
            answers[0], self.find, {"$author": key(row.author, authors), "$year": key(row.year, years)},
        )  # fmt: skip
        if layout.depth == 1:
            return last
        marks = [m for m, r in self.rows.items() if r.newer] + [*self.rows]
        if asked.newer:
            last = self.draft.solve(
                say(f"What is the number of the {document} that replaced it?", "它的新版编号是多少？"),
                asked.newer, self.newer, {"$mark": key(asked.first, marks)}, needs=[last],
            )  # fmt: skip
        if asked.cited:
            author, (cites, zh_cites) = self.rows[asked.cited].author, self.theme.cites
            last = self.draft.solve(
                say(f"What is the number of the {document} by {author} that it {cites}?", f"它{zh_cites}的{author}那{self.theme.counter}{document}编号是多少？"),
                asked.cited, self.cites, {"$mark": key(asked.newer or asked.first, [*self.rows])}, needs=[last],
            )  # fmt: skip
        questions = {
            "back": say("When is it due back?", "应该哪天归还？"),
            "shelf": say("Which shelf is it on?", "放在哪个架位？"),
        }
        ends = [
            self.draft.solve(
                questions[name],
                answer,
                self.ends[name],
                {"$mark": key(asked.last, [*self.rows])},
                needs=[last],
            )
            for name, answer in zip(self.last, answers[-len(self.last) :], strict=True)
        ]
        return ends[0]

    # --- question -----------------------------------------------------------------------------------------------

    def _meant(self, asked: _Asked) -> str:
        """The document from which the hops of a subject begin."""
        row, document = self.rows[asked.first], self.theme.document[self.zh]
        draw, made = self.brief.draw("meant", self.brief.turn), self.theme.made[self.zh]
        if self.zh:
            done = draw.pick(["", made])
            return f"{row.author}{row.year}年{done}的{row.about}{document}"
        about = f"{document} {self.theme.on} {row.about}"
        is_plain = self.brief.layout.subjects == 1 and self.brief.layout.depth < 3
        if is_plain and draw.chance(1, 2):
            return f"the {about} that {row.author} {made} in {row.year}"
        return f"{row.author}'s {row.year} {about}"

    def _label(self, asked: _Asked) -> str:
        """What the answer calls a subject."""
        if not asked.cited:
            return self.rows[asked.first].about
        author, document = self.rows[asked.cited].author, self.theme.document[self.zh]
        return f"{author}的{document}" if self.zh else f"{author}'s {document}"

    def _ask(self, ids: list[int]) -> None:
        asks = Questions(self.draft, self.house, self.theme, self.last, self.is_newer)
        self.draft.question = asks.asked(
            [(self._meant(a), self.rows[a.cited].author if a.cited else "") for a in self.asked]
        )
        finals = [a[-self.brief.layout.facets :] for a in self.answers]
        if self.brief.layout.concludes:
            self._conclude(finals, ids)
            return
        self.draft.answer = labelled(self.labels, finals, self.brief.language)

    def _conclude(self, finals: list[list[str]], ids: list[int]) -> None:
        say = self.draft.say
        if self.brief.layout.depth == 1:
            total = sum(int(final[0].split()[0]) for final in finals)
            self.draft.answer = say(f"{total} pages", f"{total} 页")
            asked = say("How many pages is that in total?", "一共多少页？")
        else:
            first = min(range(len(finals)), key=lambda n: finals[n][0])
            comma = "，" if self.zh else ", "
            self.draft.answer = f"{self.labels[first]}{comma}{finals[first][0]}"
            asked = say("Which is due back first?", f"哪{self.theme.counter}先到期？")
        self.draft.conclude(asked, self.draft.answer, ids)


ARCHIVES = Family(
    "archives", "Documents that are found by author and year, replaced, cited, kept somewhere and lent.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=2),
)  # fmt: skip
