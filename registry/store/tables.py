"""The tables, as SQLModel classes. The migrations make the same; a test compares the two.

What full-text search reads of ``tool.words`` (SQLite: the table ``tool_text``; PostgreSQL: the column
``tool.text_vector``) each database keeps up by itself: it stands in the migrations alone.
"""

# pyright: reportAssignmentType=false
# SQLModel declares the names of tables as what it computes them with, not as the texts that they are.

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    TypeDecorator,
)
from sqlmodel import Field, SQLModel

from astra_mcp.types import ToolSpec

__all__ = [
    "CatalogRow",
    "CompletionRow",
    "EpisodeRow",
    "ItemRow",
    "ServerRow",
    "ServerToolRow",
    "TaskRow",
    "ToolRow",
    "UtcDateTime",
    "VectorRow",
    "table_of",
]


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time: aware and in UTC, on a database without time zones too."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Write in UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read as UTC; SQLite gives the time alone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class ServerRow(SQLModel, table=True):
    """A server document, kept or rejected."""

    __tablename__ = "server"

    __table_args__ = (Index("server_document", "source", "key", unique=True),)

    id: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    """Counts up in the order of storing; whoever stores a server gives it, under the catalog's lock."""
    source: str
    key: str
    name: str = Field(unique=True, index=True)
    """The name it is published by: provider-safe, and no other server's while this one is there."""
    title: str
    """As the source has it."""
    description: str = Field(sa_type=Text)
    version: str | None = None
    labels: list[str] = Field(sa_column=Column(JSON, nullable=False))
    domain: str | None = Field(default=None, index=True)
    domain_by: str | None = None
    """``label``, ``model`` or ``embedding``."""
    language: str | None = None
    """ISO 639-1; None where there is too little text."""
    provenance: str
    status: str = Field(index=True)
    """``kept`` or ``rejected``."""
    reason: str | None = None
    detail: str = Field(default="", sa_type=Text)
    origin: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    document_hash: str
    """Of the document as imported and of what was made of it; an import of an equal one changes nothing."""
    tools_hash: str | None = Field(default=None, index=True)
    """Of the tools that are left after the rejection of tools, in their order."""
    revision: int = Field(index=True)
    """The catalog's version when the row last changed."""
    imported_at: datetime = Field(sa_type=UtcDateTime)
    """When this database first learned of it."""
    changed_at: datetime = Field(sa_type=UtcDateTime)
    """When its document or its verdict last changed."""


class ToolRow(SQLModel, table=True):
    """One version of a tool: equal content is stored once, whichever servers list it."""

    __tablename__ = "tool"

    hash: str = Field(primary_key=True)
    """64 hex digits of SHA-256 over the canonical JSON of the normalised ToolSpec."""
    name: str = Field(index=True)
    description: str = Field(sa_type=Text)
    input_schema: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    output_schema: dict[str, Any] | None = Field(
        default=None, sa_column=Column(JSON(none_as_null=True))
    )
    extra: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    words: str = Field(sa_type=Text)
    """What full-text search reads: name, description and parameters, split into words."""

    @property
    def spec(self) -> ToolSpec:
        """The tool, equal to the one that was stored."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            extra=self.extra,
        )


class ServerToolRow(SQLModel, table=True):
    """A place in a server's list of tools, kept or rejected."""

    __tablename__ = "server_tool"

    server_id: int = Field(
        sa_column=Column(ForeignKey("server.id", ondelete="CASCADE"), primary_key=True)
    )
    position: int = Field(primary_key=True)
    original_name: str
    """As the source has it; the tool's own name is provider-safe."""
    tool_hash: str | None = Field(default=None, foreign_key="tool.hash", index=True)
    """None where it could not be converted."""
    status: str
    reason: str | None = None
    detail: str = Field(default="", sa_type=Text)
    document: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    """As found, where it could not be converted."""
    notes: list[str] = Field(sa_column=Column(JSON, nullable=False))
    """What normalisation changed in the meaning of the document, for people; each names the field."""


class CatalogRow(SQLModel, table=True):
    """The one row that counts the changes; a running ``serve`` follows it."""

    __tablename__ = "catalog"

    id: int = Field(default=1, primary_key=True)
    version: int


class VectorRow(SQLModel, table=True):
    """A vector of a tool's document."""

    __tablename__ = "vector"

    tool_hash: str = Field(
        sa_column=Column(ForeignKey("tool.hash", ondelete="CASCADE"), primary_key=True)
    )
    model: str = Field(primary_key=True)
    vector: bytes = Field(sa_type=LargeBinary)
    """Little-endian float32."""


class CompletionRow(SQLModel, table=True):
    """An answer of a model, by the hash of everything that it depends on."""

    __tablename__ = "completion"

    key: str = Field(primary_key=True)
    value: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class ItemRow(SQLModel, table=True):
    """What became of an item in a stage of a pipeline."""

    __tablename__ = "item"

    run: str = Field(primary_key=True)
    stage: str = Field(primary_key=True)
    item: str = Field(primary_key=True)
    status: str
    outcome: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class TaskRow(SQLModel, table=True):
    """A task that a run of synthesis kept."""

    __tablename__ = "task"

    run: str = Field(primary_key=True)
    id: str = Field(primary_key=True, index=True)
    document: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class EpisodeRow(SQLModel, table=True):
    """What the record of an episode says; the record itself stays the truth."""

    __tablename__ = "episode"

    id: str = Field(primary_key=True)
    opened_at: datetime = Field(sa_type=UtcDateTime, index=True)
    endpoint: str | None = None
    """The interactive endpoint that it belongs to; None for an episode proper."""
    source: str = Field(sa_type=Text)
    status: str = Field(index=True)
    calls: int
    reward: float | None = None
    failure: str | None = Field(default=None, sa_type=Text)
    player: str | None = Field(default=None, sa_type=Text)
    """Who played it, where its labels say so."""
    run: str | None = Field(default=None, sa_type=Text)
    """The run that it belongs to, where its labels say so."""
    record_bytes: int = Field(sa_type=BigInteger)
    """Length of the record when it was read: a longer one is read again."""


def table_of(rows: type[SQLModel]) -> Table:
    """The table of a class, for statements about many rows at once."""
    return SQLModel.metadata.tables[str(vars(rows)["__tablename__"])]
