"""Order desk of a small restaurant group: tickets, allergens, substitutes, changes and pickup.

The state of an episode is the set of tickets. Replacing a component changes what a ticket costs and when
it is ready.
"""

import random

BRANCHES = ("Quayside", "Old Brewery", "Station", "Market Hall", "Botanic", "Harbour Point")
SERVICES = ("takeout", "takeout", "delivery", "dine_in")
SIDE_CUP_PRICE = 0.60
CURBSIDE_MINUTES = 4
ALLERGENS = (
    "gluten crustaceans eggs fish peanuts soy milk nuts celery mustard sesame sulphites lupin molluscs"
).split()

# kind: name (allergens; surcharge in GBP; extra minutes when it is swapped in)
_COMPONENT_TABLE = """
sauce: tahini lemon (sesame; 0.40; 3)|herb yogurt (milk; 0.80; 2)
sauce: romesco (nuts, sulphites; 0.70; 5)|miso glaze (soy; 0.55; 4)
sauce: salsa verde (fish, mustard; 0.45; 3)|chimichurri (sulphites; 0.65; 6)
sauce: green harissa (; 0.85; 4)|gochujang mayo (eggs, soy, sesame; 0.50; 2)
sauce: walnut pesto (nuts, milk; 0.90; 5)|charred pepper (celery; 1.15; 7)
sauce: honey mustard (mustard; 0.35; 2)|peanut lime (peanuts, soy; 0.60; 4)
base: red rice (; 0.00; 4)|soba (gluten; 0.50; 6)|pearl barley (gluten; 0.20; 5)
base: lentils (; 0.10; 3)|egg noodles (gluten, eggs; 0.40; 6)
base: potato (; 0.00; 8)|polenta (milk; 0.30; 7)|bulgur (gluten; 0.10; 5)
base: lupin couscous (lupin; 0.60; 5)
protein: halloumi (milk; 2.10; 5)|smoked trout (fish; 3.20; 2)|chicken thigh (; 2.60; 9)
protein: crispy tofu (soy; 1.70; 7)|prawns (crustaceans; 3.60; 6)
protein: falafel (gluten, sesame; 1.80; 8)|soft egg (eggs; 1.10; 6)|mussels (molluscs; 2.90; 9)
protein: tempeh (soy, gluten; 1.90; 7)
veg: roast carrot (; 0.00; 5)|charred leek (; 0.20; 6)|celeriac slaw (celery, eggs; 0.30; 2)
veg: broccoli (; 0.10; 4)|pickled beet (sulphites; 0.20; 1)
veg: aubergine (; 0.40; 8)|fennel salad (; 0.30; 2)|kale (; 0.10; 3)|corn ribs (; 0.50; 7)
veg: edamame (soy; 0.40; 2)
topping: dukkah (nuts, sesame; 0.40; 0)|sunflower seeds (; 0.20; 0)|crispy onion (gluten; 0.30; 0)
topping: feta (milk; 0.80; 0)
topping: furikake (sesame, fish, soy; 0.50; 0)|toasted almonds (nuts; 0.60; 0)
topping: pumpkin seeds (; 0.25; 0)|brown shrimp (crustaceans; 1.20; 0)
"""
_DISHES = (
    "Harvest bowl|Tidewater plate|Garden tray|Smokehouse bowl|Lamplight supper|Market salad|Ferry lunch|"
    "Brewer's plate|Orchard bowl|Slow roast tray|Saltmarsh bowl|Early shift plate|Canal box|Weaver's lunch|"
    "Terrace salad|Night bus noodles|Allotment box|Headland plate"
).split("|")
_CORE_DISH = ("Ember aubergine bowl", ("tahini lemon", "red rice", "halloumi", "aubergine", "feta"))
_FIRST_NAMES = (
    "Ada Bram Carys Dilan Esme Fintan Gwen Hallam Ines Jonas Kezia Ludo Mabel Niall Oona"
).split()
_LAST_NAMES = (
    "Ashcombe Brierley Coyle Dunmore Everard Fenwick Garside Holloway Inglis Jephcott Kerrow"
).split()

# ticket|guest|branch|service date|service|dishes|ready at, minutes after midnight
_CORE_TICKETS = """
W4TK7R|Maren Tolliver|Quayside|2026-04-17|takeout|Ember aubergine bowl, Ferry lunch, Canal box|1112
D9PB3H|Maren Tolliver|Quayside|2026-04-10|takeout|Orchard bowl, Canal box|1135
N6XJ2C|Maren Tolliver|Botanic|2026-04-17|delivery|Ember aubergine bowl, Market salad|1173
Z8FQ5M|Hallam Coyle|Quayside|2026-04-17|takeout|Ember aubergine bowl, Garden tray|1146
"""


def _stock(rng: random.Random) -> dict:
    """Give every component of the table a code."""
    components = {}
    codes = iter(rng.sample(range(200, 999), 100))
    for line in _COMPONENT_TABLE.strip().splitlines():
        kind, _, entries = line.partition(": ")
        for entry in entries.split("|"):
            name, _, details = entry.rstrip(")").partition(" (")
            allergens, surcharge, minutes = details.split(";")
            components[f"CMP-{next(codes)}"] = {
                "name": name,
                "kind": kind,
                "allergens": allergens.split(", ") if allergens else [],
                "surcharge": float(surcharge),
                "minutes": int(minutes),
            }
    return components


def _write_menu(rng: random.Random) -> dict:
    """Compose each dish of one component of every kind."""
    by_kind = {}
    for code, component in COMPONENTS.items():
        by_kind.setdefault(component["kind"], []).append(code)
    menu = {dish: [rng.choice(codes) for codes in by_kind.values()] for dish in _DISHES}
    code_of = {component["name"]: code for code, component in COMPONENTS.items()}
    menu[_CORE_DISH[0]] = [code_of[name] for name in _CORE_DISH[1]]
    return {
        dish: {"price": 10.5 + 0.25 * rng.randint(0, 18), "components": codes}
        for dish, codes in menu.items()
    }


def _take_orders(rng: random.Random) -> dict:
    """Take 700 orders over two weeks at all branches."""
    letters = "BCDFGHJKMNPQRTVWXZ23456789"
    tickets = {}
    for _ in range(700):
        guest = f"{rng.choice(_FIRST_NAMES)} {rng.choice(_LAST_NAMES)}"
        dishes = rng.sample([*MENU], rng.randint(1, 4))
        day = f"2026-04-{rng.randint(6, 19):02d}"
        row = (guest, rng.choice(BRANCHES), day, rng.choice(SERVICES), dishes)
        state = "placed" if day > "2026-04-16" and rng.random() < 0.7 else "preparing"
        tickets["".join(rng.choices(letters, k=6))] = _ticket(*row, rng.randint(690, 1290), state)
    for line in _CORE_TICKETS.strip().splitlines():
        ref, guest, branch, day, service, dishes, ready = line.split("|")
        tickets[ref] = _ticket(guest, branch, day, service, dishes.split(", "), int(ready))
    return tickets


def _ticket(
    guest: str,
    branch: str,
    day: str,
    service: str,
    dishes: list,
    ready: int,
    state: str = "placed",
) -> dict:
    return {
        "guest": guest,
        "branch": branch,
        "service_date": day,
        "service": service,
        "state": state,
        "lines": {dish: list(MENU[dish]["components"]) for dish in dishes},
        "total": sum(MENU[dish]["price"] for dish in dishes),
        "ready": ready,
    }


_rng = random.Random(1704)
COMPONENTS = _stock(_rng)
MENU = _write_menu(_rng)
TICKETS = _take_orders(_rng)


def find_ticket(guest_name: str, branch: str, service_date: str) -> dict:
    """Find a guest's tickets at a branch on a day."""
    wanted = (guest_name.strip().casefold(), branch, service_date)
    found = [
        {
            "ticket_ref": ref,
            "guest": t["guest"],
            "service": t["service"],
            "state": t["state"],
            "dishes": list(t["lines"]),
        }
        for ref, t in TICKETS.items()
        if (t["guest"].casefold(), t["branch"], t["service_date"]) == wanted
    ]
    if not found:
        raise LookupError(f"no ticket for {guest_name!r} at {branch} on {service_date}")
    return {"branch": branch, "date": service_date, "tickets": found}


def check_allergens(ticket_ref: str, allergen: str) -> dict:
    """List the components of a ticket that contain an allergen, dish by dish."""
    hits = [
        {"dish": dish, "component": code, "name": COMPONENTS[code]["name"]}
        for dish, codes in _ticket_of(ticket_ref)["lines"].items()
        for code in codes
        if allergen in COMPONENTS[code]["allergens"]
    ]
    return {"ticket_ref": ticket_ref, "allergen": allergen, "hits": hits}


def find_substitutes(component: str, free_of: list[str], max_results: int = 2) -> dict:
    """List what can take the place of a component, cheapest first, without the named allergens."""
    kind = _component(component)["kind"]
    found = sorted(
        (c["surcharge"], code)
        for code, c in COMPONENTS.items()
        if c["kind"] == kind and code != component and not set(free_of) & set(c["allergens"])
    )
    return {
        "kind": kind,
        "free_of": free_of,
        "substitutes": [
            {
                "component": code,
                "name": COMPONENTS[code]["name"],
                "allergens": COMPONENTS[code]["allergens"],
                "surcharge": f"{surcharge:.2f} GBP",
            }
            for surcharge, code in found[:max_results]
        ],
    }


def replace_component(
    ticket_ref: str, component: str, substitute: str, serving: str = "mixed_in"
) -> dict:
    """Replace a component in every dish of a ticket that has it, while nothing is being cooked."""
    ticket, old, new = _ticket_of(ticket_ref), _component(component), _component(substitute)
    if ticket["state"] != "placed":
        raise ValueError(f"the kitchen has started ticket {ticket_ref}; it can no longer change")
    if component == substitute:
        raise ValueError(f"{component} cannot replace itself; see find_substitutes")
    if old["kind"] != new["kind"]:
        raise ValueError(f"{substitute} is a {new['kind']} and cannot replace a {old['kind']}")
    dishes = [dish for dish, codes in ticket["lines"].items() if component in codes]
    if not dishes:
        raise ValueError(f"ticket {ticket_ref} has no {component}; see check_allergens")
    for dish in dishes:
        codes = ticket["lines"][dish]
        codes[codes.index(component)] = substitute
        ticket["total"] += new["surcharge"] - old["surcharge"]
        ticket["total"] += SIDE_CUP_PRICE if serving == "on_the_side" else 0
    ticket["ready"] += new["minutes"]
    return {
        "ticket_ref": ticket_ref,
        "changed_dishes": dishes,
        "removed": component,
        "added": substitute,
        "serving": serving,
        "new_total": f"{ticket['total']:.2f} GBP",
    }


def get_pickup(ticket_ref: str, mode: str = "counter") -> dict:
    """Tell when and where an order can be collected, as it stands now."""
    ticket = _ticket_of(ticket_ref)
    if ticket["service"] != "takeout":
        raise ValueError(
            f"ticket {ticket_ref} is for {ticket['service']}; only takeout is collected"
        )
    ready = ticket["ready"] + (CURBSIDE_MINUTES if mode == "curbside" else 0)
    place = random.Random(f"{ticket_ref}/{mode}")
    return {
        "ticket_ref": ticket_ref,
        "mode": mode,
        "ready_at": f"{ready // 60:02d}:{ready % 60:02d}",
        "place": f"bay {place.randint(1, 9)}"
        if mode == "curbside"
        else f"shelf {place.randint(1, 30)}",
        "held_minutes": 20 if mode == "curbside" else 45,
    }


def _ticket_of(ticket_ref: str) -> dict:
    if ticket_ref not in TICKETS:
        raise LookupError(f"no ticket {ticket_ref!r}; references come from find_ticket")
    return TICKETS[ticket_ref]


def _component(code: str) -> dict:
    if code not in COMPONENTS:
        raise LookupError(f"no component {code!r}; codes come from check_allergens")
    return COMPONENTS[code]
