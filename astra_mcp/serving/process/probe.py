"""Asks the gateway of this home whether it is alive, for a container's health check.

``python -m astra_mcp.serving.process.probe`` ends with 0 where ``/healthz`` answers 200, else with 1.
Needs no key.
"""

import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from astra_mcp.home import home_folder
from gateway.edge.discovery import find_gateway

__all__ = ["main", "probe"]

PROBE_SECONDS = 4.0


def probe() -> str | None:
    """Ask; answer what is wrong, or None where it is alive."""
    running = find_gateway(home_folder())
    if running is None:
        return f"no gateway serves {home_folder()}"
    parts = urlsplit(running.url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"{running.url} does not answer: {error}"
    finally:
        connection.close()
    return None if status == HTTPStatus.OK else f"{running.url} answers {status}"


def main() -> None:
    """Ask, say what is wrong, and tell the caller by the exit status."""
    fault = probe()
    if fault is not None:
        sys.stderr.write(f"{fault}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
