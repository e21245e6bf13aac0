"""Importing documents: reads them in batches, has each prepared and stores them.

Knows no format and no rule of preparation; each batch is stored whole or not at all, so that an import
that was cut off is finished by running it again.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy import func, select
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import BudgetSpentError
from registry.documents.prepared import PreparedServer
from registry.documents.sources import DocumentFault, DocumentStream, ServerDocument
from registry.documents.texts import storable_text
from registry.intake.storing import store_servers
from registry.store.database import Database
from registry.store.statements import batches
from registry.store.stats import Funnel
from registry.store.tables import ServerRow, ServerToolRow

__all__ = ["ImportReport", "import_documents"]

_BATCH_DOCUMENTS = 50
_BATCH_TOOLS = 2000
"""A batch is stored when it holds so many, which bounds its memory and how long others wait for it."""
_MAX_KEY_CHARACTERS = 512
"""Databases look documents up by their keys, and bound what they can look up."""
_JUDGED_AT_ONCE = 8
_COUNTED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of every document and every tool of a stream."""

    servers: Funnel
    tools: Funnel
    added: int
    """Documents that the registry did not have."""
    changed: int
    """Documents that differ from what it had."""
    unchanged: int
    errors: tuple[DocumentFault, ...]
    """What is no document, and was left out."""
    stopped: str | None = None
    """Why the rest of the stream was not read: what the judge may cost is spent. None where it was."""


async def import_documents(
    database: Database,
    stream: DocumentStream,
    *,
    prepare: Callable[[ServerDocument], PreparedServer],
    judge: Callable[[PreparedServer], Awaitable[PreparedServer]] | None = None,
    hear: Callable[[int, int], None] = lambda _read, _errors: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> ImportReport:
    """Store every document of a stream: new ones, changed ones, and of equal ones nothing.

    What is stored stays when the import is cut off, and what the stream does not name stays as it is.
    Any number of imports may run at once.

    Args:
        database: Where to.
        stream: Read lazily, in a thread.
        prepare: Judges a document by itself; called in a thread.
        judge: Asked about what was prepared, some servers at once. Where its budget is spent, the import ends
            with what was stored before; anything else that it raises propagates.
        hear: Told after each batch, and at the end, how many entries were read, and how many are no document.
        now: The time that rows are stamped with.

    Raises:
        RegistryError: The database failed; the batches before are stored.
    """
    reading = _Reading(stream, prepare)
    limiter = CapacityLimiter(1)
    ids: list[int] = []
    counts = Counter(added=0, changed=0, unchanged=0)
    stopped: str | None = None
    while batch := await anyio.to_thread.run_sync(reading.next_batch, limiter=limiter):
        if judge is not None:
            try:
                batch = await map_concurrently(judge, batch, limit=_JUDGED_AT_ONCE)
            except BudgetSpentError as error:
                stopped = str(error)
                break
        stored, made = await database.write(partial(store_servers, prepared=batch, now=now()))
        ids += stored
        counts.update(made)
        hear(reading.num_read, len(reading.faults))
    servers, tools = await database.read(partial(_funnels, ids=ids))
    hear(reading.num_read, len(reading.faults))
    return ImportReport(
        servers=servers, tools=tools, errors=tuple(reading.faults), stopped=stopped, **counts
    )


class _Reading:
    """Reads a stream in batches, and notes what is no document."""

    def __init__(
        self, stream: DocumentStream, prepare: Callable[[ServerDocument], PreparedServer]
    ) -> None:
        self.num_read = 0
        self.faults: list[DocumentFault] = []
        self._entries = iter(stream)
        self._prepare = prepare
        self._seen: set[tuple[str, str]] = set()

    def next_batch(self) -> list[PreparedServer]:
        """Read until a batch is full or the stream ends; empty where nothing is left."""
        batch: list[PreparedServer] = []
        num_tools = 0
        for entry in self._entries:
            self.num_read += 1
            accepted = entry if isinstance(entry, DocumentFault) else self._accepted(entry)
            if isinstance(accepted, DocumentFault):
                self.faults.append(accepted)
                continue
            batch.append(self._prepare(accepted))
            num_tools += len(batch[-1].tools)
            if len(batch) >= _BATCH_DOCUMENTS or num_tools >= _BATCH_TOOLS:
                break
        return batch

    def _accepted(self, document: ServerDocument) -> ServerDocument | DocumentFault:
        identity = (document.source, document.key)
        shown = repr(document.key[:40])
        if len(document.key) > _MAX_KEY_CHARACTERS:
            reason = f"its key is longer than {_MAX_KEY_CHARACTERS} characters: {shown}"
        elif storable_text(document.key) != document.key:
            reason = f"its key holds characters that no database keeps: {shown}"
        elif identity in self._seen:
            reason = f"its key {document.key!r} stands in the file twice: the first document counts"
        else:
            self._seen.add(identity)
            return document
        return DocumentFault(line=self.num_read, reason=reason)


def _funnels(session: Session, ids: list[int]) -> tuple[Funnel, Funnel]:
    """Count what became of servers and their tools, as it stands after the last of them."""
    servers = _funnel(session, ServerRow, col(ServerRow.id), ids)
    return servers, _funnel(session, ServerToolRow, col(ServerToolRow.server_id), ids)


def _funnel(
    session: Session,
    judged: type[ServerRow] | type[ServerToolRow],
    server: Mapped[int],
    ids: list[int],
) -> Funnel:
    verdict = (col(judged.status), col(judged.reason))
    counted = select(*verdict, func.count()).group_by(*verdict)
    return Funnel.of_counts(
        (status, reason, num)
        for some in batches(ids, _COUNTED_AT_ONCE)
        for status, reason, num in session.execute(counted.where(server.in_(some)))
    )
