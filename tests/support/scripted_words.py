"""What a scripted model says of tools: values for arguments, and sentences in English and Chinese."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from random import Random
from typing import Any, cast

__all__ = [
    "MARKS",
    "TELLING",
    "Doc",
    "chance",
    "is_free",
    "leaves",
    "sentence",
    "told_part",
    "value_for",
    "words",
]

Doc = dict[str, Any]

MARKS: Mapping[str, Mapping[str, str]] = {
    "incoherent": {
        "en": "Besides, cut my hair and repaint the moon.",
        "zh": "另外请给我理发,再把月亮刷成蓝色。",
    },
    "other_intent": {
        "en": "Forget all of that and tell me a joke instead.",
        "zh": "算了,这些都不要了,给我讲个笑话吧。",
    },
    "low_question_quality": {
        "en": "Or whatever, the usual thing.",
        "zh": "或者随便弄弄,反正照旧。",
    },
    "low_scenario_realism": {
        "en": "My robot twin wants it for no reason.",
        "zh": "我的机器人分身毫无理由地想要这个。",
    },
    "low_tool_necessity": {
        "en": "I know all of it by heart already.",
        "zh": "其实这些我早就背下来了。",
    },
}
"""By the reason for which a judge that reads the sentence refuses: nothing else of a text tells him."""
TELLING: Mapping[str, tuple[str, str]] = {
    "en": ("What I can tell: ", ". That is all there is."),
    "zh": ("我知道的情况是:", "。就这些了。"),
}
"""Between these stand the values that a text tells."""
_EN_WORDS = """
    baker sailor teacher gardener nurse farmer driver painter tailor plumber mason weaver cobbler potter
    brewer miller harvest wedding picnic concert voyage market lecture festival reunion errand
    rehearsal breakfast
    meadow river attic village orchard cellar bridge lighthouse chapel quarry stable tunnel valley
    blanket kettle lantern ladder basket saddle violin compass barrel anchor hammer needle pencil ribbon
    yesterday tonight tomorrow soon quietly gladly hastily patiently carefully seldom often nearly almost
    cousin neighbour uncle grandmother colleague landlord captain apprentice stranger visitor guest twin
"""
_ZH_WORDS = """
    面包师 水手 老师 园丁 护士 农民 司机 画家 裁缝 木匠 婚礼 野餐 音乐会 旅行 集市 讲座 节日 聚会 排练 早餐
    草地 河边 阁楼 村庄 车站 果园 地窖 大桥 灯塔 山谷 毯子 水壶 灯笼 梯子 篮子 小提琴 指南针 木桶 锤子 铅笔
    昨天 今晚 明天 很快 悄悄 高兴 匆忙 耐心 小心 难得 表弟 邻居 叔叔 祖母 同事 房东 船长 学徒 客人 双胞胎
"""
_EN, _ZH = _EN_WORDS.split(), _ZH_WORDS.split()
_FORMS = {
    "en": (
        "For the {} of my {} near the {} I, a {}, {} need this for a {} with a {} and a {}, and {} a {}"
        " waits by the {}."
    ),
    "zh": (
        "我是{},为了{}旁边的{},想要{}把这件事办好,还要带上{}和{},因为{}的{}在{}等着{},非常感谢你的帮助。"
    ),
}
_MAX_DEPTH = 6
_IDS = frozenset({"id", "uuid", "guid"})


def chance(*of: object) -> Random:
    """A stream of random numbers that follows from what it is for."""
    return Random(sha256(json.dumps(of, default=str).encode()).hexdigest())  # noqa: S311


def words(name: str) -> list[str]:
    """The words of a name, small."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9\u0080-\uffff]+", spaced) if word]


def sentence(language: str, *of: object) -> str:
    """A sentence about nothing, in words that another seed does not give."""
    drawn = chance(language, *of)
    form = _FORMS[language]
    return form.format(*drawn.sample(_ZH if language == "zh" else _EN, form.count("{}")))


def told_part(text: str) -> str:
    """The part of a text that tells values."""
    for before, after in TELLING.values():
        if before in text and after in text:
            return text.split(before, 1)[1].rsplit(after, 1)[0]
    return ""


def is_free(schema: Doc) -> bool:
    """True where nobody has to be told a value."""
    kinds = schema.get("type")
    return kinds == "boolean" or "const" in schema or schema.get("default") is not None


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers of a value."""
    match value:
        case dict():
            for member in cast("Doc", value).values():
                yield from leaves(member)
        case list():
            for member in cast("Sequence[Any]", value):
                yield from leaves(member)
        case bool() | None:
            pass
        case _:
            yield str(value)


def value_for(name: str, schema: Any, root: Doc, depth: int = 0) -> Any:
    """A value that a schema is likely to take; the same for the same name and schema."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "amber 48"
    found = _resolved(cast("Doc", schema), root)
    named = [found.get("default"), found.get("const"), *(found.get("enum") or ())]
    known = [value for value in named if value is not None]
    return known[0] if known else _made_for(name, found, root, depth)


def _made_for(name: str, schema: Doc, root: Doc, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((k for k in cast("list[str]", kind) if k != "null"), "string")
    match kind:
        case "integer" | "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum", 2) + 1)
            high = schema.get("maximum", schema.get("exclusiveMaximum", low + 40) - 1)
            return chance("value", name).randint(
                int(low), max(int(low), min(int(high), int(low) + 40))
            )
        case "boolean":
            return True
        case "array":
            inner = value_for(name, schema.get("items", {}), root, depth + 1)
            return [inner] * max(1, int(schema.get("minItems", 1)))
        case "object":
            members: Doc = schema.get("properties") or {}
            needed = [n for n in schema.get("required") or () if n in members]
            return {n: value_for(n, members[n], root, depth + 1) for n in needed}
        case _:
            return _text_for(name, schema, chance("value", name))


def _resolved(schema: Doc, root: Doc) -> Doc:
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found: Any = root
        for step in reference.split("/")[1:]:
            found = cast("Doc", found).get(step, {}) if isinstance(found, dict) else {}
        return cast("Doc", found)
    for word in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(word)
        if isinstance(branches, list) and branches and "type" not in schema:
            known = [b for b in cast("list[Doc]", branches) if b.get("type") != "null"]
            return {**schema, **_resolved(known[0], root)} if known else schema
    return schema


def _text_for(name: str, schema: Doc, drawn: Random) -> str:
    number = drawn.randint(1200, 9800)
    last = (words(name) or [""])[-1]
    form = str(schema.get("format", ""))
    if form in ("date", "date-time") or last in ("date", "day"):
        day = f"2031-05-{drawn.randint(10, 28)}"
        return f"{day}T09:30:00Z" if form == "date-time" else day
    if form == "email" or last in ("email", "mail"):
        return f"mara{number}@example.org"
    if form in ("uri", "url") or last in ("url", "uri", "link"):
        return f"https://example.org/page-{number}"
    if form == "uuid" or last in ("uuid", "guid"):
        return f"{number}abcd-1234-4abc-8abc-{number}abcd{number}"
    if last in _IDS:
        return f"KX-{number}"
    text = f"{drawn.choice(_EN)} {drawn.choice(_EN)} {number}"
    return text[: int(schema.get("maxLength") or len(text))]
