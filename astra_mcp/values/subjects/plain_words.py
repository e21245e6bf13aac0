"""Words of which it is known how little, or how much, they say of a trade when they stand alone."""

from typing import Final

__all__ = ["AMBIGUOUS", "EVERYDAY", "HOMONYMS", "OF_ANY_TRADE", "PLAIN", "TOLD_ALONE", "WEAK"]

WEAK: Final = frozenset(
    (
        "status", "state", "info", "information", "metadata", "data", "result", "detail", "list", "item",
        "entry", "record", "history", "summary", "health", "type", "content", "value", "stat", "statistic",
        "object", "option", "mode", "limit", "property", "service", "resource", "output", "action", "form",
        "response", "connection", "overview", "count", "stats", "statistics", "analytics", "metrics",
        "usage", "full", "basic", "advanced", "batch", "id", "api", "name", "search", "price", "example",
        "analysis", "capability", "parameter", "input", "text",
    )
)  # fmt: skip
"""Nouns that may be about anything: the words beside them say more."""
PLAIN: Final = frozenset(
    (
        "item", "result", "entry", "record", "info", "detail", "object",
    )
)  # fmt: skip
"""Nouns that name whatever the server is about."""
AMBIGUOUS: Final = frozenset(
    (
        "structure", "material", "reaction", "cell", "pathway", "moment", "source", "question", "answer",
        "activity", "context", "key", "space", "plan", "work", "line", "group", "index", "stream", "path",
        "word", "element", "rule", "node", "attribute", "page", "range", "block", "view", "job", "note",
        "variable", "class", "method", "function", "risk", "check", "set", "base", "core", "session",
        "coordinates", "position", "level", "stage", "term", "module", "program", "reading", "star",
        "season", "release", "version", "label", "tag", "stack", "object", "model", "field",
    )
)  # fmt: skip
"""Words of many trades: they name something only where others speak of it, too."""
HOMONYMS: Final = frozenset(
    (
        "token", "pair", "exchange", "asset", "security", "statement", "stream", "series", "network",
        "power", "area", "indicator", "queue", "library", "tree", "feed", "property", "position", "pool",
        "contract", "bond", "share", "track", "round", "match", "play", "character", "party", "record",
        "season", "bill", "ranking", "act", "case", "widget", "board", "campaign", "channel", "signal",
        "term", "account", "component", "application", "app", "service", "domain", "volume", "card", "form",
        "energy", "console", "server", "deal", "plugin", "location", "resource", "tool", "process",
        "opportunity", "memory", "prompt", "object", "llm", "likes", "like", "package", "image", "instance",
        "baseline", "dataset", "data_set", "agent", "storage", "trace", "context", "device", "market",
        "flow", "bank", "park", "trail",
    )
)  # fmt: skip
"""Things of one trade whose names mean others elsewhere: another word must speak for them, too."""
EVERYDAY: Final = frozenset(
    (
        "project", "user", "team", "comment", "note", "file", "document", "company", "event", "message",
        "task", "product", "customer", "client", "picture", "video", "article", "job", "incident", "member",
        "contact", "employee", "group", "order", "page", "folder", "issue", "ticket",
    )
)  # fmt: skip
"""Things of no trade of their own: alone, such a word says no more than what all of them have."""
TOLD_ALONE: Final = frozenset(
    (
        "sprint", "worklog", "notification", "api_key", "artifact", "menu", "changelog", "folder",
        "episode", "credential", "secret", "participant", "assignee", "env", "env_var",
        "environment_variable", "permission", "workflow_state", "route", "user_profile", "board_column",
        "system", "subtask", "checklist", "playlist", "webhook", "disk", "employee", "team_member",
        "attachment", "time_slot", "translation", "pull_request_diff",
    )
)  # fmt: skip
"""What has to do with a thing, and with no other thing that is called so."""
OF_ANY_TRADE: Final = frozenset(
    (
        "id", "name", "title", "description", "status", "state", "created_at", "updated_at", "url", "email",
        "username", "author", "text", "content", "body", "message", "size", "path", "date", "start", "end",
        "start_time", "end_time", "subject", "website", "country", "phone", "owner", "type", "assignee",
        "priority", "due_date", "due", "query", "limit", "page", "industry", "mime_type", "modified_at",
        "location", "tags",
    )
)  # fmt: skip
"""Members that say nothing of a trade."""
