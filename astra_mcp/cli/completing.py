"""What a TAB offers where a command takes a name, known without the command, whose loading takes a second."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

__all__ = ["BUILT_IN_AGENTS", "FLAGS", "GOLD_AGENT", "IMPORT_FORMATS", "NAMED", "names_at"]

GOLD_AGENT: Final = "oracle"
BUILT_IN_AGENTS: Final = (GOLD_AGENT, "noop", "random", "probe", "echo", "explore", "enumerate")
IMPORT_FORMATS: Final = (
    "toucan",
    "astra_servers",
    "openapi",
    "server_json",
    "livemcpbench",
    "mcp_tools",
    "functions",
    "live",
    "listing",
)
"""Those of files, and the last two of addresses."""
FLAGS: Final = frozenset({"--http", "--trusted", "--gold", "--failure-delay", "--resume", "--json"})
"""Options of commands that take names, behind which no value stands."""

_Names = Callable[[], Iterable[str]]


def _published(*kinds: str) -> _Names:
    def read() -> list[str]:
        from astra_mcp.home import home_folder  # noqa: PLC0415 - for a TAB alone
        from registry.published.names import read_names  # noqa: PLC0415

        names = read_names(home_folder())
        return sorted({name for kind in kinds for name in getattr(names, kind)})

    return read


def _episodes() -> list[str]:
    from astra_mcp.home import home_folder  # noqa: PLC0415 - for a TAB alone

    try:
        return sorted(file.stem for file in (home_folder() / "records").glob("*.jsonl"))
    except OSError:
        return []


_ENVIRONMENTS = _published("environments")
_SERVERS = _published("servers")

NAMED: Final[Mapping[str, _Names]] = {
    "run": _published("environments", "registered"),
    "rollout": _ENVIRONMENTS,
    "rollout --agent": lambda: BUILT_IN_AGENTS,
    "rollout --server": _SERVERS,
    "connect --server": _SERVERS,
    "serve --server": _SERVERS,
    "serve --interactive": lambda: ("all", "none", *_SERVERS()),
    "environments show": _ENVIRONMENTS,
    "environments stats": _ENVIRONMENTS,
    "export rl": _ENVIRONMENTS,
    "export mcpb": _ENVIRONMENTS,
    "episodes show": _episodes,
    "episodes replay": _episodes,
    "registry show": _published("registered"),
    "registry remove": _published("registered"),
    "registry import --format": lambda: IMPORT_FORMATS,
}
"""By command, for its arguments, and by command and option."""


def names_at(words: Sequence[str]) -> _Names | None:
    """Find what may stand behind the words of a command line; None where the command has to say it."""
    last = words[-1]
    option = f" {last}" if last.startswith("-") and last not in FLAGS else ""
    places = (" ".join(words[:size]) + option for size in (1, 2))
    return next((NAMED[place] for place in places if place in NAMED), None)
