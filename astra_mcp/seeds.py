"""Seeds derived by name from one root, so that no random choice depends on another.

``derive_seed(root, "distractors")`` and ``derive_seed(root, "failures")`` are independent; adding a
third name changes neither.
"""

import random
from hashlib import sha256

from astra_mcp.types import canonical_json

__all__ = ["derive_seed", "generator"]

_SEED_BYTES = 8


def derive_seed(root: int, *names: str | int) -> int:
    """Derive a seed in [0, 2**64) from a root seed and the path of names that leads to it."""
    digest = sha256(canonical_json([str(root), *[str(n) for n in names]])).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def generator(root: int, *names: str | int) -> random.Random:
    """Build the random generator that belongs to a path of names."""
    return random.Random(derive_seed(root, *names))  # noqa: S311 - reproducible, not secret
