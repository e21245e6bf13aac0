"""``python -m astra_mcp``: the command line, for programs that cannot rely on PATH."""

from astra_mcp.cli.main import main

if __name__ == "__main__":
    main()
