"""Themes of the family ``ledgers``: whose money goes where."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["CURRENCIES", "LEDGER_THEMES", "LedgerTheme", "LedgerWording"]

Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LedgerTheme:
    """Whose money goes where; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who keep such a ledger end in."""
    parties: tuple[tuple[str, ...], tuple[str, ...]] | None
    """What the names of the other side end in; None where they are people."""
    about: Words
    event: Words
    """One payment, of ``{who}`` and ``{when}``."""
    events: Words
    """Several payments, of ``{whom}``."""
    rest: Words
    """What is asked about what is left, as part of a sentence."""
    number: Words
    """What people call the number of an entry."""
    nouns: str
    """What code calls an entry."""
    sides: str
    """What code calls the other side."""
    left: str
    """What code calls what is left."""


LEDGER_THEMES = (
    LedgerTheme(
        Domain.FINANCE,
        (("Instruments", "Joinery", "Print Works"), ("仪器厂", "家具厂", "印务公司")),
        (("Supply", "Steel", "Timber", "Packaging"), ("钢材公司", "木业公司", "包装厂", "五金公司")),
        ("payments to suppliers", "供应商付款"),
        ("our payment to {who} {when}||the money we sent {who} {when}", "{when}付给{who}的货款||我们{when}打给{who}的货款"),
        ("our payments to {whom}", "付给{whom}的货款"),
        ("how much of the invoice is still open", "发票还有多少没结清"),
        ("voucher number", "凭证号"), "voucher|payment_entry|journal_entry", "supplier|vendor|creditor", "open_amount|unpaid_part|left_open",
    ),
    LedgerTheme(
        Domain.REAL_ESTATE,
        (("Lettings", "Holiday Homes", "Apartments"), ("公寓", "民宿", "度假屋")),
        None,
        ("payments of guests", "房客付款"),
        ("the deposit that {who} paid us {when}||the deposit we received from {who} {when}", "{who}{when}交的押金"),
        ("the deposits we received from {whom}", "{whom}交的押金"),
        ("how much rent is still due for the stay", "还欠多少房费"),
        ("receipt number", "收据号"), "receipt|deposit_receipt|guest_receipt", "guest|tenant|lodger", "rent_due|due_amount|rent_left",
    ),
    LedgerTheme(
        Domain.HUMAN_RESOURCES,
        (("Consulting", "Surveyors", "Film Crew"), ("咨询公司", "测绘院", "设计院")),
        None,
        ("travel expenses of staff", "差旅报销"),
        ("the hotel bill that {who} handed in {when}||the hotel bill handed in by {who} {when}", "{who}{when}交的住宿发票||{when}{who}提交的酒店账单"),
        ("the hotel bills handed in by {whom}", "{whom}交的住宿发票"),
        ("how much do we still have to reimburse for the trip", "那趟出差还有多少没报销"),
        ("claim number", "报销单号"), "claim|expense_claim|expense_item", "employee|traveller|colleague", "to_refund|claim_left|unrefunded",
    ),
    LedgerTheme(
        Domain.E_COMMERCE,
        (("Outfitters", "Books", "Ceramics"), ("服饰旗舰店", "书店", "陶瓷馆")),
        None,
        ("refunds to customers", "顾客退款"),
        ("the refund we made to {who} {when}||the refund we gave {who} {when}", "{when}退给{who}的款||我们{when}退给{who}的款"),
        ("the refunds we made to {whom}", "退给{whom}的款"),
        ("how much do we still have to refund for the order", "订单还有多少没退"),
        ("refund number", "退款单号"), "refund|refund_note|credit_note", "customer|buyer|shopper", "not_refunded|refund_left|still_to_refund",
    ),
    LedgerTheme(
        Domain.EDUCATION,
        (("Language School", "Music Academy", "Summer College"), ("语言学校", "音乐学院", "国际学校")),
        None,
        ("course fees", "学费收款"),
        ("the course fee that {who} paid {when}||the course fee we got from {who} {when}", "{who}{when}交的学费"),
        ("the course fees paid by {whom}", "{whom}交的学费"),
        ("how much is still unpaid for this term", "这学期还差多少没交"),
        ("slip number", "缴费单号"), "fee_slip|payment_slip|fee_record", "student|pupil|learner", "term_balance|unpaid_fee|fee_left",
    ),
    LedgerTheme(
        Domain.LOGISTICS,
        (("Imports", "Wholesale", "Trading Post"), ("进出口公司", "批发部", "外贸公司")),
        (("Shipping", "Freight", "Haulage", "Air Cargo"), ("航运", "货代", "物流", "空运")),
        ("freight bills", "运费账目"),
        ("the freight charge we paid {who} {when}||the freight charge from {who} that we settled {when}", "{when}付给{who}的运费||我们{when}结给{who}的运费"),
        ("the freight charges we paid to {whom}", "付给{whom}的运费"),
        ("how much do we still owe for the shipment", "那批货还有多少运费没结"),
        ("posting number", "记账号"), "freight_posting|freight_bill|posting", "carrier|forwarder|shipper", "unsettled|freight_left|open_freight",
    ),
    LedgerTheme(
        Domain.MUSIC_AND_AUDIO,
        (("Records", "Music Publishing", "Sound Library"), ("唱片公司", "音乐版权公司", "音乐工作室")),
        None,
        ("royalties of artists", "版税支付"),
        ("the royalty payment {who} got {when}||our royalty payment to {who} {when}", "{when}付给{who}的版税||{who}{when}收到的版税"),
        ("our royalty payments to {whom}", "付给{whom}的版税"),
        ("how much in royalties is still to be paid out", "还有多少版税没付"),
        ("statement number", "结算单号"), "royalty_line|royalty_statement|payout", "artist|composer|songwriter", "royalty_left|not_paid_out|still_owed",
    ),
)  # fmt: skip

CURRENCIES = {
    "EUR": (1_000_000, "euros", "欧元"), "GBP": (1_164_000, "pounds", "英镑"), "USD": (918_000, "US dollars", "美元"),
    "CHF": (1_042_000, "Swiss francs", "瑞士法郎"), "CNY": (127_400, "Chinese yuan", "人民币"), "CAD": (664_000, "Canadian dollars", "加元"),
    "AUD": (598_000, "Australian dollars", "澳元"), "SGD": (684_000, "Singapore dollars", "新加坡元"), "HKD": (117_800, "Hong Kong dollars", "港元"),
    "SEK": (88_700, "Swedish kronor", "瑞典克朗"), "NOK": (85_900, "Norwegian kroner", "挪威克朗"), "PLN": (233_500, "Polish zloty", "波兰兹罗提"),
}  # fmt: skip
"""Units of a millionth of a euro, and how people call it."""


@dataclass(frozen=True, slots=True)
class LedgerWording:
    """How is asked for payments; ``{it}`` stands for them."""

    draft: Draft
    theme: LedgerTheme
    number: str
    targets: Sequence[str]
    """Currencies that it is asked for in."""

    def called(self, currency: str) -> str:
        """What people call a currency."""
        _, english, chinese = CURRENCIES[currency]
        return chinese if self.is_chinese else english

    def asked(self) -> str:
        """The question without a conclusion."""
        say, layout, number = self.draft.say, self.draft.brief.layout, self.number
        one, rest = layout.subjects == 1, say(*self.theme.rest)
        number = number if one or self.is_chinese else f"{number}s"
        are, each_zh = ("is", "") if one else ("are", "分别")
        if layout.depth == 1:
            return say(
                f"The auditor is asking about {{it}}. What {are} the {number}? || "
                f"I'm filing the papers for {{it}}. What {are} the {number}? || What {are} the {number} for {{it}}?",
                f"审计在问{{it}}，{number}{each_zh}是多少？ || 我在整理单据，{{it}}，{number}{each_zh}是多少？",
            )
        if layout.depth == 2:
            more, more_zh = "", ""
            if layout.facets > 1:
                more = f", and {rest}{'' if one else ' in each case'}"
                more_zh = f"，{'' if one else '各自'}{rest}"
            english = (
                f"I don't have the papers at hand. How much was {{it}}{more}? || How much exactly did {{it}} come to{more}?"
                if one
                else f"I didn't note the exact amounts of {{it}}. What were they{more}? || What were the exact amounts of {{it}}{more}?"
            )
            exactly_zh = "具体" if one else "分别"
            return say(
                english,
                f"手边没有单据，{{it}}{exactly_zh}是多少{more_zh}？ || 帮我查一下，{{it}}{exactly_zh}是多少{more_zh}？",
            )
        into = [self.called(c) for c in self.targets[: layout.facets]]
        return self._wording_in(listed(into, self.draft.brief.language), one=one)

    @property
    def is_chinese(self) -> bool:
        """Whether questions are in Chinese."""
        return self.draft.brief.language == "zh"

    @property
    def larger(self) -> str:
        """What compares two payments, or more than two."""
        if self.draft.brief.layout.subjects == 2:
            return "更" if self.is_chinese else "the larger"
        return "最" if self.is_chinese else "the largest"

    def _wording_in(self, into: str, *, one: bool) -> str:
        if one:
            return self.draft.say(
                f"How much in {into} was {{it}}, at the exchange rate of the day it was booked? || "
                f"For the annual report I need {{it}} in {into}, at the exchange rate of the day it was booked. How much is that?",
                f"{{it}}按入账当天的汇率折合多少{into}？ || 做年报要用，{{it}}按入账当天的汇率折算成{into}是多少？",
            )
        return self.draft.say(
            f"How much in {into} were {{it}}, each at the exchange rate of the day it was booked? || "
            f"For the annual report I need {{it}} in {into}, each at the exchange rate of the day it was booked. What are the amounts?",
            f"{{it}}，按各自入账当天的汇率分别折合多少{into}？ || 做年报要用，{{it}}按各自入账当天的汇率折算成{into}分别是多少？",
        )

    def concluded(self, *, total: bool) -> str:
        """The question for the sum, or for the largest."""
        say, into, larger = self.draft.say, self.called(self.targets[0]), self.larger
        if self.draft.brief.layout.depth == 2:
            if total:
                return say(
                    "How much do {it} add up to? || What is the total of {it}?",
                    "{it}加起来一共是多少？ || 帮我算一下，{it}合计多少？",
                )
            return say(
                f"Which of {{it}} was {larger}? || I'm comparing {{it}}. Which of them was {larger}?",
                f"{{it}}，哪一笔金额{larger}大？ || 帮我看看{{it}}，哪笔{larger}多？",
            )
        if total:
            return say(
                f"How much in {into} do {{it}} add up to, each at the exchange rate of the day it was booked? || "
                f"For the report I need {{it}} as one total in {into}, each at the exchange rate of the day it was booked. What is it?",
                f"{{it}}，按各自入账当天的汇率折算成{into}，一共是多少？ || 做报表要用，{{it}}按各自入账当天的汇率折算成{into}合计多少？",
            )
        return say(
            f"Which of {{it}} was {larger} in {into}, each at the exchange rate of the day it was booked? || "
            f"I'm comparing {{it}}. Which of them was {larger} in {into}, at the exchange rate of the day each was booked?",
            f"{{it}}，按各自入账当天的汇率折算成{into}，哪一笔金额{larger}大？ || 帮我比较一下{{it}}，按各自入账当天的汇率折算成{into}，哪笔{larger}大？",
        )
