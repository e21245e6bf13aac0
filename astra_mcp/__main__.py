"""The program ``astra-mcp``, also as ``python -m astra_mcp`` for programs that cannot rely on PATH.

Loading the commands takes a second, in which Ctrl-C stops it as quietly as later.
"""

import sys

_STOPPED = 130
"""As :class:`astra_mcp.report.console.ExitCode` has it, which is not loaded yet."""


def main() -> None:
    """Run the command line."""
    try:
        from astra_mcp.cli.main import main as run  # noqa: PLC0415 - takes a second

        run()
    except KeyboardInterrupt:
        sys.exit(_STOPPED)


if __name__ == "__main__":
    main()
