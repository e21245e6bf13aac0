"""Lines of logs with times and levels, and measurements over time."""

import re
from datetime import UTC, datetime
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["log_told", "measured_told"]

_LOGS: Final = frozenset(("logs", "log"))
_OTHERS: Final = frozenset(
    ("git", "work", "time", "worklog", "food", "meal", "workout", "in", "out", "level", "add", "create", "write", "delete",
     "list", "group", "groups", "store", "stores", "streams", "changelog", "catalog", "blog", "natural", "commit", "calls",
     "dialog", "project", "index", "clear", "config", "event", "audit", "transaction", "eth", "activity", "wipe",
     "aggregate", "provider", "network", "analyze", "okta")
)  # fmt: skip
_OF: Final = (
    "service", "service_name", "container", "container_name", "container_id", "pod", "pod_name", "app", "app_name",
    "function_name", "source", "name", "deployment", "job_id", "log_group", "instance_id", "resource_name", "server_id",
    "deployment_id", "project_id", "project", "build_id", "run_id", "site_id", "id",
)  # fmt: skip
_LEVELS: Final = ("level", "severity", "log_level")
_LINES: Final = (
    ("INFO", "Started on port 8080"), ("INFO", "Connected to database in 38 ms"), ("INFO", "GET /health 200 2ms"),
    ("INFO", "GET /api/items?page=1 200 41ms"), ("DEBUG", "Cache miss for key items:page:1"),
    ("WARN", "Slow query: 1240 ms, SELECT * FROM items WHERE owner_id = $1"), ("INFO", "POST /api/items 201 63ms"),
    ("ERROR", "Request to http://billing.internal/charge failed: connection timed out after 5000 ms"),
    ("INFO", "Retrying request to billing (attempt 2 of 3)"), ("INFO", "POST /api/orders 201 212ms"),
    ("WARN", "Memory usage at 81%"), ("ERROR", "Unhandled exception: KeyError: 'user_id' in handlers/session.py:88"),
    ("INFO", "GET /api/items/42 200 17ms"), ("DEBUG", "Token refreshed for client web"),
)  # fmt: skip
_CONSOLE: Final = (
    ("INFO", "[vite] connected."), ("INFO", "Download the React DevTools for a better development experience"),
    ("WARN", "[Deprecation] Listener added for a 'DOMSubtreeModified' mutation event"),
    ("ERROR", "Failed to load resource: the server responded with a status of 404 (Not Found)"),
    ("ERROR", "Uncaught TypeError: Cannot read properties of undefined (reading 'map') at Table.tsx:27:18"),
)  # fmt: skip
_COUNTS: Final = (
    "limit",
    "lines",
    "tail",
    "count",
    "max_results",
    "tail_lines",
    "n",
    "max_lines",
    "size",
    "num_lines",
)


def log_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the lines of a log."""
    is_log = asked.has(_LOGS) or (
        asked.has(("console",)) and asked.has(("messages", "errors", "output"))
    )
    if (
        not is_log
        or asked.has(_OTHERS)
        or asked.call.reading.verb not in (Verb.GET, Verb.OTHER, Verb.SEARCH, Verb.LIST)
    ):
        return None
    if asked.call.reading.verb is Verb.OTHER and asked.call.reading.word not in (
        "",
        "monitor",
        "tail",
        "export",
        "analyze",
    ):
        return None
    lines = _CONSOLE if asked.has(("console", "browser")) or "browser" in asked.server else _LINES
    wanted = (asked.text(*_LEVELS) or ("error" if asked.has(("errors", "error")) else "")).upper()
    query = (
        asked.text("query", "search", "pattern", "filter", "keyword", "search_term") or ""
    ).casefold()
    kept = [line for line in lines if not wanted or line[0].startswith(wanted[:4])]
    words = [
        word
        for word in re.findall(r"\w{3,}", query)
        if word not in ("status", "service", "level", "and")
    ]
    found = [
        line for line in kept if any(word in f"{line[0]} {line[1]}".casefold() for word in words)
    ]
    kept = (found or kept)[: asked.number(*_COUNTS)]
    of = asked.text(*_OF)
    rows: list[JsonValue] = []
    moment = asked.now - 37 * len(kept)
    for at, (level, message) in enumerate(kept):
        moment += asked.rng.at("step", at).between(2, 61)
        time = f"{datetime.fromtimestamp(moment, UTC).isoformat()[:19]}.{asked.rng.at('ms', at).below(1000):03d}Z"
        rows.append(
            {
                "timestamp": time,
                "level": level,
                **({"source": of} if of else {}),
                "message": message,
            }
        )
    if asked.promise.form in (Form.TEXT, Form.MARKDOWN) or asked.has(
        ("container", "pod", "docker", "k8s", "kubectl", "build")
    ):
        lines_told = (
            f"{row['timestamp']} {row['level']:<5} {row['message']}"
            for row in rows
            if isinstance(row, dict)
        )
        text = "\n".join(lines_told)
        return Answer({"logs": text}, text=text)
    return Answer({"logs": rows, "total": len(rows)})


_METRICS: Final = frozenset(("metrics", "metric", "timeseries"))
_NAMES: Final = ("query", "metric", "metric_name", "metrics", "name", "expr", "promql")
_STARTS: Final = ("from", "start", "start_time", "since", "from_time", "start_date")
_ENDS: Final = ("to", "end", "end_time", "until", "to_time", "end_date")
_POINTS: Final = 12


def measured_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the points of a measurement."""
    is_query = asked.has(_METRICS) and asked.has(
        ("query", "get", "fetch", "range", "data", "points")
    )
    name = asked.text(*_NAMES)
    if (
        not is_query
        or name is None
        or asked.has(("metadata", "list", "tags", "create", "submit", "supported", "financial"))
    ):
        return None
    end = _second(asked.text(*_ENDS)) or asked.now // 60 * 60
    start = _second(asked.text(*_STARTS)) or end - 3_600
    step = max((end - start) // (_POINTS - 1), 1)
    base = 10 + 70 * asked.rng.at("metric", name).fraction()
    points: list[JsonValue] = [
        [
            (start + step * at) * 1000,
            round(base * (0.85 + 0.3 * asked.rng.at("metric", name, at).fraction()), 2),
        ]
        for at in range(_POINTS if end > start else 1)
    ]
    values = [
        float(point[1])
        for point in points
        if isinstance(point, list) and isinstance(point[1], float)
    ]
    figures: JsonObject = {
        "avg": round(sum(values) / len(values), 2),
        "min": min(values),
        "max": max(values),
    }
    return Answer({"status": "ok", "query": name, "from": start, "to": end, "interval": step,
                   "series": [{"metric": re.sub(r"^\w+:|\{.*$", "", name), "pointlist": points, **figures}]})  # fmt: skip


def _second(value: str | None) -> int | None:
    """A time written as a date or counted in seconds or milliseconds."""
    if value is None:
        return None
    if re.fullmatch(r"\d{9,13}", value):
        return int(value) // (1000 if len(value) > 11 else 1)
    try:
        read = datetime.fromisoformat(value)
    except ValueError:  # a time in words: the usual ones are told
        return None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
