"""Addresses as they may be kept: without what could be a key."""

from urllib.parse import urlsplit, urlunsplit

__all__ = ["public_url"]


def public_url(address: object) -> str | None:
    """Reduce an address to scheme, host and path; None where it is no HTTP address.

    Credentials, queries and fragments carry keys and personal settings.
    """
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address.strip())
        host = parts.hostname
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{shown}:{port}" if port else shown, parts.path, "", ""))
