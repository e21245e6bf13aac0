"""What tools say that keep nothing: that something was done, sent, checked or written to a file.

Sentences are made of the tool's own verb and noun and of what was asked. What only a translator or a language
model could say is refused, as such a service does that is not there.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.making import Making, ValueContext
from astra_mcp.values.nouns import is_plural, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import Wording
from servers.emulated.offline.acts import receipt, sentence
from servers.emulated.offline.finding import Call
from servers.emulated.offline.promises import Form, Promise, said_of
from servers.emulated.offline.selection import EntityRefusedError
from servers.emulated.parameters import Role, role_of
from servers.emulated.verbs import ToolReading

__all__ = ["asked_of", "is_act", "outcome", "refuse_unknowable", "refuse_unworked", "unavailable"]

_MAX_ECHOED: Final = 200
_MAX_SUMMARY: Final = 2
_SENTENCES: Final = re.compile(r"(?<=[.!?。\uff01\uff1f])\s*")
_TEXTS: Final = frozenset(
    (
        "text",
        "content",
        "input",
        "document",
        "article",
        "input_text",
        "body",
        "transcript",
        "passage",
    )
)
_KINDS: Final[Mapping[str, str]] = {
    word: kind
    for kind, words in {
        "check": "check validate verify test is has can should lint compile",
        "file": "download export render capture screenshot record print save take",
        "sent": "send notify share invite forward reply broadcast submit message",
        "act": "click press type scroll wait hover drag play connect disconnect install restart reset refresh"
        " sync login logout authenticate subscribe unsubscribe follow unfollow like merge push pull checkout"
        " navigate go goto open close stop start pause resume launch run execute trigger invoke deploy"
        " publish set switch select"
        " fill focus tap swipe clear move resize rotate turn enable disable mount unmount"
        " initialize init configure register unregister clone fork swap stake claim mint burn transfer buy"
        " sell upload import ingest index copy paste undo redo save join leave mute kick ban block approve"
        " reject cancel archive restore add remove delete create make put post apply format organize activate"
        " terminate kill reboot shutdown enqueue schedule link unlink attach detach lock unlock place process"
        " evolve clean build commit upgrade uninstall insert append write convert replace sort enter keypress"
        " handle optimize train generate protect unprotect submit confirm accept dismiss encrypt decrypt bulk"
        " skip next previous feed ping toggle load reload unload print zoom back complete finish reopen"
        " unarchive activate deactivate suspend resolve unpublish comment previous prev forward rename retry reload"
        " withdraw deposit stake unstake redeem delegate pay airdrop bridge wrap unwrap rotate rollback snooze"
        " mute unmute pin unpin book reserve assign unassign draw wipe emit dial answer hangup move rate vote"
        " upvote downvote react retweet favorite unfavorite star unstar watch unwatch invite train unload bridge"
        " gen scale drain cordon uncordon patch promote demote transfer grant revoke set",
    }.items()
    for word in words.split()
}
_TELLING: Final = frozenset(
    (
        "status", "info", "information", "data", "details", "stats", "statistics", "price", "prices", "rate",
        "rates", "forecast", "weather", "history", "balance", "summary", "metadata", "version", "news",
        "report", "positions", "list", "results", "analysis", "metrics", "orders", "trades", "tables",
    )
)  # fmt: skip
"""A name that ends so tells something, whatever it begins with."""
_CHECKED: Final[Mapping[str, str]] = {
    word: told
    for told, words in {
        "available": "availability available api server service", "exists": "exists exist",
        "connected": "connection",
        "healthy": "health", "deprecated": "deprecated", "open": "open", "installed": "installed",
        "authenticated": "auth authentication", "up_to_date": "update updates",
        "compatible": "compatibility", "allowed": "permission permissions",
    }.items()
    for word in words.split()
}  # fmt: skip
"""What a check tells, by the words of its name."""
_WHETHER: Final = re.compile(
    r"\b(?:if|whether)\s+(?:[\w'-]+\s+){1,5}?(?:is|are|was|has been|have been)\s+"
    r"(?:(?:an?|the|currently|already|still|properly|correctly)\s+)*([a-z]{3,}(?:ed|id|le|en|e|al))\b",
    re.IGNORECASE,
)
"""What a check is of, such as ``available`` in ``Check if a domain is available``."""
_UNWELCOME: Final = frozenset(
    (
        "deprecated", "exposed", "compromised", "blocked", "banned", "expired", "broken", "unsafe", "stolen",
        "vulnerable", "infected", "disposable", "unavailable", "disabled", "blacklisted",
    )
)  # fmt: skip
"""What is mostly not so."""
_LOOKED_FOR: Final = re.compile(r"checks?\s+(?:\w+\s+){0,3}?for\b", re.IGNORECASE)
_SYSTEMS: Final = frozenset(
    ("api", "server", "service", "connection", "health", "auth", "login", "system")
)
_RUN: Final = frozenset(("run", "perform", "execute", "conduct", "process"))
_TOLD_OF_RUNS: Final = frozenset(
    (
        "scan",
        "analysis",
        "audit",
        "benchmark",
        "simulation",
        "backtest",
        "survey",
        "evaluation",
        "regression",
    )
)
_UNKNOWABLE: Final[Mapping[str, str]] = {
    "translate": "Translation", "paraphrase": "Paraphrasing", "rewrite": "Rewriting",
    "transcribe": "Transcription",
}  # fmt: skip
_ASKING: Final = frozenset(("ask", "chat", "think", "completion", "llm", "consult", "answer"))
_MODELS: Final = frozenset(
    ("gemini", "gpt", "claude", "llm", "perplexity", "deepseek", "ollama", "openai")
)
_MADE: Final = frozenset(
    ("image", "images", "video", "speech", "voice", "audio", "music", "search", "list", "get")
)
_READ: Final = 200
_PROMPTS: Final = frozenset(("prompt", "question", "message", "messages", "user_prompt"))
_PATHS: Final = (
    "output_path",
    "path",
    "file_path",
    "filename",
    "save_path",
    "destination",
    "filepath",
)


_ASKED: Final = (Role.FIELD, Role.QUERY)


def asked_of(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> JsonObject:
    """The arguments that say what was asked for."""
    roles = {p.name: p.role for p in reading.parameters}
    fields = {
        name
        for name, value in arguments.items()
        if (roles.get(name) or role_of(name)) in _ASKED or _is_ticker(name, value)
    }
    return {
        name: value
        for name, value in arguments.items()
        if name in fields
        and not isinstance(value, dict | list | None)
        and value != ""
        and len(str(value)) <= _MAX_ECHOED
    }


_SAYING: Final = frozenset(
    ("returns", "return", "gets", "get", "retrieves", "retrieve", "fetches", "fetch", "shows", "show", "displays",
     "provides", "lists", "calculates", "computes", "answers",
     "answer", "searches", "queries")
)  # fmt: skip
"""A description that begins so is of a tool that tells something, whatever its name begins with."""


def _is_ticker(name: str, value: JsonValue) -> bool:
    """Say whether a token is the sign of a coin, and no secret."""
    return name.lower() == "token" and re.fullmatch(r"[A-Z][A-Z0-9.]{1,9}", str(value)) is not None


def is_act(call: Call, promise: Promise) -> bool:
    """Say whether a tool does something, and has nothing to tell beside that."""
    words = words_of(call.tool.name)
    verb = _verb_of(call)
    if promise.form is Form.NOTICE or ("to" in words and words[-1] in _MEDIA):
        return True
    if _tells(call, promise, words, verb):
        return False
    told = words_of(said_of(call.tool)[:30])[:1]
    if told and told[0] in _SAYING and told[0] != verb:
        return False
    is_told = bool(told) and told[0].rstrip("s") in _KINDS and not call.reading.word
    return verb in _KINDS or is_told


def _tells(call: Call, promise: Promise, words: tuple[str, ...], verb: str) -> bool:
    """Say whether the form, the members or the name of a tool are those of one that has data to give."""
    if promise.form in (Form.LIST, Form.NUMBER, Form.FLAG, Form.CSV, Form.MARKDOWN, Form.HTML):
        return True
    last = words[-1] if words else ""
    is_check = _KINDS.get(verb) == "check"
    if is_check and last == "status" and not _SYSTEMS.isdisjoint(words):
        return False
    is_looked_for = is_check and _LOOKED_FOR.match(said_of(call.tool)) and is_plural(last)
    is_run = verb in _RUN and last in _TOLD_OF_RUNS
    return bool(is_looked_for) or len(promise.members) > 1 or last in _TELLING or is_run


def _verb_of(call: Call) -> str:
    words = words_of(call.tool.name)
    own = call.reading.word or next((word for word in words if word in _KINDS), "")
    return own or next((w for w in words_of(said_of(call.tool)[:30])[:1] if w in _KINDS), "")


def refuse_unknowable(call: Call) -> str | None:
    """What a call is told that only a reader, a translator or a language model could answer.

    Returns:
        The summary of a text that the call holds, made of its own sentences; None for other calls.

    Raises:
        EntityRefusedError: The service is not there.
    """
    words = words_of(call.tool.name)
    for word in words:
        if word in _UNKNOWABLE:
            raise EntityRefusedError(
                f"{_UNKNOWABLE[word]} service is not available, try again later"
            )
    if (words and words[0] in ("summarize", "summarise")) or words[-1:] == ("summarize",):
        return _summary(call)
    keys = {p.key for p in call.fields()} | {
        p.key for p in call.reading.parameters if p.role is Role.QUERY and p.name in call.arguments
    }
    keys |= {name.lower() for name in call.arguments}
    is_model = not _MODELS.isdisjoint(
        words_of(said_of(call.tool)[:_READ])
    ) or not _ASKING.isdisjoint((*words, *words_of(said_of(call.tool)[:20])[:1]))
    if _writes(call, words):
        raise EntityRefusedError("Text generation is not available, try again later")
    if is_model and _MADE.isdisjoint(words) and not keys.isdisjoint(_PROMPTS):
        raise EntityRefusedError("The language model is not available, try again later")
    return None


_WRITERS: Final = frozenset(
    ("generate", "write", "compose", "draft", "improve", "brainstorm", "rephrase", "narrate")
)
_WRITTEN: Final = frozenset(
    ("content", "text", "story", "reply", "response", "summary", "article", "essay", "poem", "report", "context", "code", "work",
     "description", "title", "titles", "ideas", "copy", "blog", "post", "script", "lyrics", "answer", "questions", "completion",
     "caption", "bio", "letter", "tests", "test", "docs", "documentation", "names", "prompt")
)  # fmt: skip


def _writes(call: Call, words: tuple[str, ...]) -> bool:
    """Say whether a tool is to write a text of its own, and nothing holds that text."""
    if not words or words[0] not in _WRITERS or not _MEDIA.keys().isdisjoint(words):
        return False
    holds = {"content", "file_path", "path", "filename", "data"}
    keys = {name.lower() for name in call.arguments}
    return not _WRITTEN.isdisjoint(words[1:] or ("text",)) and (
        words[0] != "write" or keys.isdisjoint(holds)
    )


_WORKING_OUT: Final = frozenset(
    ("calculate", "calculator", "compute", "simulate", "solve", "estimate", "measure", "count", "compare", "compara",
     "comparison", "get", "return", "extract", "convert", "analyze", "analyse", "find", "check", "detect", "determine",
     "predict", "fetch", "retrieve", "scan", "evaluate", "query", "explain", "show", "read", "score", "provide", "search",
     "look", "roots", "identify", "classify", "forecast", "recommend", "suggest", "parse", "inspect", "review", "summarize",
     "describe", "list", "view", "display")
)  # fmt: skip
"""Verbs of tools that are called for what they tell."""


def unavailable(call: Call) -> EntityRefusedError:
    """What a service says that cannot give what it is for."""
    what = " ".join(words_of(call.tool.name)).capitalize() or "This service"
    return EntityRefusedError(f"{what} is not available, try again later")


def refuse_unworked(call: Call) -> None:
    """Refuse what has to be worked out, where neither the documents nor a subject say what comes of it.

    Raises:
        EntityRefusedError: It would have to be invented.
    """
    told = (word.rstrip("s") for word in words_of(said_of(call.tool)[:80])[:3])
    is_empty = not any(value for value in call.arguments.values())
    if is_empty or not _WORKING_OUT.isdisjoint((*words_of(call.tool.name), *told)):
        raise unavailable(call)


def _summary(call: Call) -> str:
    """The first sentences of the text, word for word."""
    for parameter in call.fields():
        value = call.arguments[parameter.name]
        if parameter.key in _TEXTS and isinstance(value, str) and value.strip():
            sentences = [part for part in _SENTENCES.split(value.strip()) if part]
            return " ".join(sentences[:_MAX_SUMMARY])
    raise EntityRefusedError("The content is not available, try again later")


def outcome(
    call: Call, wording: Wording, rng: RandomStream, *, title: str = "", now: int = 0
) -> JsonObject:
    """What a tool says that did something.

    Args:
        call: To the tool.
        wording: Says the language.
        rng: Decide what is made up.
        title: What the server is called.
        now: Seconds since 1970.
    """
    words = words_of(call.tool.name)
    verb = _verb_of(call)
    kind = _KINDS.get(verb) or next((_KINDS[w] for w in words if w in _KINDS), "act")
    record = asked_of(call.reading, call.arguments) | _lists_of(call)
    making = Making({}, wording)

    def made(key: str) -> JsonValue:
        spot = ValueContext(rng=rng.at(key), key=key, noun=call.reading.noun or "", depth=1)
        return making.value({}, spot)

    made_file = _generated(call, words, made)
    if made_file is not None:
        return {**record, **made_file}
    if kind == "check":
        asked = _WHETHER.search(said_of(call.tool)[:_READ])
        said = asked.group(1).lower() if asked else "valid"
        name = next((_CHECKED[w] for w in words if w in _CHECKED), said)
        return {**record, name: name not in _UNWELCOME, "status": "ok"}
    if kind == "file":
        return {**record, **_file(call, made), "status": "completed"}
    if kind == "sent" and verb not in _TAKING_BACK and not _is_paid(call, words):
        return {**record, **_sent(call, verb, made)}
    done = receipt(call, verb, title=title, rng=rng, now=now)
    name = "detail" if "message" in record else "message"
    return {**record, "success": True, **done, name: sentence(call, verb, wording, title)}


_TAKING_BACK: Final = frozenset(("delete", "remove", "revoke", "cancel", "unsend"))
_SENT: Final = {"invite": "pending", "share": "shared", "reply": "posted", "post": "posted", "submit": "submitted",
                "publish": "published", "notify": "sent", "broadcast": "sent", "forward": "forwarded"}  # fmt: skip
_KNOWN_BY: Final = {
    "invite": "invitation",
    "share": "share",
    "submit": "submission",
    "notify": "notification",
}
_PAID: Final = frozenset(("amount", "token", "token_address", "wallet", "lamports"))


def _is_paid(call: Call, words: tuple[str, ...]) -> bool:
    """Say whether money is sent, and not a message."""
    given = {p.key for p in call.fields()} | {name.lower() for name in call.arguments}
    return not given.isdisjoint(_PAID) and "message" not in words


def _sent(call: Call, verb: str, made: Callable[[str], JsonValue]) -> JsonObject:
    """What was sent is known by: the id of its kind, its state, and when."""
    words = words_of(call.tool.name)
    status = next((_SENT[word] for word in (verb, *words) if word in _SENT), "sent")
    kind = _KNOWN_BY.get(verb) or next((w for w in reversed(words) if w in _LETTERS), None)
    kind = kind or words[-1]
    return {
        "id": made(f"{kind}_id"),
        "status": status,
        f"{status}_at" if status.endswith(("ed", "sent")) else "sent_at": made("sent_at"),
    }


_LETTERS: Final = frozenset(
    (
        "message",
        "email",
        "sms",
        "reply",
        "comment",
        "post",
        "tweet",
        "notification",
        "invitation",
        "invite",
        "dm",
        "file",
    )
)


def _lists_of(call: Call) -> JsonObject:
    """The short lists and objects among the arguments."""
    return {
        name: value
        for name, value in call.arguments.items()
        if isinstance(value, dict | list)
        and role_of(name) in _ASKED
        and 0 < len(canonical_json(value)) <= _MAX_ECHOED
    }


_MEDIA: Final[Mapping[str, str]] = {
    word: ending
    for ending, words in {
        "png": "image images picture logo avatar art meme qr chart cloud wordcloud thumbnail plot graph"
        " heatmap",
        "svg": "svg icon diagram",
        "mp4": "video animation",
        "mp3": "audio speech voice music song sound podcast",
    }.items()
    for word in words.split()
}
"""The ending of a file that holds what a word names."""
_MAKING: Final = frozenset(
    (
        "generate",
        "create",
        "make",
        "draw",
        "to",
        "synthesize",
        "render",
        "produce",
        "edit",
        "upscale",
        "plot",
    )
)


def _generated(
    call: Call, words: tuple[str, ...], made: Callable[[str], JsonValue]
) -> JsonObject | None:
    """The picture, film or sound that a call had made; None for calls that have none made."""
    media = [_MEDIA[word] for word in words if word in _MEDIA]
    ending = None if not media else media[-1 if "to" in words else 0]
    if ending is None or _MAKING.isdisjoint(words):
        return None
    name = str(made("hash"))[:12]
    sizes: JsonObject = {"width": 1024, "height": 1024} if ending == "png" else {}
    lasts: JsonObject = {"duration": 5 + int(name, 16) % 40} if ending in ("mp3", "mp4") else {}
    path = next((v for k, v in _given(call).items() if k in _PATHS and isinstance(v, str)), None)
    where: JsonObject = (
        {"path": path} if path else {"url": f"https://{made('domain')}/files/{name}.{ending}"}
    )
    return {"id": name, "status": "completed", **where, "format": ending, **sizes, **lasts}


def _given(call: Call) -> dict[str, JsonValue]:
    return {p.key: call.arguments[p.name] for p in call.fields()}


def _file(call: Call, made: Callable[[str], JsonValue]) -> JsonObject:
    """The file that a call wrote: where it asked for it, of the kind that it asked for."""
    given = _given(call)
    wanted = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
    asked = {
        key: call.arguments[name] for name in call.arguments if (key := name.lower()) in _FORMATS
    }
    words = words_of(call.tool.name)
    is_picture = not {"screenshot", "render", "capture", "image", "photo"}.isdisjoint(words)
    ending = next((str(v).lower() for v in asked.values() if isinstance(v, str)), None)
    usual = next((_MEDIA[word] for word in words if word in _MEDIA), "json")
    ending = ending or next((w for w in words if w in _ENDINGS), "png" if is_picture else usual)
    stem = "screenshot" if is_picture else "_".join(w for w in words if w not in _KINDS) or "export"
    return {
        "path": wanted or f"{_FOLDER}/{stem}_{str(made('date')).replace('-', '')}.{ending}",
        "size": made("size"),
    }


_FOLDER: Final = "/workspace/output"
_FORMATS: Final = frozenset(("format", "output_format", "file_format", "type"))
_ENDINGS: Final = frozenset(
    ("pdf", "csv", "png", "svg", "html", "json", "xlsx", "zip", "mp3", "mp4", "md")
)
