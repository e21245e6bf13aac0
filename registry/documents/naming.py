"""Names that every model provider takes: letters, digits, ``_`` and ``-``, at most 64 of them."""

import re
import unicodedata
from hashlib import sha256

__all__ = ["distinct_name", "is_safe_name", "safe_name"]

_MAX_LENGTH = 64
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_DIGITS = 8


def is_safe_name(name: str) -> bool:
    """Say whether every provider takes a name as it is."""
    return _SAFE.fullmatch(name) is not None


def safe_name(name: str, *, fallback: str) -> str:
    """Write a name so that every provider takes it.

    Accents are dropped, what cannot be written otherwise becomes ``_``. Where letters or digits were lost,
    or the name is cut, digits of its hash keep names apart that would look alike.

    Args:
        name: As found.
        fallback: What to call it, before the digits, where nothing of it can be written.
    """
    if is_safe_name(name):
        return name
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    written = _UNSAFE.sub("_", plain).strip("_")
    has_lost = any(c.isalnum() and not c.isascii() for c in plain)
    if written and not has_lost and len(written) <= _MAX_LENGTH:
        return written
    return distinct_name(written or fallback, name)


def distinct_name(safe: str, original: str) -> str:
    """Add digits that tell a name from others, made from what it was."""
    digits = sha256(original.encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{safe[: _MAX_LENGTH - _HASH_DIGITS - 1].rstrip('_')}_{digits}"
