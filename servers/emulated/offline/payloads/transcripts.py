"""What is said in a film or a recording, line by line with times, and lyrics."""

from typing import Final

from astra_mcp.types import JsonValue
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.payloads.passages import spoken_on
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["transcript_told"]

_SPOKEN: Final = frozenset(
    ("transcript", "transcripts", "captions", "subtitles", "caption", "subtitle")
)
_WORDS_PER_SECOND: Final = 2.6
_TOPICS: Final = ("title", "topic", "query", "name")
_IDS: Final = (
    "video_id",
    "id",
    "url",
    "video_url",
    "meeting_id",
    "episode_id",
    "call_id",
    "recording_id",
    "video",
)


def transcript_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for a transcript."""
    if not asked.has(_SPOKEN) or asked.has(
        ("list", "search", "languages", "available", "translate")
    ):
        return None
    if asked.call.reading.verb not in (Verb.GET, Verb.OTHER):
        return None
    called = asked.thing or {}
    topic = asked.text(*_TOPICS) or str(
        called.get("title") or asked.wording.phrase(asked.rng.at("topic"))
    )
    lines: list[JsonValue] = []
    start = 0.0
    for sentence in spoken_on(topic, asked.wording):
        lasts = round(max(1.4, len(sentence.split()) / _WORDS_PER_SECOND), 2)
        lines.append({"text": sentence, "start": round(start, 2), "duration": lasts})
        start += lasts
    text = _written(asked, lines)
    is_text = asked.promise.form in (Form.TEXT, Form.MARKDOWN) or "text" in asked.said
    if is_text and not asked.promise.members:
        return Answer({"transcript": text}, text=text)
    key = next((key for key in _IDS if key in asked.given), None)
    named = {} if key is None else {key: asked.given[key]}
    language = asked.text("language", "lang", "languages") or (
        "en" if asked.wording.is_english else "zh"
    )
    return Answer({**named, "language": language, "segments": lines, "text": text})


def _written(asked: Asked, lines: list[JsonValue]) -> str:
    is_timed = any(word in asked.said for word in ("timestamp", "timed", "srt", "vtt"))
    rows = [line for line in lines if isinstance(line, dict)]
    if not is_timed:
        return " ".join(str(row["text"]) for row in rows)
    return "\n".join(f"[{_clock(row['start'])}] {row['text']}" for row in rows)


def _clock(seconds: JsonValue) -> str:
    whole = int(seconds) if isinstance(seconds, int | float) else 0
    return f"{whole // 60:02d}:{whole % 60:02d}"
