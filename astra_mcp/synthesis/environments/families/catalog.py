"""All families, by name; a module is loaded when one of its families is asked for."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from astra_mcp.errors import UnknownNameError
from astra_mcp.synthesis.environments.families.family import Family

__all__ = ["FAMILIES", "find_families"]

_HERE = __package__
FAMILIES: Mapping[str, str] = {
    "accounts": "stateful.accounts:ACCOUNTS",
    "archives": "lookups.archives:ARCHIVES",
    "baskets": "stateful.baskets:BASKETS",
    "bookings": "stateful.bookings:BOOKINGS",
    "catalogue": "lookups.catalogue:CATALOGUE",
    "directory": "lookups.directory:DIRECTORY",
    "dosages": "lookups.dosages:DOSAGES",
    "inventories": "stateful.inventories:INVENTORIES",
    "journeys": "lookups.journeys:JOURNEYS",
    "ledgers": "lookups.ledgers:LEDGERS",
    "measurements": "lookups.measurements:MEASUREMENTS",
    "paths": "lookups.paths:PATHS",
    "permissions": "lookups.permissions:PERMISSIONS",
    "schedules": "lookups.schedules:SCHEDULES",
    "search": "lookups.search:SEARCH",
    "tariffs": "lookups.tariffs:TARIFFS",
    "tickets": "stateful.tickets:TICKETS",
    "micro-boxes": "micro.boxes:MICRO_BOXES",
    "micro-relations": "micro.relations:MICRO_RELATIONS",
    "micro-routes": "micro.routes:MICRO_ROUTES",
}
"""Where each one stands."""
_GROUPS = {"all": "", "micro": "micro-"}
"""Words for several: the families whose names begin so."""


def find_families(names: Sequence[str]) -> list[Family]:
    """Find families by name, or by the words ``all`` and ``micro``, each once, in the order of the catalog.

    Raises:
        UnknownNameError: There is none of a name.
    """
    wanted: set[str] = set()
    for name in names:
        if name in _GROUPS:
            wanted.update(f for f in FAMILIES if f.startswith(_GROUPS[name]))
        elif name in FAMILIES:
            wanted.add(name)
        else:
            hint = f"there are {', '.join((*_GROUPS, *FAMILIES))}"
            raise UnknownNameError.among("family", name, (*_GROUPS, *FAMILIES), hint)
    return [_load(place) for name, place in FAMILIES.items() if name in wanted]


def _load(place: str) -> Family:
    module, _, constant = place.partition(":")
    return getattr(import_module(f"{_HERE}.{module}"), constant)
