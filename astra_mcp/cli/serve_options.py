"""The options of ``astra-mcp serve``, as its help shows them."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.api.settings import FailureScope, LogFormat

Host = Annotated[str | None, typer.Option(help="Address to listen on. \\[default: serve.host]")]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port; 0 takes any free one. \\[default: serve.port]"),
]
Stdio = Annotated[
    bool, typer.Option("--stdio", help="Speak MCP on standard input and output instead.")
]
Server = Annotated[str | None, typer.Option(help="With --stdio: show this server alone.")]
Environments = Annotated[
    list[Path] | None,
    typer.Option(help="Also publish this bundle, or folder of bundles. Repeatable."),
]
McpConfig = Annotated[
    Path | None,
    typer.Option(
        help="Also publish the servers of this mcpServers file. \\[default: serve.mcp_config]"
    ),
]
Interactive = Annotated[
    str | None,
    typer.Option(
        metavar="all|none|NAME,...",
        help="Servers that /mcp and /servers/NAME/mcp show; episodes reach every one. "
        "\\[default: serve.interactive]",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, max=256, help="Processes that share the episodes. \\[default: serve.workers]"
    ),
]
PublicUrl = Annotated[
    str | None,
    typer.Option(
        help="Base URL that clients use, behind a reverse proxy. \\[default: serve.public_url]"
    ),
]
FailureRate = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Share of calls that fail on purpose, where an episode does not say it itself. "
        "\\[default: serve.failure_rate]",
    ),
]
Scope = Annotated[
    FailureScope | None,
    typer.Option(
        "--failure-scope",
        help="Whether that is for episodes of emulated servers, or for all. "
        "\\[default: serve.failure_scope]",
    ),
]
Trusted = Annotated[
    bool,
    typer.Option("--trusted", help="Run tool code even where this machine has no sandbox."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Log every request to standard error.")]
Log = Annotated[
    LogFormat | None,
    typer.Option(help="Log for people, or one JSON object a line. \\[default: serve.log_format]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print where it listens as one JSON object.")]
