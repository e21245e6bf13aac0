"""Which of the kinds of payload answers a call, and what a session remembers of the calls before."""

from collections.abc import Callable
from typing import Final

from astra_mcp.types import JsonObject
from astra_mcp.values.nouns import words_of
from astra_mcp.values.random_stream import RandomStream
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.offline.finding import Call
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.payloads.commands import command_told
from servers.emulated.offline.payloads.drafts import drafted
from servers.emulated.offline.payloads.files import file_told
from servers.emulated.offline.payloads.pages import (
    document_told,
    links_told,
    navigated,
    page_told,
    visited,
)
from servers.emulated.offline.payloads.records import log_told, measured_told
from servers.emulated.offline.payloads.services import host_told, service_told, speed_told
from servers.emulated.offline.payloads.sources import diff_told, source_told
from servers.emulated.offline.payloads.tables import figures_told, results_told, table_told
from servers.emulated.offline.payloads.thinking import Thoughts, thought_told
from servers.emulated.offline.payloads.transcripts import transcript_told
from servers.emulated.offline.payloads.trees import tree_told
from servers.emulated.offline.promises import Promise
from servers.emulated.offline.result_lists import Answer
from servers.emulated.offline.store import Store
from servers.emulated.verbs import Verb

__all__ = ["Payloads"]

_READ: Final = 400

_KINDS: Final[tuple[Callable[[Asked], Answer | None], ...]] = (
    transcript_told,
    tree_told,
    command_told,
    diff_told,
    table_told,
    figures_told,
    results_told,
    source_told,
    log_told,
    measured_told,
    speed_told,
    host_told,
    service_told,
    links_told,
    navigated,
    page_told,
    file_told,
    document_told,
    drafted,
)
"""The narrower first."""
_LISTED: Final = frozenset(
    (
        "logs",
        "log",
        "console",
        "columns",
        "fields",
        "tree",
        "structure",
        "docker",
        "git",
        "kubectl",
        "schema",
    )
)
"""Lists that one of the kinds may know."""


class Payloads:
    """Answers the calls of one session, and remembers what it opened and thought."""

    def __init__(self, document: EmulatedDocument, store: Store, rng: RandomStream) -> None:
        """Begin with nothing opened.

        Args:
            document: Of the server.
            store: Says the language and the time, and undoes what a refused call did.
            rng: Decide what nothing else decides.
        """
        self._title = document.title or document.name
        self._server = frozenset(words_of(f"{self._title} {document.description[:_READ]}"))
        self._store = store
        self._rng = rng.at("payload")
        self._opened: str | None = None
        self._thoughts = Thoughts()

    @staticmethod
    def may_tell(call: Call) -> bool:
        """Say whether a call may be for one of the kinds: most lists are not, and are to stay cheap."""
        is_list = call.reading.verb in (Verb.LIST, Verb.SEARCH)
        return not is_list or not _LISTED.isdisjoint(words_of(call.tool.name))

    def told(
        self,
        call: Call,
        promise: Promise,
        *,
        find: Callable[[], JsonObject | None],
        is_given_out: bool,
    ) -> Answer | None:
        """What a tool is for, where one of the kinds knows it; None for other calls.

        Args:
            call: To the tool.
            promise: What it is said to give.
            find: Looks for the entity that the call names.
            is_given_out: The server lists, searches or makes things of the tool's noun.

        Raises:
            EntityRefusedError: What the call names does not exist.
        """
        asked = Asked(
            call=call,
            promise=promise,
            title=self._title,
            server=self._server,
            wording=self._store.wording,
            now=self._store.now,
            rng=self._rng,
            opened=self._opened,
            find=find,
            is_given_out=is_given_out,
        )
        self._open(visited(asked))
        told = self._thought(asked)
        told = told or next((each for kind in _KINDS if (each := kind(asked)) is not None), None)
        if told is not None:
            _ = asked.thing  # an answer about a thing that there is not is refused
        return told

    def _open(self, address: str | None) -> None:
        if address is not None:
            before = self._opened
            self._store.on_undo(lambda: setattr(self, "_opened", before))
            self._opened = address

    def _thought(self, asked: Asked) -> Answer | None:
        length, branches = len(self._thoughts.all), len(self._thoughts.branches)
        told = thought_told(asked, self._thoughts)
        if told is not None:
            self._store.on_undo(lambda: self._thoughts.forget(length, branches))
        return told
