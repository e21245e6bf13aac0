"""Texts as other texts that stand for them: encodings both ways, digests, and whether they are well-formed."""

import base64
import binascii
import hashlib
import hmac
import html
import re
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import quote, unquote, urlsplit
from uuid import UUID

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    REQUIRED,
    Computation,
    computation,
    option,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "digest"]

_ALGORITHMS: Final = (
    "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3256", "sha3512", "blake2b", "blake2s",
)  # fmt: skip
_OFFICIAL: Final = {"sha3256": "sha3_256", "sha3512": "sha3_512"}


def _algorithm(name: str) -> str:
    plain = re.sub(r"[\s_\-]", "", name.lower())
    if plain not in _ALGORITHMS:
        raise UnfitError(f"Invalid hash algorithm: {name[:40]}")
    return _OFFICIAL.get(plain, plain)


def digest(text: str, algorithm: str) -> JsonValue:
    """The digest of a text in UTF-8, in hexadecimal digits."""
    if algorithm.lower() == "crc32":
        return _crc32(text)
    chosen = _algorithm(algorithm)
    return {"result": hashlib.new(chosen, _bytes(text)).hexdigest(), "algorithm": chosen}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _crc32(text: str) -> JsonValue:
    return f"{zlib.crc32(_bytes(text)):08x}"


def _keyed(text: str, key: str, algorithm: str) -> JsonObject:
    chosen = _algorithm(algorithm)
    found = hmac.new(_bytes(key), _bytes(text), chosen).hexdigest()
    return {"result": found, "algorithm": f"hmac-{chosen}"}


def _from_base64(text: str) -> str:
    plain = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (ValueError, binascii.Error):
        raise UnfitError("Invalid Base64 input") from None
    return _decoded(decoded)


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UnfitError("The decoded bytes are not UTF-8 text") from None


def _from_hex(text: str) -> str:
    try:
        return _decoded(bytes.fromhex(text.strip().removeprefix("0x")))
    except ValueError:
        raise UnfitError("Invalid hexadecimal input") from None


def _from_binary(text: str) -> str:
    parts = text.split()
    if not all(re.fullmatch("[01]{8}", part) for part in parts):
        raise UnfitError("Invalid binary input: groups of 8 digits are expected")
    return _decoded(bytes(int(part, 2) for part in parts))


def _rot13(text: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    turned = letters[13:] + letters[:13]
    return text.translate(str.maketrans(letters + letters.upper(), turned + turned.upper()))


_ENCODINGS: Final[dict[str, tuple[Callable[[str], str], Callable[[str], str]]]] = {
    "base64": (lambda text: base64.b64encode(_bytes(text)).decode(), _from_base64),
    "hex": (lambda text: _bytes(text).hex(), _from_hex),
    "url": (lambda text: quote(text, safe=""), unquote),
    "html": (html.escape, html.unescape),
    "rot13": (_rot13, _rot13),
    "binary": (lambda text: " ".join(f"{byte:08b}" for byte in _bytes(text)), _from_binary),
}


def _coded(text: str, encoding: str, *, is_back: bool) -> str:
    plain = encoding.lower().replace("uri", "url").replace("-", "").replace("hexadecimal", "hex")
    if plain not in _ENCODINGS:
        raise UnfitError(f"Invalid encoding: {encoding[:40]}")
    return _ENCODINGS[plain][is_back](text)


def _is_uuid(text: str) -> JsonObject:
    try:
        found = UUID(text.strip())
    except ValueError:
        return {"valid": False}
    return {"valid": True, "version": found.version}


_EMAIL: Final = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)


def _is_email(text: str) -> JsonObject:
    plain = text.strip()
    local = plain.partition("@")[0]
    is_dotted = local.startswith(".") or local.endswith(".") or ".." in local
    return {"valid": len(plain) <= 254 and not is_dotted and _EMAIL.fullmatch(plain) is not None}


def _is_url(text: str) -> JsonObject:
    plain = text.strip()
    try:
        parts = urlsplit(plain)
        is_whole = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError:
        return {"valid": False}
    else:
        return {"valid": is_whole and not re.search(r"\s", plain)}


def _url_parts(text: str) -> JsonObject:
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UnfitError(f"Invalid URL: {text[:60]}") from None
    if not parts.scheme:
        raise UnfitError(f"Invalid URL: {text[:60]}")
    return {
        "scheme": parts.scheme, "host": parts.hostname, "port": port, "path": parts.path, "query": parts.query,
        "fragment": parts.fragment,
    }  # fmt: skip


def _is_card(text: str) -> JsonObject:
    """By Luhn's check digit."""
    digits = [int(c) for c in re.sub(r"[\s-]", "", text) if c.isascii() and c.isdigit()]
    if len(digits) < 2 or len(digits) != len(re.sub(r"[\s-]", "", text)):
        return {"valid": False}
    doubled = (d if at % 2 == 0 else d * 2 - 9 * (d > 4) for at, d in enumerate(reversed(digits)))
    return {"valid": sum(doubled) % 10 == 0}


_TEXT: Final = text(
    "text",
    "input data string content message str value plaintext encoded encoded_text payload input_text text_to_hash base64 hex s url encoded_string input_string",
)
_TOLD: Final = " ".join(_ALGORITHMS)
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("hash, digest, checksum, hash text, hash string, generate hash", digest, _TEXT,
                option("algorithm", "hash_algorithm algo method type hash_type", REQUIRED, f"{_TOLD} crc32"), beside="generate"),
    *(computation(name, partial(digest, algorithm=name), _TEXT, beside="hash generate digest encrypt checksum") for name in _ALGORITHMS),
    computation("crc32", _crc32, _TEXT, beside="checksum hash"),
    computation("hmac", _keyed, _TEXT, text("key", "secret secret_key"), option("algorithm", "hash_algorithm algo digest hash_function", "sha256", _TOLD),
                beside="generate signature sign hash"),
    *(computation(word, partial(_coded, encoding=name, is_back=is_back), _TEXT, beside="component entity")
      for name in _ENCODINGS
      for is_back, words in ((False, ("encode", "escape", "encoder")), (True, ("decode", "unescape", "decoder")))
      for word in (f"{name} {w}" for w in words)),
    computation("encode", partial(_coded, is_back=False), _TEXT, text("encoding", "format type method scheme"), is_sure=False),
    computation("decode", partial(_coded, is_back=True), _TEXT, text("encoding", "format type method scheme"), is_sure=False),
    computation("rot13", _rot13, _TEXT),
    computation("validate uuid, uuid, valid uuid", _is_uuid, text("text", "uuid value input id uuid_string"), beside="validate valid"),
    computation("validate email, email valid, valid email, email validate, email validation", _is_email, text("text", "email email_address address value input"), beside="address format syntax"),
    computation("validate url, valid url, url validate", _is_url, text("text", "url value input"), beside="format"),
    computation("parse url, url parse, url parser", _url_parts, text("text", "url value input")),
    computation("luhn, validate credit card, luhn check", _is_card, text("text", "number card_number value input card"), beside="validate"),
)  # fmt: skip
