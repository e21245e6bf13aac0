"""A notebook to test servers with: tools with state, with chance, with errors, and two that misbehave."""

import random
import time
import uuid

_words: list[str] = []


def remember(word: str) -> dict[str, object]:
    """Write a word down and return all of them."""
    _words.append(word)
    return {"words": list(_words), "count": len(_words)}


def draw(sides: int = 6) -> dict[str, object]:
    """Return what depends on chance and time."""
    return {"side": random.randint(1, sides), "id": str(uuid.uuid4()), "at": time.time()}  # noqa: S311


def refuse(word: str) -> str:
    """Raise, after the state has changed."""
    _words.append(word)
    raise LookupError(f"the notebook has no page for {word}")


def flood(length: int) -> str:
    """Return a long text, which may be more than the sandbox carries."""
    return "x" * length


def hang() -> str:
    """Never return, whatever interrupts it."""
    while True:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001, S112 - what it is here to do
            continue
