"""Bundles by the dozen: cheating and broken ones with honest twins, and honest ones of many sorts.

``KINDS`` names every kind. A kind makes as many variants as asked for; data, words, names, shapes and the
language differ by the variant. Nothing of the product knows this package.
"""

from bundle_corpus.cheats import (
    grounding,
    hygiene,
    lasting,
    leaks,
    lookups,
    needless,
    onward,
    opening,
)
from bundle_corpus.honest import forms, lists, states, sums, values
from bundle_corpus.honest import lookups as records
from bundle_corpus.kinds import KINDS, Kind

FAMILIES = (
    opening,
    grounding,
    lasting,
    hygiene,
    leaks,
    lookups,
    needless,
    onward,
    records,
    forms,
    lists,
    values,
    sums,
    states,
)
"""The modules that fill the table."""

__all__ = ["FAMILIES", "KINDS", "Kind"]
