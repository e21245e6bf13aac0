"""How commands speak: results on standard output, everything else on standard error, exit codes.

0 done; 1 something failed and says what; 2 wrong usage; 130 stopped by the user.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn, TypeVar, cast

import anyio
import typer
from rich.console import Console
from rich.progress import Progress, ProgressColumn

from astra_mcp.errors import AstraError, BudgetSpentError, ConfigError

__all__ = ["ExitCode", "bars", "fail", "out", "print_json", "report_errors", "run_async", "say"]

Result = TypeVar("Result")

out = Console(soft_wrap=True)
"""Results for people."""
say = Console(stderr=True, soft_wrap=True)
"""Progress, notices and errors."""


class ExitCode(IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STOPPED = 130


def print_json(value: object) -> None:
    """Write one JSON object, and nothing else, to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def fail(message: str, code: ExitCode = ExitCode.FAILED) -> NoReturn:
    """Say what failed and leave."""
    say.print(f"[bold red]error:[/] {_escape(message)}", highlight=False)
    raise typer.Exit(code)


def bars(*columns: ProgressColumn, console: Console = say, transient: bool = False) -> Progress:
    """Make bars for people who look: what is no terminal gets not even a blank line.

    Args:
        columns: Of each bar.
        console: Where they are drawn.
        transient: True to leave nothing of them behind.
    """
    hidden = not console.is_terminal
    return Progress(*columns, console=console, transient=transient, disable=hidden)


@contextmanager
def report_errors() -> Generator[None]:
    """Turn the errors that this project raises on purpose into a message and an exit code."""
    try:
        yield
    except ConfigError as error:
        fail(str(error), ExitCode.USAGE)
    except BudgetSpentError as error:
        fail(f"{error}; what was finished is kept: run it again to go on")
    except AstraError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.STOPPED) from None
    except BaseExceptionGroup as group:
        known = _first_known(cast("BaseException", group))
        if known is None:
            raise
        fail(str(known), ExitCode.USAGE if isinstance(known, ConfigError) else ExitCode.FAILED)


def run_async(function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
    """Run a command's coroutine under uvloop, and report its errors."""
    with report_errors():
        return anyio.run(function, *args, backend_options={"use_uvloop": True})


def _first_known(error: BaseException) -> AstraError | None:
    """Find an error of this project in an exception group, depth first."""
    if isinstance(error, AstraError):
        return error
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return next((known for member in members if (known := _first_known(member))), None)


def _escape(message: str) -> str:
    return message.replace("[", r"\[")
