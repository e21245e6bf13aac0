"""What a serving process writes to standard error: lines for people, or one JSON object a line.

Whatever is logged, by whomever, passes through one place that cuts ids to their beginning and takes out
keys and the queries of URLs. Knows the shape of secrets, not their meaning.
"""

import logging
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from astra_mcp.text.plain import visible
from astra_mcp.tracing import current_trace_id
from gateway.api.settings import LogFormat

__all__ = ["JsonLines", "Redaction", "TextLines", "log_to_stderr"]

ACCESS_LOGGER: Final = "astra_mcp.access"
LIBRARIES: Final = (
    "asyncio",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "mcp",
    "openai",
    "uvicorn",
)
"""Below a warning they name sessions, URLs and messages; we log what matters of those ourselves."""
ID_CHARACTERS = 6
MAX_MESSAGE = 8192
"""Characters of a line's longest text; what is longer is cut."""

_LONG_HEX = re.compile(r"(?<![0-9a-fA-F])([0-9a-fA-F]{6})[0-9a-fA-F]{10,}")
_UUID = re.compile(r"\b([0-9a-fA-F]{6})[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_QUERY = re.compile(r"(\bhttps?://[^\s?#'\"<>]+)[?#][^\s'\"<>]*")
_USER = re.compile(r"(\bhttps?://)[^\s/@'\"<>]+@")
_BEARER = re.compile(r"\b(bearer|basic)\s+[^\s'\",;]+", re.IGNORECASE)
_EPISODE = re.compile(r"\bepisodes?[ /]([0-9a-f]{6})(?![0-9a-f])")


class Redaction:
    """Takes out of a text what opens something."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Know some secrets by heart, beside the shapes that most have.

        Args:
            secrets: Such as keys; the longest are taken out first.
        """
        known = sorted({s for s in secrets if s}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """Cut ids to their beginning; put an ellipsis in the place of everything else."""
        if self._known is not None:
            text = self._known.sub("…", text)
        text = _UUID.sub(r"\1…", text)
        text = _LONG_HEX.sub(r"\1…", text)
        text = _BEARER.sub(r"\1 …", text)
        text = _USER.sub(r"\1…@", text)
        text = _QUERY.sub(r"\1?…", text)
        return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…"


class TextLines(logging.Formatter):
    """Lines for people."""

    def __init__(self, redact: Redaction, worker: int | None = None) -> None:
        """Write lines.

        Args:
            redact: Applied to every line.
            worker: Index of this process among those that serve together.
        """
        who = "" if worker is None else f" worker {worker}"
        super().__init__(f"%(asctime)s %(levelname)s{who} %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Render one event, its exception below it."""
        return self._redact(super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Render an exception, in which others' words may stand too."""
        return visible(super().formatException(ei))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Render the event itself in one line, so that no text in it can pass for another event."""
        record.message = "".join(c if c.isprintable() else "?" for c in record.message)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """One JSON object a line, for programs."""

    def __init__(self, redact: Redaction, worker: int | None = None) -> None:
        """Write objects.

        Args:
            redact: Applied to every text.
            worker: Index of this process among those that serve together.
        """
        super().__init__()
        self._redact = redact
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """Render one event; what is not known of it is left out."""
        message = self._redact(visible(record.getMessage()))
        episode = record.__dict__.get("episode")
        named = _EPISODE.search(message) if episode is None else None
        row: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
            "episode": named[1] if named else episode and str(episode)[:ID_CHARACTERS],
            "server": record.__dict__.get("server"),
            "worker": self._worker,
            "trace_id": current_trace_id(),
            "exception": self._exception_of(record),
        }
        known = {key: value for key, value in row.items() if value is not None}
        return orjson.dumps(known, default=str).decode()

    def _exception_of(self, record: logging.LogRecord) -> str | None:
        if not record.exc_info or record.exc_info[0] is None:
            return None
        text = "".join(traceback.format_exception(*record.exc_info))
        return self._redact(visible(text).rstrip())


def log_to_stderr(
    log_format: LogFormat,
    *,
    verbose: bool = False,
    worker: int | None = None,
    secrets: Sequence[str] = (),
) -> None:
    """Send the warnings of this process, and on demand its requests, to standard error.

    Args:
        log_format: ``text`` or ``json``.
        verbose: Also log every request.
        worker: Index of this process among those that serve together.
        secrets: Keys that must not be written, whatever logs them.
    """
    redact = Redaction(secrets)
    handler = logging.StreamHandler(sys.stderr)
    is_json = log_format == "json"
    handler.setFormatter(JsonLines(redact, worker) if is_json else TextLines(redact, worker))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(is_json)  # a stray line would be no JSON
    logging.getLogger(ACCESS_LOGGER).setLevel(logging.INFO if verbose else logging.WARNING)
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
