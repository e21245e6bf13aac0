"""Documents of servers that keep things, in the styles that their authors write, and sessions of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from astra_mcp.types import ToolSpec, tools_hash
from servers.emulated.emulator import EmulatedAnswer, EmulatedDocument
from servers.emulated.offline.emulator import OfflineEmulator, OfflineState

text: dict[str, Any] = {"type": "string"}


def spec(
    tool: str,
    description: str = "",
    /,
    *,
    output: dict[str, Any] | None = None,
    optional: Sequence[str] = (),
    **properties: Any,
) -> ToolSpec:
    """A tool whose parameters are required but for the optional ones."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }
    return ToolSpec(name=tool, description=description, input_schema=schema, output_schema=output)


def document_of(
    *tools: ToolSpec, language: str | None = "en", name: str = "kept"
) -> EmulatedDocument:
    """The document of a server with these tools."""
    return EmulatedDocument(
        name=name,
        title=name.title(),
        description=f"Keeps what {name} is about.",
        domain=None,
        language=language,
        version=tools_hash(tools),
        tools=tools,
    )


class World:
    """One session of a server, called by name."""

    def __init__(
        self, document: EmulatedDocument, *, seed: int = 1, emulator: OfflineEmulator | None = None
    ) -> None:
        """Open a session."""
        self.document = document
        self.tools = {tool.name: tool for tool in document.tools}
        self.state: OfflineState = (emulator or OfflineEmulator()).open_state(document, seed=seed)

    def ask(self, tool: str, **arguments: Any) -> EmulatedAnswer:
        """Call a tool."""
        return anyio.run(self.state.answer, self.tools[tool], arguments)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that is to succeed; gives its value."""
        answer = self.ask(tool, **arguments)
        assert not answer.is_error, f"{tool}: {answer.value}"
        return answer.value

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool that is to refuse; gives what it says."""
        answer = self.ask(tool, **arguments)
        assert answer.is_error, f"{tool}: {answer.value}"
        return str(answer.value)


@dataclass(frozen=True)
class Style:
    """How an author names the six usual tools, and what they take."""

    name: str
    document: EmulatedDocument
    create: str
    read: str
    update: str
    delete: str
    listing: str
    search: str
    id_parameter: str
    title: str = "title"
    nouns: str = "notes"
    id_form: str = r"\w+|[0-9a-f-]{36}"
    body: str | None = None
    """The parameter that holds the members of the entity."""

    def members(self, title: str) -> dict[str, Any]:
        """The arguments that give an entity its title."""
        given = {self.title: title}
        return given if self.body is None else {self.body: given}


def _style(
    names: tuple[str, str, str, str, str, str],
    id_parameter: str,
    id_schema: dict[str, Any],
    **more: Any,
) -> Style:
    title, body = more.get("title", "title"), more.get("body")
    members: dict[str, Any] = {title: text, "priority": {"type": "string", "enum": ["low", "high"]}}
    taken: Any = members
    if body is not None:
        inner = {"type": "object", "properties": members, "required": [title]}
        taken = {body: inner}
    own: Any = {id_parameter: id_schema}
    create, read, update, delete, listing, search = names
    tools = (
        spec(create, "Create it.", optional=("priority",), **taken),
        spec(read, "Get it by its id.", **own),
        spec(update, "Change it.", optional=("priority",), **own, **taken),
        spec(delete, "Take it away.", **own),
        spec(listing, "List them.", optional=("limit",), limit={"type": "integer"}),
        spec(search, "Find some.", query=text),
    )
    document = document_of(*tools, name=create.replace(".", "_"))
    return Style(create, document, *names, id_parameter, **more)


_UUID = {"type": "string", "format": "uuid"}

STYLES = (
    _style(
        ("create_note", "get_note", "update_note", "delete_note", "list_notes", "search_notes"),
        "note_id",
        {"type": "integer"},
        id_form=r"\d+",
    ),
    _style(
        ("addTodo", "fetchTodo", "editTodo", "removeTodo", "listAllTodos", "findTodos"),
        "todoId",
        _UUID,
        nouns="todos",
        id_form=r"[0-9a-f-]{36}",
    ),
    _style(
        (
            "pages.insert", "pages.read", "pages.patch", "pages.destroy", "pages.list",
            "pages.query",
        ),
        "id",
        {"type": "string", "pattern": "^pg-[0-9a-f]{6}$"},
        nouns="pages",
        id_form=r"pg-[0-9a-f]{6}",
    ),
    _style(
        (
            "crm-contact-create", "crm-contact-get", "crm-contact-update", "crm-contact-delete",
            "crm-contact-list", "crm-contact-search",
        ),
        "contactId",
        text,
        nouns="contacts",
        title="name",
        body="contact",
    ),
    _style(
        (
            "new_saved_search", "show_saved_search", "modify_saved_search", "delete_saved_search",
            "get_all_saved_searches", "search_saved_searches",
        ),
        "saved_search_id",
        text,
        nouns="saved_searches",
        body="body",
    ),
)  # fmt: skip
