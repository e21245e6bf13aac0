"""What is said of an act: what was done to what, with its amounts, and the state that it leaves."""

import re
from collections.abc import Mapping
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import Wording, written
from servers.emulated.offline.finding import Call

__all__ = ["past", "receipt", "sentence"]

_MAX_SHOWN: Final = 200
_IRREGULAR: Final = {
    verb: done
    for pairs in (
        "send:sent set:set run:ran take:took write:wrote put:put go:went make:made build:built buy:bought",
        "sell:sold begin:began read:read find:found get:got leave:left shut:shut do:did undo:undid redo:redid",
        "reset:reset bid:bid init:initialized rebuild:rebuilt bulk:processed goto:opened login:logged_in",
        "logout:logged_out backup:backed_up setup:set_up forget:forgot give:gave hold:held keep:kept pay:paid",
        "withdraw:withdrew shutdown:shut_down lend:lent draw:drew drive:drove hide:hid lose:lost spend:spent",
        "split:split cut:cut hit:hit let:let quit:quit spin:spun throw:threw wake:woke catch:caught think:thought",
        "tell:told show:showed rerun:reran resend:resent overwrite:overwrote freeze:froze unfreeze:unfroze",
        "choose:chose cast:cast broadcast:broadcast eval:evaluated checkin:checked_in checkout:checked_out",
        "signin:signed_in signout:signed_out gen:generated exec:executed config:configured del:deleted",
        "transfer:transferred cancel:cancelled",
    )
    for verb, done in (pair.split(":") for pair in pairs.split())
}
_DOUBLED: Final = frozenset(
    [
        "stop",
        "drag",
        "drop",
        "tap",
        "swap",
        "submit",
        "ban",
        "plan",
        "commit",
        "pin",
        "unpin",
        "log",
        "tag",
        "untag",
        "map",
        "skip",
        "ship",
        "flip",
        "clip",
        "crop",
        "trim",
        "scan",
        "plug",
        "unplug",
        "snap",
        "zip",
        "pop",
        "step",
        "wrap",
        "unwrap",
        "grab",
        "refer",
        "defer",
        "permit",
        "admit",
        "omit",
        "control",
        "chat",
        "format",
        "debug",
        "equip",
        "strip",
    ]
)
"""Whose last letter is written twice."""
_MOVES: Final = {
    "next": "Moved on to the next {of}", "previous": "Went back to the previous {of}", "prev": "Went back to the previous {of}",
    "back": "Went back", "forward": "Went forward", "home": "Went to the home {of}",
}  # fmt: skip
"""Words of names that are no verbs, and what they are said of."""
_HANDLING: Final = frozenset(("manage", "handle", "control", "do", "operate", "perform"))
_NO_OBJECT: Final = frozenset(
    ("tool", "api", "mcp", "the", "a", "an", "by", "with", "via", "id", "name", "request", "action")
)
_ENDS: Final = frozenset(("to", "on", "in", "at", "for", "from", "of", "into"))
_TARGETS: Final = (
    "url", "selector", "path", "file_path", "filename", "name", "title", "to", "recipient", "target", "key",
    "symbol", "id", "command", "app", "app_name", "element", "device", "room", "entity_id", "username", "email",
)  # fmt: skip
_STATES: Final = {
    "enable": "enabled", "disable": "disabled", "turn_on": "on", "turn_off": "off", "on": "on", "off": "off",
    "start": "running", "stop": "stopped", "restart": "running", "reboot": "running", "mute": "muted", "unmute": "unmuted",
    "connect": "connected", "disconnect": "disconnected", "follow": "following", "unfollow": "not_following",
    "subscribe": "subscribed", "unsubscribe": "unsubscribed", "join": "joined", "leave": "left", "block": "blocked",
    "unblock": "unblocked", "ban": "banned", "unban": "active", "deploy": "deployed", "install": "installed",
    "uninstall": "removed", "book": "confirmed", "reserve": "confirmed", "cancel": "cancelled", "schedule": "scheduled",
    "merge": "merged", "register": "registered", "confirm": "confirmed", "accept": "accepted", "decline": "declined",
    "login": "logged_in", "logout": "logged_out", "play": "playing", "pin": "pinned", "unpin": "unpinned", "mark": "marked",
    "invite": "invited", "trigger": "queued", "run": "completed", "execute": "completed", "crawl": "queued",
}  # fmt: skip
"""What an act leaves, by its verb."""
_PAYING: Final = frozenset(
    ("transfer", "swap", "buy", "sell", "stake", "unstake", "mint", "burn", "withdraw", "deposit", "pay", "bridge", "claim", "trade",
     "redeem", "lend", "borrow", "repay", "delegate", "supply", "wrap", "unwrap", "approve", "airdrop", "send")
)  # fmt: skip
_CHAINS: Final = (
    ("solana", "signature", 88, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
    ("aptos", "hash", 64, "0123456789abcdef"),
    ("sui", "digest", 44, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
    ("bitcoin", "txid", 64, "0123456789abcdef"),
)  # fmt: skip
_ON_CHAIN: Final = frozenset(
    ("solana", "aptos", "sui", "bitcoin", "ethereum", "evm", "eth", "wallet", "token", "tokens", "crypto", "chain", "blockchain",
     "starknet", "strk", "nft", "swap", "defi", "web3", "onchain", "pump", "base", "polygon", "usdc", "sol", "erc20", "near", "ton")
)  # fmt: skip
_AMOUNTS: Final = (
    "amount",
    "quantity",
    "sell_amount",
    "buy_amount",
    "sol_amount",
    "amount_in",
    "lamports",
)


_BEGINNING: Final = frozenset(
    ("trigger", "run", "start", "launch", "deploy", "crawl", "schedule", "execute")
)
"""What these begin has an id of its own."""


def past(verb: str) -> str:
    """``click`` is ``clicked``, ``plan`` is ``planned``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb].replace("_", " ")
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    if verb in _DOUBLED:
        return f"{verb}{verb[-1]}ed"
    return f"{verb}ed"


def sentence(call: Call, verb: str, wording: Wording, title: str) -> str:
    """``Clicked #submit``: what was done to what.

    Args:
        call: Does something.
        verb: What it does; empty where nothing says so.
        wording: Says the language.
        title: What the server is called: the name of the service stands in no sentence.
    """
    named = words_of(call.tool.name)
    if not wording.is_english:
        return wording.done(" ".join(w for w in named if w not in _NO_OBJECT))
    service = re.sub(r"[^a-z0-9]", "", title.casefold())
    lead = next((at for at, word in enumerate(named) if word not in service or word == verb), 0)
    kept = [word for word in named[lead:] if word not in _HANDLING]
    words = [
        word for at, word in enumerate(kept) if word not in _NO_OBJECT or 0 < at == len(kept) - 1
    ]
    verb = _chosen(call) or verb
    said = _said(words, verb)
    target = _target(call, said)
    if not target:
        return said
    return f"{said}: {target}" if " " in said else f"{said} {target}"


def _said(words: list[str], verb: str) -> str:
    if words[:1] and words[0] in _MOVES:
        return _MOVES[words[0]].format(of=" ".join(words[1:]) or "one")
    at = words.index(verb) if verb in words else -1
    rest = (words[at + 1 :] or words[:at]) if at >= 0 else [word for word in words if word != verb]
    while rest and rest[-1] in _ENDS:
        rest = rest[:-1]
    done = past(verb) if verb else "completed"
    return " ".join([done, *rest]).capitalize()


def _chosen(call: Call) -> str:
    """The verb that an argument says: ``enable``."""
    for name, value in call.arguments.items():
        if key_of(name) in ("action", "operation", "command_type") and isinstance(value, str):
            words = words_of(value)
            if words and words[0].isascii() and value.isascii() and len(words) in (1, 2):
                return words[0]
    return ""


def _target(call: Call, said: str) -> str:
    given = {key_of(name): value for name, value in call.arguments.items()}
    amount = next(
        (given[key] for key in _AMOUNTS if isinstance(given.get(key), str | int | float)), None
    )
    whom = next(
        (
            given[key]
            for key in ("to", "recipient", "to_address")
            if isinstance(given.get(key), str)
        ),
        None,
    )
    unit = next(
        (
            given[key]
            for key in ("token", "symbol", "currency", "asset")
            if isinstance(given.get(key), str)
        ),
        "",
    )
    if amount is not None and whom is not None:
        return f"{amount} {unit}".strip() + f" to {whom}"
    found = (given[key] for key in _TARGETS if isinstance(given.get(key), str | int))
    target = str(next(found, ""))[:_MAX_SHOWN]
    return "" if target.casefold() in said.casefold() else target


def receipt(call: Call, verb: str, *, title: str, rng: RandomStream, now: int) -> JsonObject:
    """The state that an act leaves, and what a payment is known by.

    Args:
        call: Does something.
        verb: What it does.
        title: What the server is called, which says on which chain it pays.
        rng: Decide the reference.
        now: Seconds since 1970.
    """
    verb = _chosen(call) or verb
    told: JsonObject = {}
    names = words_of(call.tool.name)
    given = {key_of(name): value for name, value in call.arguments.items()}
    if _is_payment(verb, given, {*names}, {*words_of(title)}):
        return {
            **_payment({*names, *words_of(title)}, rng),
            "status": "confirmed",
            "timestamp": written(now),
        }
    state = call.reading.state or next((_STATES[w] for w in (verb, *names) if w in _STATES), None)
    if state and "status" not in given and "state" not in given:
        told["status"] = state
    if verb in _BEGINNING and not any(key.endswith("id") for key in given):
        noun = re.sub(r"_id$", "", call.reading.noun or "run")
        told["id"] = f"{noun.rpartition('_')[2] or 'run'}_{rng.at('id').digits(8)}"
    return told


def _is_payment(
    verb: str, given: Mapping[str, JsonValue], words: set[str], around: set[str]
) -> bool:
    """Say whether an act moves money or coins."""
    if not words.isdisjoint(("tx", "transaction")) and verb in (
        "send",
        "broadcast",
        "submit",
        "sign",
    ):
        return True
    return verb in _PAYING and (
        not given.keys().isdisjoint(_AMOUNTS) or not around.isdisjoint(_ON_CHAIN)
    )


def _payment(words: set[str], rng: RandomStream) -> JsonObject:
    for chain, name, length, letters in _CHAINS:
        if chain in words or (chain == "solana" and "pump" in words):
            return {name: rng.at("paid").digits(length, letters)}
    if words & _ON_CHAIN:
        return {"transaction_hash": f"0x{rng.at('paid').digits(64)}"}
    reference: JsonValue = f"tr_{rng.at('paid').digits(16)}"
    return {"id": reference}
