"""The root of a schema of arguments: an object with properties, and no alternatives beside them.

Model providers refuse ``anyOf``, ``oneOf``, ``allOf``, ``not`` and ``enum`` there. What all parts of a root
ask is merged into it; of alternatives, it takes what any of them takes.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from registry.schemas.faults import NotConvertibleError, Notes

__all__ = ["root_object"]

Schema = dict[str, Any]

_FORBIDDEN = ("enum", "const", "not")
_CONDITIONS = ("if", "then", "else", "dependentSchemas")


def root_object(schema: Schema, place: str, notes: Notes) -> Schema:
    """Make a translated schema one of an object.

    An argument that only some alternatives name is held to what they say of it.

    Raises:
        NotConvertibleError: It takes no object.
    """
    root = _flat(schema, place, notes)
    _declare_required(root, place, notes)
    kept = {k: v for k, v in root.items() if k not in ("type", "properties", "required")}
    required = {"required": root["required"]} if root["required"] else {}
    return {"type": "object", "properties": root["properties"], **required, **kept}


def _flat(schema: Schema, place: str, notes: Notes) -> Schema:
    """Write as one object with ``properties`` and ``required``, both present."""
    if not _takes_objects(schema):
        fault = f"must be an object, not {schema.get('type', 'nothing')!r}"
        raise NotConvertibleError(f"{place}.type", fault)
    root = {k: v for k, v in schema.items() if k not in ("allOf", "anyOf", "oneOf", *_CONDITIONS)}
    root["properties"] = dict(root.get("properties", {}))
    root["required"] = list(root.get("required", ()))
    for number, part in enumerate(schema.get("allOf", ())):
        within = f"{place}.allOf[{number}]"
        _conjoin(root, _flat(part, within, notes), within, notes)
    for keyword in _FORBIDDEN:
        if keyword in root:
            del root[keyword]
            notes.widened(f"{place}.{keyword}", "left out at the root, providers refuse it")
    for where, alternatives in _alternatives(schema):
        within = f"{place}.{where}"
        notes.widened(within, "merged into the root, which takes what any of them takes")
        options = [
            _flat(option, f"{within}[{number}]", notes)
            for number, option in enumerate(alternatives)
            if _takes_objects(option)
        ]
        if not options:
            raise NotConvertibleError(within, "none of them is an object")
        _disjoin(root, options)
    return root


def _alternatives(schema: Schema) -> Iterable[tuple[str, Sequence[Schema]]]:
    """Each set of schemas of which one has to fit, with the keyword that says so."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield keyword, schema[keyword]
    if "if" in schema:
        condition = {"properties": dict.fromkeys(schema["if"].get("properties", {}), _ANYTHING)}
        yield "if", (schema.get("then", {}), schema.get("else", {}), condition)
    for name, needed in schema.get("dependentSchemas", {}).items():
        yield f"dependentSchemas.{name}", (needed, {})


_ANYTHING: Schema = {}


def _takes_objects(schema: Schema) -> bool:
    types = schema.get("type", "object")
    return schema.get("not") != {} and "object" in (types if isinstance(types, list) else [types])


def _conjoin(root: Schema, part: Schema, place: str, notes: Notes) -> None:
    """Ask of the root what one part of ``allOf`` asks."""
    for keyword in ("properties", "patternProperties"):
        if keyword in part:
            root[keyword] = _both(root.get(keyword, {}), part[keyword])
    root["required"] = list(dict.fromkeys([*root["required"], *part["required"]]))
    for keyword, value in part.items():
        if keyword in ("type", "patternProperties", "properties", "required", "title"):
            continue
        if keyword not in root:
            root[keyword] = value
        elif root[keyword] != value and keyword != "description":
            notes.widened(f"{place}.{keyword}", "left out, the root has another one")
    if root.get("additionalProperties") is False or part.get("additionalProperties") is False:
        root["additionalProperties"] = False
        notes.widened(place, "its properties are taken beside those of the root")
    elif part["properties"] and isinstance(root.get("additionalProperties"), dict):
        del root["additionalProperties"]
        notes.widened(f"{place}.additionalProperties", "left out, parts of the root differ in it")
    if root.pop("unevaluatedProperties", None) is not None:
        notes.widened(f"{place}.unevaluatedProperties", "left out at the root")


def _both(members: Schema, others: Schema) -> Schema:
    """Schemas by name; where both have one, both are asked."""
    merged = dict(members)
    for name, schema in others.items():
        own = merged.get(name, schema)
        merged[name] = schema if own == schema else {"allOf": [own, schema]}
    return merged


def _disjoin(root: Schema, options: Sequence[Schema]) -> None:
    """Take into the root what any of several alternatives takes."""
    names = dict.fromkeys(name for option in options for name in option["properties"])
    for name in names:
        if name in root["properties"]:
            continue
        forms: list[Schema] = []
        for option in options:
            form = option["properties"].get(name)
            if form is not None and form not in forms:
                forms.append(form)
        root["properties"][name] = forms[0] if len(forms) == 1 else {"anyOf": forms}
    first, *others = [option["required"] for option in options]
    shared = [name for name in first if all(name in required for required in others)]
    root["required"] = list(dict.fromkeys([*root["required"], *shared]))
    root.pop("unevaluatedProperties", None)
    are_closed = all(
        option.get("additionalProperties") is False and not option.get("patternProperties")
        for option in options
    )
    if are_closed:
        root.setdefault("additionalProperties", False)


def _declare_required(root: Schema, place: str, notes: Notes) -> None:
    """Declare what is required and not declared: it could not be given otherwise."""
    rest: bool | Schema = root.get("additionalProperties", True)
    form = {} if isinstance(rest, bool) or "patternProperties" in root else rest
    for name in root["required"]:
        if name not in root["properties"]:
            root["properties"][name] = dict(form)
            notes.widened(f"{place}.required", f"{name!r} is no property; taken as one of any form")
