"""What a tool does to what: read off its name, its parameters and the first words of its description.

``get_order``, ``orders.get`` and ``fetchOrder`` read alike. Names are read as English; descriptions as
English or Chinese. A guess, and the same for the same documents; knows nothing of what exists.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from astra_mcp.types import ToolSpec
from astra_mcp.values.nouns import MASS, is_plural, key_of, singular, words_of
from servers.emulated.parameters import Parameter, Role, key_suffix, parameters_of

__all__ = ["ToolReading", "Verb", "read_tools"]


class Verb(StrEnum):
    """What a tool does to the entities of its noun."""

    LIST = "list"
    """Gives many of them, all or those that fit some fields."""
    SEARCH = "search"
    """Gives those that fit words."""
    GET = "get"
    """Gives one, or one fact."""
    CREATE = "create"
    """Makes one that was not there."""
    UPDATE = "update"
    """Changes one; also what sets a state, such as ``close``."""
    DELETE = "delete"
    """Takes one away."""
    OTHER = "other"
    """Anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReading:
    """What a tool is taken for."""

    verb: Verb
    word: str
    """The verb as it stands in the name, such as ``fetch``; empty where there is none."""
    noun: str | None
    """Singular, in lower case, words joined by ``_``; None where it is unclear."""
    is_many: bool
    """The name speaks of several."""
    id_parameter: str | None
    """The argument that names one entity of the noun, or several in a list."""
    state: str | None = None
    """What an update sets that has no argument for it, such as ``closed``."""
    parameters: tuple[Parameter, ...] = ()
    references: Mapping[str, str]
    """Parameter to the noun of the same server whose entities it names; the own one is not among them."""

    def parameter(self, role: Role) -> Parameter | None:
        """The first parameter of a role."""
        for parameter in self.parameters:  # for each call, several times
            if parameter.role is role:
                return parameter
        return None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final[Mapping[Verb, str]] = {
    Verb.LIST: "list ls browse enumerate",
    Verb.SEARCH: "search find query filter discover",
    Verb.GET: "get fetch read show retrieve view describe load display inspect lookup recall",
    Verb.CREATE: "create add new insert register append make post remember memorize",
    Verb.UPDATE: "update edit modify set patch change put rename replace adjust move assign mark"
    " toggle upsert save store write configure revise amend alter",
    Verb.DELETE: "delete remove destroy drop erase del rm purge unregister clear trash discard forget",
}
_VERBS: Final = {word: verb for verb, words in _WORDS.items() for word in words.split()}
_STATES: Final = {
    "cancel": "cancelled", "close": "closed", "reopen": "open", "archive": "archived",
    "unarchive": "active", "restore": "active", "complete": "completed", "finish": "completed",
    "approve": "approved", "reject": "rejected", "enable": "enabled", "disable": "disabled",
    "activate": "active", "deactivate": "inactive", "pause": "paused", "resume": "active",
    "start": "running", "stop": "stopped", "lock": "locked", "unlock": "unlocked",
    "suspend": "suspended", "publish": "published", "unpublish": "draft", "resolve": "resolved",
    "decline": "declined", "accept": "accepted", "merge": "merged", "dismiss": "dismissed",
    "acknowledge": "acknowledged", "ack": "acknowledged", "mute": "muted", "unmute": "active",
    "snooze": "snoozed", "revoke": "revoked", "block": "blocked", "unblock": "active",
    "ban": "banned", "hide": "hidden", "confirm": "confirmed", "deprecate": "deprecated",
}  # fmt: skip
_SHOWING: Final = (Verb.LIST, Verb.SEARCH, Verb.GET)
_CHANGING: Final = (Verb.CREATE, Verb.UPDATE, Verb.DELETE)
_MAKERS: Final = _words(
    "send submit book schedule upload import generate clone copy duplicate fork invite log reply"
    " place start launch open record buy order reserve draft publish deploy"
)
"""Make an entity where the server shows or deletes such ones too."""
_ACTS: Final = _words(
    "execute run calculate convert compute generate analyze analyse check validate verify test compare"
    " summarize translate extract scrape crawl navigate click press type scroll wait hover drag play"
    " connect disconnect install restart reset refresh sync login logout authenticate subscribe"
    " unsubscribe follow unfollow like merge push pull commit checkout build compile deploy execute"
    " invoke trigger process parse transcribe render download export ingest index estimate predict"
    " solve ask chat notify share transfer swap buy sell snipe stake claim mint burn trade request"
    " initialize optimize format lint debug count measure evaluate score rank rate monitor scan detect"
)
"""Do something else; what follows them is a noun all the same."""
_KEEPERS: Final = _words("save store write put upsert")
"""Make an entity where nothing says which one they change, and the server shows such ones."""
_STORING: Final = _KEEPERS | _words(
    "set add create insert record remember memorize register append post"
)
_REMEMBERING: Final = _words("remember memorize recall")
_STORE_KEYS: Final = _words("key name title slug label topic path id")
"""Under these the caller itself files what it stores."""
_AMBIGUOUS: Final = _words("post log list set query search order file store record view")
"""Also nouns: the last word is the verb where it can only be one."""
_STRONG: Final = _words(
    "get list create update delete add remove fetch edit insert search find retrieve"
)
_SURROUNDINGS: Final = _words(
    "region workspace org organization tenant account team user session chain network"
)
"""Where an entity is, rather than which one it is."""
_REPLIES: Final = _words("comment message post reply")
"""What is made of these may answer another one, which it names."""
_CUTS: Final = _words("by in from for to of with on at via using into as and per within")
_FILLERS: Final = _words(
    "the a an all my our your single new multiple batch bulk current existing available one every"
    " latest recent advanced smart semantic fuzzy"
)
_SUFFIXES: Final = _words(
    "tool api endpoint list details detail info information data all items results"
)
_PARTS: Final = _words("state status content contents body metadata property summary")
"""What is told of a thing, beside what it is."""
_OF_ONE: Final = _words("contents")
"""Plurals of what one thing has."""
_DONE: Final = {
    "complete": "completed",
    "completed": "completed",
    "done": "completed",
    "read": "read",
}
_CHINESE: Final = (
    ("列出", Verb.LIST), ("搜索", Verb.SEARCH), ("查找", Verb.SEARCH), ("检索", Verb.SEARCH),
    ("查询", Verb.GET), ("获取", Verb.GET), ("读取", Verb.GET), ("查看", Verb.GET), ("返回", Verb.GET),
    ("创建", Verb.CREATE), ("新建", Verb.CREATE), ("新增", Verb.CREATE), ("添加", Verb.CREATE),
    ("更新", Verb.UPDATE), ("修改", Verb.UPDATE), ("编辑", Verb.UPDATE), ("设置", Verb.UPDATE),
    ("删除", Verb.DELETE), ("移除", Verb.DELETE),
)  # fmt: skip
_TOLD: Final = 30
"""So much of a description is read for its verb."""
_CRAWLED = re.compile(r"^Deploy Server .*? Try in Playground\s*", re.DOTALL)
_NATURAL_KEYS: Final = (
    "id", "identifier", "uuid", "guid", "key", "slug", "name", "number", "path", "symbol", "ticker",
    "username", "email", "code", "hash", "handle", "title", "url", "login", "file_path", "filename",
)  # fmt: skip


def read_tools(tools: Sequence[ToolSpec]) -> Mapping[str, ToolReading]:
    """Read the tools of one server together: by name.

    A word that most names begin with is no noun; what one tool calls ``command_task`` and another one
    ``task`` is one noun; and parameters refer to nouns that other tools are about.
    """
    prefix = _shared_prefix(tools)
    keys = frozenset(key_of(tool.name) for tool in tools)
    drafts = _named(_paired({tool.name: _draft(tool, prefix, keys) for tool in tools}))
    nouns = _Nouns(drafts.values())
    return {name: _settle(draft, nouns) for name, draft in drafts.items()}


def _named(drafts: Mapping[str, ToolReading]) -> Mapping[str, ToolReading]:
    """Let tools that are a verb alone, such as ``drive_delete(file_id)``, be about what they name.

    Those that name nothing are about what the others of them name, or what most tools are about.
    """
    bare = {
        name: _one_named(draft)
        for name, draft in drafts.items()
        if draft.noun is None and draft.verb is not Verb.OTHER
    }
    named = Counter(noun for noun in bare.values() if noun)
    shown = (d.noun for d in drafts.values() if d.noun and d.verb in _SHOWING)
    others = Counter(noun.rpartition("_")[2] for noun in shown)
    both = named or Counter({noun: n for noun, n in others.items() if n > 1})
    usual = max(both, key=lambda noun: both[noun], default=None)
    return {
        name: replace(draft, noun=bare[name] or usual) if name in bare else draft
        for name, draft in drafts.items()
    }


def _one_named(draft: ToolReading) -> str | None:
    """The noun of the first id that a tool cannot do without."""
    ids = (key_suffix(p.key)[0] for p in draft.parameters if p.is_required)
    return next((noun for noun in ids if noun and noun not in _SURROUNDINGS), None)


class _Nouns:
    """The nouns that the tools of one server are about."""

    def __init__(self, drafts: Iterable[ToolReading]) -> None:
        named = [d for d in drafts if d.noun and d.verb is not Verb.OTHER]
        self.all = {d.noun for d in named}
        self.created = {d.noun for d in named if d.verb is Verb.CREATE}
        changed = {d.noun for d in named if d.verb in _CHANGING and d.word != "open"}
        self._is_graph = "entity" in changed and "node" not in changed
        self.counted = {d.noun for d in named if _is_counted(d)}
        self._address: dict[str | None, frozenset[str]] = {}
        for draft in named:
            if draft.verb in (Verb.GET, Verb.UPDATE, Verb.DELETE) and not draft.is_many:
                keys = frozenset(p.key for p in draft.parameters if p.role is Role.FIELD)
                noun = self.head(draft.noun)
                self._address[noun] = keys & self._address.get(noun, keys)

    def head(self, noun: str | None) -> str | None:
        """``command_task`` is a ``task`` where the server has such ones."""
        if noun == "node" and self._is_graph:
            return "entity"
        words = (noun or "").split("_")
        tails = ("_".join(words[at:]) for at in range(1, len(words)))
        return next((tail for tail in tails if tail in self.all and tail not in MASS), noun)

    def may_name(self, noun: str | None, key: str) -> bool:
        """Say whether an argument that is no id can name an entity that is to be changed.

        It cannot where all tools that tell, change or take away one take others.
        """
        return key in (address := self._address.get(noun, frozenset[str]())) or not address

    def target(self, key: str) -> str | None:
        """The noun that a key such as ``from_account_id`` refers to."""
        of, how = key_suffix(key)
        words = of.split("_") if how else []
        tails = ("_".join(words[at:]) for at in range(len(words)))
        return next((tail for tail in tails if tail in self.all), None)


def _paired(drafts: Mapping[str, ToolReading]) -> Mapping[str, ToolReading]:
    """Let the one tool that reads what nobody writes read what the one tool writes that nobody reads.

    ``save_snippet(name, code)`` and ``get_code(name)`` are about one noun, and so are ``remember`` and
    ``recall``. They are so only where the arguments say it: other things have other keys.
    """
    nouns = _Nouns(drafts.values())
    read = {nouns.head(d.noun) for d in drafts.values() if d.verb in _SHOWING}
    written = {nouns.head(d.noun) for d in drafts.values() if d.verb in _CHANGING}
    writers = [d for d in drafts.values() if _stores(d) and not _is_among(nouns.head(d.noun), read)]
    readers = [
        d
        for d in drafts.values()
        if d.verb in _SHOWING and not _is_among(nouns.head(d.noun), written)
    ]
    if len({d.noun for d in writers}) != 1 or len({d.noun for d in readers}) != 1:
        return drafts
    noun = writers[0].noun or readers[0].noun or "memory"
    joined = {
        name: _rereading(draft, noun)
        for name, draft in drafts.items()
        if draft in writers or (draft in readers and any(_reads(draft, w) for w in writers))
    }
    return {**drafts, **joined} if any(joined[n].verb in _SHOWING for n in joined) else drafts


def _is_among(noun: str | None, others: Iterable[str | None]) -> bool:
    return noun is not None and noun in others


def _stores(draft: ToolReading) -> bool:
    return draft.verb in (Verb.CREATE, Verb.UPDATE, Verb.OTHER) and draft.word in _STORING


def _required(draft: ToolReading) -> frozenset[str]:
    return frozenset(p.key for p in draft.parameters if p.is_required)


def _reads(reader: ToolReading, writer: ToolReading) -> bool:
    """Say whether a tool asks by what another one stores under, or for what it is to remember."""
    asked = _required(reader)
    if asked and asked <= _STORE_KEYS:
        return asked < _required(writer)
    is_memory = reader.word in _REMEMBERING or writer.word in _REMEMBERING
    return is_memory and asked <= {p.key for p in reader.parameters if p.role is Role.QUERY}


def _rereading(draft: ToolReading, noun: str) -> ToolReading:
    is_asked = draft.verb in _SHOWING and not _required(draft) & _STORE_KEYS
    verb = Verb.CREATE if draft.verb is Verb.OTHER else draft.verb
    return replace(draft, verb=verb, noun=noun, is_many=draft.is_many or is_asked)


def _shared_prefix(tools: Sequence[ToolSpec]) -> str | None:
    """The first word of most names, where it says whose tools they are.

    It says what they are about where most of them have but a verb beside it, as in ``pages.get``, and name
    nothing else by its id.
    """
    split = [words_of(tool.name) for tool in tools]
    firsts = Counter(words[0] for words in split if len(words) > 1)
    word, number = max(firsts.items(), key=lambda item: item[1], default=("", 0))
    alone = sum(
        words[:1] == (word,)
        and len(words) == 2
        and _is_verb(words[1])
        and _names_no_other(tool, word)
        for words, tool in zip(split, tools, strict=True)
    )
    is_shared = number >= 3 and number > 0.6 * len(tools) and alone <= number / 2
    return word if is_shared and word not in _VERBS and word not in _STATES else None


def _names_no_other(tool: ToolSpec, noun: str) -> bool:
    """Say whether the ids that a tool cannot do without may be ids of a noun."""
    required = [p.key for p in parameters_of(tool, frozenset()) if p.is_required]
    return all(key_suffix(key)[0] in ("", noun) for key in required)


def _draft(tool: ToolSpec, prefix: str | None, keys: frozenset[str]) -> ToolReading:
    """Read a tool without what the others say."""
    words = words_of(tool.name)
    if prefix is not None and len(words) > 1 and words[0] == prefix:
        words = words[1:]
    at = _verb_at(words)
    if words and words[-1] in _AMBIGUOUS and _has_sisters(words, keys):
        at = len(words) - 1
    word = "" if at is None else words[at]
    verb = _VERBS.get(word, Verb.OTHER)
    told = _told_verb(words, tool.description)
    is_act = word in _ACTS and word not in _MAKERS
    if at is None or (verb is Verb.OTHER and told in _SHOWING and not is_act):
        verb, noun_words = told, words
    else:
        noun_words = _noun_after(words[at + 1 :]) or words[:at]
    noun, is_many = _noun(noun_words, keys)
    return ToolReading(
        verb=verb,
        word=word,
        noun=noun,
        is_many=is_many,
        id_parameter=None,
        state=_STATES.get(word),
        parameters=parameters_of(tool, keys),
        references={},
    )


def _verb_at(words: Sequence[str]) -> int | None:
    """Where the verb stands: first or last, else the first that may be one."""
    if not words:
        return None
    last = len(words) - 1
    is_noun = words[0] in _AMBIGUOUS and words[last] in _STRONG and last > 0
    if _is_verb(words[0]) and not (is_noun and (last == 1 or words[last] != "search")):
        return 0
    if words[0] in _ACTS and last > 0:
        return 0
    is_object = words[last] in _AMBIGUOUS - _STRONG and not is_plural(words[0])
    if _is_verb(words[last]) and last > 0 and not is_object:
        return last
    return next((at for at, word in enumerate(words[:last]) if word in _VERBS), None)


def _has_sisters(words: Sequence[str], keys: frozenset[str]) -> bool:
    """``storage_set`` sets a storage where there is ``storage_get``, too."""
    if len(words) < 2 or _is_verb(words[0]):
        return False
    others = _STRONG - {words[-1]}
    return any("_".join((*words[:-1], verb)) in keys for verb in others)


def _is_verb(word: str) -> bool:
    return word in _VERBS or word in _STATES or word in _MAKERS


def _told_verb(words: Sequence[str], description: str) -> Verb:
    """What a description begins with, for names that have no verb."""
    told = _CRAWLED.sub("", description).lstrip()
    for text in (*words[:1], told[:_TOLD]):
        found = [(at, verb) for word, verb in _CHINESE if (at := text.find(word)) >= 0]
        if found:
            return min(found, key=lambda item: item[0])[1]
    first = words_of(told[:_TOLD])[:1]
    return _VERBS.get(singular(first[0]), Verb.OTHER) if first else Verb.OTHER


def _noun_after(words: Sequence[str]) -> tuple[str, ...]:
    """The words of the object: up to a preposition, and without a second verb."""
    words = words[2:] if words[:1] == ("or",) else words
    end = next((at for at, word in enumerate(words) if word in _CUTS), len(words))
    return tuple(words[:end])


def _noun(words: Sequence[str], keys: frozenset[str]) -> tuple[str | None, bool]:
    """The noun of some words, and whether they speak of many.

    ``list_work_items`` is about a ``work_item`` where another tool names one so.
    """
    kept: list[str] = [word for word in words if word not in _FILLERS]
    is_many = "all" in words
    is_item = (
        bool(kept)
        and kept[-1] == "items"
        and any(k.endswith(f"_{'_'.join(kept)[:-1]}") for k in keys)
    )
    while len(kept) > 1 and kept[-1] in _SUFFIXES and not is_item:
        is_many |= kept.pop() in ("list", "items", "results")
    for start, _ in _CHINESE:
        if len(kept) == 1 and kept[0].startswith(start):
            kept = [kept[0].removeprefix(start)]
    noun = "_".join(kept)
    is_many |= is_plural(noun) and kept[-1] not in _OF_ONE
    return singular(noun) or None, is_many


def _settle(draft: ToolReading, nouns: _Nouns) -> ToolReading:
    """Decide what needs to know the nouns of the server."""
    if draft.verb is Verb.OTHER and draft.noun is None:
        return replace(draft, references=_references(draft, None, nouns))
    draft = replace(draft, noun=nouns.head(draft.noun))
    if draft.word == "open" and draft.noun in nouns.all and draft.is_many:
        draft = replace(draft, verb=Verb.GET)
    part = _of_part(replace(draft, references=_references(draft, None, nouns)))
    if part is not None:
        return part
    draft = replace(draft, id_parameter=_own_id(draft, nouns))
    draft = replace(draft, references=_references(draft, draft.id_parameter, nouns))
    return replace(draft, verb=_settled_verb(draft, nouns))


def _settled_verb(draft: ToolReading, nouns: _Nouns) -> Verb:
    verb, noun, own = draft.verb, draft.noun, draft.id_parameter
    has_query = draft.parameter(Role.QUERY) is not None
    has_limit = draft.parameter(Role.LIMIT) is not None
    if verb is Verb.GET and (draft.is_many or has_limit) and own is None:
        return Verb.SEARCH if has_query else Verb.LIST
    if verb is Verb.SEARCH and not has_query and not _takes_words(draft):
        return Verb.LIST if draft.is_many or own is None else Verb.GET
    if verb is Verb.CREATE and noun is None and _is_sum(draft.parameters):
        return Verb.OTHER
    if verb is Verb.OTHER and noun in nouns.all and draft.state is not None and own is not None:
        return Verb.UPDATE
    return Verb.CREATE if own is None and _makes(draft, nouns) else verb


def _makes(draft: ToolReading, nouns: _Nouns) -> bool:
    """Say whether a tool of an ambiguous verb makes what no other tool of the server makes."""
    if draft.noun in nouns.created:
        return False
    if draft.verb is Verb.OTHER:
        return draft.word in _MAKERS and draft.noun in nouns.all
    return draft.word in _KEEPERS and draft.noun in nouns.counted


def _of_part(draft: ToolReading) -> ToolReading | None:
    """``update_task_status(task_id)`` changes a task; None where it is not so."""
    if draft.verb is Verb.GET and (draft.noun or "").rpartition("_")[2] not in _PARTS:
        return None
    if draft.verb not in (Verb.UPDATE, Verb.GET) or not draft.noun:
        return None
    for name, noun in draft.references.items():
        if draft.noun.startswith(f"{noun}_"):
            is_set = draft.verb is Verb.UPDATE
            state = is_set and _DONE.get(draft.noun.removeprefix(f"{noun}_"))
            left = {key: of for key, of in draft.references.items() if key != name}
            return replace(
                draft, noun=noun, id_parameter=name, state=state or None, references=left
            )
    return None


def _is_counted(draft: ToolReading) -> bool:
    """There may be many entities of the noun: they are listed, or told apart by ids."""
    has_id = any(p.is_required and _rank(p.key, draft.noun) in (0, 1) for p in draft.parameters)
    return has_id or draft.is_many or draft.verb in (Verb.LIST, Verb.SEARCH)


def _takes_words(draft: ToolReading) -> bool:
    return any(
        p.role is Role.FIELD and p.is_required and "string" in p.types and not key_suffix(p.key)[1]
        for p in draft.parameters
    )


def _is_sum(parameters: Sequence[Parameter]) -> bool:
    """``add(a, b)`` makes nothing."""
    fields = [p for p in parameters if p.role is Role.FIELD]
    return bool(fields) and all(p.types and p.types <= {"number", "integer"} for p in fields)


def _own_id(draft: ToolReading, nouns: _Nouns) -> str | None:
    """The argument that names the entity itself."""
    if draft.verb in (Verb.LIST, Verb.SEARCH):
        return None
    candidates = [
        p
        for p in draft.parameters
        if p.role is Role.FIELD and "object" not in p.types and not p.holds_objects
    ]
    ranked = [
        (rank + (0 if p.is_required else _OPTIONAL), p)
        for p in candidates
        if (rank := _rank(p.key, draft.noun)) is not None
    ]
    if draft.verb is Verb.CREATE and (draft.noun or "").rpartition("_")[2] in _REPLIES:
        return None
    ranks = _OWN_RANKS[draft.verb]
    if ranked and min(rank for rank, _ in ranked) in ranks:
        named = [(rank, p) for rank, p in ranked if rank in ranks]
        fitting = [(rank, p) for rank, p in named if _names_one(draft, nouns, p, rank)]
        return min(fitting, key=lambda item: item[0])[1].name if fitting else None
    if draft.verb in (Verb.OTHER, Verb.CREATE) or draft.is_many:
        return None
    foreign = [
        p
        for p in candidates
        if p.is_required and key_suffix(p.key)[1] and key_suffix(p.key)[0] not in _SURROUNDINGS
    ]
    required = [p for p in draft.parameters if p.is_required]
    if len(required) == 1 and not foreign:
        foreign = [p for p in candidates if p.is_required and key_suffix(p.key)[1]]
    is_own = len(foreign) == 1 and nouns.target(foreign[0].key) is None
    return foreign[0].name if is_own else None


def _names_one(draft: ToolReading, nouns: _Nouns, best: Parameter, rank: int) -> bool:
    """Tell whether the best argument says which entity, and not what is to stand in it."""
    if rank == _NAMED_AS_NOUN and draft.word in _SETTING:
        return False
    if draft.is_many and rank in _NATURAL_RANKS and "array" not in best.types:
        return False
    is_id = draft.verb is not Verb.UPDATE or nouns.may_name(draft.noun, best.key)
    return is_id or rank in _BY_ID


def _rank(key: str, noun: str | None) -> int | None:
    """How well a key names an entity of the noun, from 0; None where it does not."""
    if key in ("id", "ids"):
        return 0
    of, how = key_suffix(key)
    if how and of and noun and (of == noun or noun.endswith(f"_{of}")):
        return 1
    heads = (noun, noun.rpartition("_")[2]) if noun else ()
    one = singular(key)
    if one in heads:
        return 2
    names = {one, *(one.removeprefix(f"{head}_") for head in heads)}
    return next((3 + at for at, name in enumerate(_NATURAL_KEYS) if name in names), None)


_OPTIONAL: Final = 100
"""Is added to the rank of what need not be given."""
_NAMED_AS_NOUN: Final = 2
_SETTING: Final = _words("set put save store write change adjust configure")
"""``set_price(price)`` takes the value, not which one."""
_NATURAL_RANKS: Final = range(3, _OPTIONAL)
"""``get_topics(title)`` gives the topics of what has that title."""
_BY_ID: Final = frozenset((0, 1, 2, _OPTIONAL, _OPTIONAL + 1))
_BY_ANY_NAME: Final = frozenset((*range(_OPTIONAL), _OPTIONAL, _OPTIONAL + 1))
_OWN_RANKS: Final[Mapping[Verb, frozenset[int]]] = {
    Verb.GET: _BY_ANY_NAME,
    Verb.UPDATE: _BY_ANY_NAME,
    Verb.DELETE: _BY_ANY_NAME,
    Verb.CREATE: frozenset((0, 1, _OPTIONAL, _OPTIONAL + 1)),
    Verb.OTHER: frozenset((0, 1)),
}
"""Which arguments name the entity; a new one is rarely named by who makes it."""


def _references(draft: ToolReading, own: str | None, nouns: _Nouns) -> Mapping[str, str]:
    found = {
        p.name: nouns.target(p.key)
        for p in draft.parameters
        if p.role is Role.FIELD and p.name != own and p.types.isdisjoint(("object", "boolean"))
    }
    return {name: noun for name, noun in found.items() if noun is not None}
