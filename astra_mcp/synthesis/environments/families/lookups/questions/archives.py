"""Questions of the family ``archives``: how people ask for documents and where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.lookups.themes.archives import Theme
from astra_mcp.synthesis.environments.families.phrases import listed, with_article

__all__ = ["Questions"]


def _last(name: str) -> str:
    return name.rpartition(" ")[2]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    house: str
    theme: Theme
    last: tuple[str, ...]
    """What is asked in the end."""
    is_newer: bool
    """Whether it is asked of what replaced the documents that are named."""

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def asked(self, named: Sequence[tuple[str, str]]) -> str:
        """The question about documents, each with the author of the one it cites where that is asked about."""
        meant = [document for document, _ in named]
        authors = [author for _, author in named if author]
        if self._layout.depth == 1:
            return self._of_numbers(listed(meant, self.draft.brief.language))
        if not authors:
            return self._of_places("", self._replaced(meant) if self.is_newer else self._all(meant))
        return self._of_places(*(self._cited_zh if self._is_zh else self._cited)(meant, authors))

    @property
    def _is_zh(self) -> bool:
        return self.draft.brief.language == "zh"

    def _all(self, several: Sequence[str]) -> str:
        return listed(several, self.draft.brief.language)

    def _replaced(self, meant: Sequence[str]) -> str:
        """What replaced documents."""
        if self._is_zh:
            these = f"这两{self.theme.counter}" if len(meant) > 1 else ""
            return f"{self._all(meant)}{these}的新版"
        noun = self.theme.document[0] if len(meant) == 1 else self.theme.plural
        return f"the {noun} that replaced {self._all(meant)}"

    def _cited(self, meant: Sequence[str], authors: Sequence[str]) -> tuple[str, str]:
        """A sentence that says what cites documents, and these documents."""
        one, cites = with_article(self.theme.document[0]), self.theme.cites[0]
        link = f"has been replaced by a newer one that {cites}" if self.is_newer else cites
        told = f"{meant[0]} {link} {one} by {authors[0]}"
        if len(meant) == 1:
            return f"{told}. ", f"{_last(authors[0])}'s {self.theme.document[0]}"
        further = f"by one that {cites} {one}" if self.is_newer else f"{cites} one"
        told += f", and {meant[1]} {further} by {authors[1]}. "
        return told, f"{_last(authors[0])}'s and {_last(authors[1])}'s {self.theme.plural}"

    def _cited_zh(self, meant: Sequence[str], authors: Sequence[str]) -> tuple[str, str]:
        document, one, cites = self.theme.document[1], self.theme.counter, self.theme.cites[1]
        link = f"已经有新版了，新版{cites}了" if self.is_newer else f"{cites}了"
        if len(meant) == 1:
            return f"{meant[0]}{link}{authors[0]}的一{one}{document}。", f"{authors[0]}的这{one}"
        if self.is_newer:
            both = self._all([f"{author}的一{one}{document}" for author in authors])
            told = f"{self._all(meant)}都出了新版，新版分别{cites}了{both}。"
            return told, f"{self._all(authors)}的这两{one}"
        told = [f"{m}{link}{a}的一{one}" for m, a in zip(meant, authors, strict=True)]
        return f"{told[0]}{document}，{told[1]}。", f"{self._all(authors)}的这两{one}"

    def _of_numbers(self, them: str) -> str:
        say, house, several = self.draft.say, self.house, self._layout.subjects > 1
        if self._layout.concludes:
            return say(
                f"I'd like the {house} to scan {them} for me. How many pages is that in total? || "
                f"The {house} charges by the page for copies. How many pages do {them} have in total?",
                f"我想请{house}扫描{them}，一共多少页？ || {house}复印按页收费，{them}加起来一共多少页？",
            )
        slip = "numbers do I put on the slips" if several else "number do I put on the slip"
        number = "What are the numbers" if several else "What's the number"
        each = "分别" if several else ""
        return say(
            f"At the {house} I'd like to see {them}. What {slip}? || "
            f"Could you look up the {house}'s number{'s' if several else ''} for {them}? || "
            f"I'm filling in a request form for the {house}. {number} of {them}?",
            f"我想在{house}借阅{them}，申请单上的编号{each}填什么？ || 帮我在{house}查一下{them}的编号。 || "
            f"我要填{house}的借阅单，{them}的编号{each}是多少？",
        )

    def _of_places(self, told: str, them: str) -> str:
        """The question where documents are, after what is told of them."""
        if self._layout.concludes:
            return self._of_first(told, them)
        if "back" in self.last:
            return self._of_loans(told, them)
        say, house = self.draft.say, self.house
        if self._layout.subjects > 1:
            return told + say(
                f"On which shelves at the {house} will I find {them}? || "
                f"I'm going to the {house} for {them}. Which shelves are they on?",
                f"我要去{house}看{them}，分别在哪个架位？ || {them}在{house}分别放在哪个架位？",
            )
        return told + say(
            f"On which shelf at the {house} will I find {them}? || "
            f"I'm at the {house}, looking for {them}. Which shelf is it on?",
            f"我在{house}找{them}，在哪个架位？ || {them}放在{house}的哪个架位？",
        )

    def _of_loans(self, told: str, them: str) -> str:
        say, house, several = self.draft.say, self.house, self._layout.subjects > 1
        is_out, is_due = ("they're", "are they") if several else ("it's", "is it")
        asked, each = f"When {is_due} due back", "分别" if several else ""
        shelved = ""
        if "shelf" in self.last:
            shelves = "which shelves will they" if several else "which shelf will it"
            asked += f", and {shelves} be on then"
            shelved = f"，还回来{each}放在哪个架位"
        return told + say(
            f"I asked the {house} for {them}, but {is_out} out on loan. {asked}? || "
            f"The {house} has lent out {them}. {asked}?",
            f"我想看{them}，{house}说{'都' if several else '已经'}借出去了，{each}应该哪天还{shelved}？ || "
            f"{them}在{house}{'都' if several else ''}被人借走了，{each}哪天到期归还{shelved}？",
        )

    def _of_first(self, told: str, them: str) -> str:
        say, house, one = self.draft.say, self.house, self.theme.counter
        return told + say(
            f"I asked the {house} for {them}, but they're out on loan. Which is due back first, and when? || "
            f"The {house} has lent out {them}. Which can I expect back first, and on what date?",
            f"我想看{them}，{house}说都借出去了，哪{one}先到期，是哪天？ || "
            f"{them}在{house}都被人借走了，哪{one}先到期归还，是哪天？",
        )
