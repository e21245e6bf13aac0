"""Keys that every database can look up, made from any text."""

from hashlib import sha256

from registry.documents.texts import storable_text

__all__ = ["storable_key"]

_MAX_CHARACTERS = 200
"""Three keys of four bytes a character fit into an entry of PostgreSQL's indexes, which hold 2,704 bytes."""


def storable_key(key: str) -> str:
    """Give a key as it is where databases can look it up, else its hash."""
    if len(key) <= _MAX_CHARACTERS and storable_text(key) == key:
        return key
    return f"sha256:{sha256(key.encode(errors='surrogatepass')).hexdigest()}"
