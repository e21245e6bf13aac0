"""Asks the gateway of this home whether it is alive, for a container's health check.

``python -m astra_mcp.serving.process.probe`` ends with 0 where ``/healthz`` answers 200, else with 1.
Needs no key.
"""

import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from astra_mcp.home import home_folder
from gateway.edge.discovery import find_gateway

__all__ = ["main", "probe", "status_at"]

PROBE_SECONDS = 4.0


def status_at(url: str) -> int:
    """Ask for a URL, with no key; answers the HTTP status.

    Raises:
        OSError: There is no answer, or none in HTTP.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status
    except HTTPException as error:
        raise OSError(str(error)) from None
    finally:
        connection.close()


def probe() -> str | None:
    """Ask; answer what is wrong, or None where it is alive."""
    running = find_gateway(home_folder())
    if running is None:
        return f"no gateway serves {home_folder()}"
    try:
        status = status_at(f"{running.url}/healthz")
    except OSError as error:
        return f"{running.url} does not answer: {error}"
    return None if status == HTTPStatus.OK else f"{running.url} answers {status}"


def main() -> None:
    """Ask, say what is wrong, and tell the caller by the exit status."""
    fault = probe()
    if fault is not None:
        sys.stderr.write(f"{fault}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
