"""Texts, keys, names and addresses in the form in which they may be stored, shown and sent to models."""

import re
import unicodedata
from hashlib import sha256
from urllib.parse import urlsplit, urlunsplit

__all__ = [
    "clean_text",
    "distinct_name",
    "is_safe_name",
    "public_url",
    "safe_name",
    "storable_key",
    "storable_text",
]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters, marks of direction, and invisible characters in which texts are hidden; not the joiners
that scripts and emoji are written with."""
_HALVES = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")


_MAX_KEY_LENGTH = 200
"""Three keys of four bytes a character fit into an entry of PostgreSQL's indexes, which hold 2,704 bytes."""

_MAX_NAME_LENGTH = 64
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_DIGITS = 8


def clean_text(text: str) -> str:
    """Remove what no reader sees, unify line ends and cut white space off both ends.

    The words stay as they are, whoever they are meant for: a text is data.
    """
    whole = _HALVES.sub("\ufffd", text)
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", whole)).strip()


def storable_text(text: str) -> str:
    """Replace what a database cannot hold: NUL, and halves of characters."""
    return _HALVES.sub("\ufffd", text).replace("\x00", "\ufffd")


def storable_key(key: str) -> str:
    """Give a key as it is where databases can look it up, else its hash."""
    if len(key) <= _MAX_KEY_LENGTH and storable_text(key) == key:
        return key
    return f"sha256:{sha256(key.encode(errors='surrogatepass')).hexdigest()}"


def is_safe_name(name: str) -> bool:
    """Say whether every model provider takes a name as it is: at most 64 letters, digits, ``_`` and ``-``."""
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
    if written and not has_lost and len(written) <= _MAX_NAME_LENGTH:
        return written
    return distinct_name(written or fallback, name)


def distinct_name(safe: str, original: str) -> str:
    """Add digits that tell a name from others, made from what it was."""
    digits = sha256(original.encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{safe[: _MAX_NAME_LENGTH - _HASH_DIGITS - 1].rstrip('_')}_{digits}"


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
