"""How commands speak: results on standard output, everything else on standard error, exit codes.

0 done; 1 something failed and says what; 2 wrong usage; 130 stopped by the user.
"""

import errno
import json
import re
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from enum import IntEnum
from typing import Any, NoReturn, TextIO, TypeVar, cast

import anyio
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

from astra_mcp.errors import AstraError, BudgetSpentError, ConfigError
from astra_mcp.report.shown import Cell, Progress, ProgressColumn, Table, Words, styled

__all__ = [
    "ExitCode",
    "Printer",
    "fail",
    "out",
    "print_json",
    "report_errors",
    "run_async",
    "say",
]

Result = TypeVar("Result")

_WRONG_PATH = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES})
"""What the user's choice of a path leads to and no fault of the code does."""
_NOT_PLAIN = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What JSON leaves as it is, and terminals and readers of lines do not."""


class Printer:
    """Writes for people; a string is shown as it is, whoever wrote it."""

    def __init__(
        self,
        *,
        stderr: bool = False,
        file: TextIO | None = None,
        width: int | None = None,
        is_terminal: bool | None = None,
    ) -> None:
        """Choose where it is written.

        Args:
            stderr: Standard error in the place of standard output.
            file: In the place of both.
            width: Characters of a line; by default the terminal's.
            is_terminal: Whether somebody looks; by default it is found out.
        """
        self._console = Console(
            stderr=stderr, file=file, width=width, force_terminal=is_terminal, soft_wrap=True
        )

    def print(self, shown: Cell | Table = "", *, style: str | None = None) -> None:
        """Write a line, several, or a table."""
        if isinstance(shown, Table):
            self._console.print(shown.drawn)
        else:
            text = styled(shown) if isinstance(shown, str) else shown
            self._console.print(text, style=style, highlight=False)

    def status(self, what: str) -> AbstractContextManager[object]:
        """Show that something is under way while the block runs."""
        return self._console.status(styled(what))

    def bars(self, *columns: ProgressColumn, transient: bool = False) -> Progress:
        """Make bars for people who look: what is no terminal gets not even a blank line.

        Args:
            *columns: What stands between the count and the time so far.
            transient: True to leave nothing of them behind.
        """
        around = (Words(), BarColumn(), MofNCompleteColumn(), *columns, TimeElapsedColumn())
        hidden = not self._console.is_terminal
        return Progress(*around, console=self._console, transient=transient, disable=hidden)


out = Printer()
"""Results for people."""
say = Printer(stderr=True)
"""Progress, notices and errors."""


class ExitCode(IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STOPPED = 130


def print_json(value: object) -> None:
    """Write one JSON object, and nothing else, to standard output."""
    text = json.dumps(value, ensure_ascii=False)
    sys.stdout.write(_NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def fail(message: str, code: ExitCode = ExitCode.FAILED) -> NoReturn:
    """Say what failed and leave."""
    say.print(styled(("error:", "bold red"), " ", message))
    raise typer.Exit(code)


@contextmanager
def report_errors() -> Generator[None]:
    """Turn the errors that this project raises on purpose, and paths that cannot be, into words."""
    try:
        yield
    except BudgetSpentError as error:
        fail(f"{error}; what was finished is kept: run it again to go on")
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.STOPPED) from None
    except (AstraError, OSError, BaseExceptionGroup) as error:
        known = _first_known(cast("BaseException", error))
        if known is None:
            raise
        fail(str(known), ExitCode.USAGE if isinstance(known, ConfigError) else ExitCode.FAILED)


def run_async(function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
    """Run a command's coroutine under uvloop, and report its errors."""
    with report_errors():
        return anyio.run(function, *args, backend_options={"use_uvloop": True})


def _first_known(error: BaseException) -> AstraError | None:
    """Find an error of this project, or a path that cannot be one, in an exception group, depth first."""
    if isinstance(error, AstraError):
        return error
    if isinstance(error, OSError) and error.filename is not None and error.errno in _WRONG_PATH:
        return ConfigError(f"{error.filename}: {error.strerror}")
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return next((known for member in members if (known := _first_known(member))), None)
