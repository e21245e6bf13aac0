"""A small MCP server of one's own, for `train_on_own_server.py`."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("harbour")


@server.tool()
def weigh(ship: str) -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs {100 * len(ship)} tons."


if __name__ == "__main__":
    server.run()
