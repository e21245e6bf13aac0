"""One operation of an OpenAPI document as a tool.

Its parameters and its body become one argument object, its first successful JSON response the output.
What authenticates a request is no argument. Knows the parts of an operation; knows nothing of the document
around it but where references lead.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from openapi_pydantic.v3 import v3_1
from pydantic import BaseModel, ValidationError

from astra_mcp.errors import fault_words
from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import ToolDocument
from registry.importers.openapi.arguments import (
    Argument,
    body_arguments,
    merge_arguments,
    object_schema,
)
from registry.importers.openapi.references import PartError, References
from registry.importers.openapi.schemas import Schemas

__all__ = ["Operations", "read_part"]

_OPERATION_META: Final = "dev.astra-mcp/operation"
"""Member of a tool's ``_meta``: the method and path of its operation, and its renamed arguments."""

_PLACES: Final = ("path", "query", "header", "cookie")
_SET_BY_HTTP: Final = frozenset({"accept", "authorization", "content-type", "cookie", "host"})
"""Headers that are no parameters: the first three by the OpenAPI specification."""
_RAPIDAPI: Final = "x-rapidapi-"
_TEMPLATE: Final = re.compile(r"\{([^{}]+)\}")
_WORDS: Final = re.compile(r"[^A-Za-z0-9]+")
_SPREADABLE: Final = ("application/x-www-form-urlencoded", "multipart/")
_OWN: Final = ("deprecated", "description", "operationId", "summary", "tags")

Part = TypeVar("Part", bound=BaseModel)


def read_part(model: type[Part], value: JsonValue, place: str) -> Part:
    """Read a part of the document by its model.

    Raises:
        PartError: It does not fit; names the field.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(step) for step in (place, *fault["loc"]))
        raise PartError(where, fault_words(fault["type"], fault["msg"])) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Makes tools of the operations of one document."""

    references: References
    requests: Schemas
    responses: Schemas
    credentials: frozenset[tuple[str, str]]
    """Place and name of the parameters that security schemes declare; names of headers in lower case."""
    report: Callable[[PartError], None]
    """Told of a part that is left out of a tool."""

    def tool(
        self, path: str, method: str, operation: JsonValue, shared: JsonValue
    ) -> tuple[ToolDocument, tuple[str, ...]]:
        """Make the tool of an operation.

        Args:
            path: As a template.
            method: Of HTTP, in lower case.
            operation: As found.
            shared: The parameters of its path; None where it has none.

        Returns:
            The tool and the operation's tags.

        Raises:
            PartError: A part without which it cannot be called is broken; names its place.
        """
        place = f"paths.{path}.{method}"
        if not isinstance(operation, dict):
            raise PartError(place, "must be an object")
        own = {name: operation[name] for name in _OWN if name in operation}
        read = read_part(v3_1.Operation, own, place)
        arguments = self._parameters(path, place, operation.get("parameters"), shared)
        more, additional = self._body(operation.get("requestBody"), f"{place}.requestBody")
        schema, renamed = merge_arguments([*arguments, *more], additional)
        meta: JsonObject = {"method": method.upper(), "path": path}
        if renamed:
            meta["arguments"] = renamed
        if read.deprecated:
            meta["deprecated"] = True
        tool = ToolDocument(
            name=read.operationId or _name_of(method, path),
            description=_description(read),
            input_schema=self.requests.with_definitions(schema, place),
            output_schema=self._output(operation.get("responses"), f"{place}.responses"),
            extra={"_meta": {_OPERATION_META: meta}},
        )
        return tool, tuple(read.tags or ())

    def _parameters(
        self, path: str, place: str, own: JsonValue, shared: JsonValue
    ) -> list[Argument]:
        """Read all parameters; the operation's own take the place of those of its path."""
        found: dict[tuple[str, str], Argument] = {}
        paths_own = f"{place.rpartition('.')[0]}.parameters"
        for source, where in ((shared, paths_own), (own, f"{place}.parameters")):
            if source is None:
                continue
            if not isinstance(source, list):
                raise PartError(where, "must be a list")
            for i, parameter in enumerate(source):
                argument = self._parameter(parameter, f"{where}[{i}]")
                found[argument.place, argument.name] = argument
        for name in _TEMPLATE.findall(path):
            if ("path", name) not in found:
                fault = f"the path has {{{name}}}, which none describes"
                raise PartError(f"{place}.parameters", fault)
        called = [argument for argument in found.values() if not self._is_set_elsewhere(argument)]
        return sorted(called, key=lambda argument: _PLACES.index(argument.place))

    def _parameter(self, parameter: JsonValue, place: str) -> Argument:
        part = self.references.resolve(parameter, place)
        # The library's models of schemas are stricter than documents are; these are read elsewhere.
        plain = {k: v for k, v in part.items() if k not in ("schema", "content", "examples")}
        read = read_part(v3_1.Parameter, plain, place)
        schema: JsonValue = part.get("schema", {})
        content = part.get("content")
        if isinstance(content, dict) and content:
            media = next(iter(content.values()))
            schema = media.get("schema", {}) if isinstance(media, dict) else {}
        translated = self.requests.translate(schema, f"{place}.schema")
        return Argument(
            name=read.name,
            place=read.param_in.value,
            schema=_with_texts(translated, part),
            is_required=read.required or read.param_in.value == "path",
        )

    def _is_set_elsewhere(self, argument: Argument) -> bool:
        name = argument.name
        if argument.place == "header":
            name = name.lower()
            if name in _SET_BY_HTTP or name.startswith(_RAPIDAPI):
                return True
        return (argument.place, name) in self.credentials

    def _body(self, body: JsonValue, place: str) -> tuple[list[Argument], JsonValue]:
        if body is None:
            return [], None
        part = self.references.resolve(body, place)
        content = part.get("content")
        if not isinstance(content, dict):
            raise PartError(f"{place}.content", "must be an object")
        if not content:
            return [], None
        kind = min(content, key=_rank)
        where = f"{place}.content.{kind}"
        media = self.references.resolve(content[kind], where)
        schema = media.get("schema", {} if _rank(kind) == 0 else {"type": "string"})
        whole = Argument(
            name="body",
            place="body",
            schema=self.requests.translate(schema, f"{where}.schema"),
            # Left out, ``required`` means false; but hardly a document means a request without its body.
            is_required=part.get("required") is not False,
        )
        return body_arguments(
            whole,
            self.requests,
            description=part.get("description"),
            may_be_spread=_rank(kind) <= len(_SPREADABLE),
        )

    def _output(self, responses: JsonValue, place: str) -> JsonValue:
        """Find the schema of the first successful response that is JSON; None where there is none."""
        try:
            for schema, where in self._schemas_of_success(responses, place):
                translated = self.responses.translate(schema, where)
                if not isinstance(translated, dict) or not translated:
                    return None
                written_out = object_schema(translated, self.responses)
                return self.responses.with_definitions(written_out, where)
        except PartError as error:
            self.report(error)
        return None

    def _schemas_of_success(
        self, responses: JsonValue, place: str
    ) -> Iterator[tuple[JsonValue, str]]:
        if not isinstance(responses, dict):
            return
        for status in sorted(s for s in responses if s.startswith("2")):
            where = f"{place}.{status}"
            content = self.references.resolve(responses[status], where).get("content")
            for kind, media in content.items() if isinstance(content, dict) else ():
                if _rank(kind) == 0 and isinstance(media, dict) and "schema" in media:
                    yield media["schema"], f"{where}.content.{kind}.schema"


def _rank(kind: str) -> int:
    """Order media types by how well arguments fit them: JSON is 0, forms follow, then the rest."""
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json") or plain in ("*/*", "application/*"):
        return 0
    spreadable = (i for i, form in enumerate(_SPREADABLE, 1) if plain.startswith(form))
    return next(spreadable, len(_SPREADABLE) + 1)


def _with_texts(schema: JsonValue, parameter: JsonObject) -> JsonValue:
    """Give a parameter's schema the description and examples that stand beside it."""
    texts: JsonObject = {}
    if isinstance(parameter.get("description"), str):
        texts["description"] = parameter["description"]
    if examples := _examples(parameter):
        texts["examples"] = examples
    if not isinstance(schema, dict):
        return texts if schema is True else schema
    known = schema.keys() | ({"examples"} if "example" in schema else set[str]())
    return {**schema, **{name: text for name, text in texts.items() if name not in known}}


def _examples(parameter: JsonObject) -> list[JsonValue]:
    if "example" in parameter:
        return [parameter["example"]]
    examples = parameter.get("examples")
    named = examples.values() if isinstance(examples, dict) else ()
    return [each["value"] for each in named if isinstance(each, dict) and "value" in each]


def _description(operation: v3_1.Operation) -> str | None:
    summary, description = (operation.summary or "").strip(), (operation.description or "").strip()
    parts = (description,) if description.startswith(summary) else (summary, description)
    return "\n\n".join(filter(None, parts)) or None


def _name_of(method: str, path: str) -> str:
    words = [word for word in _WORDS.split(path) if word]
    return "_".join([method, *words])
