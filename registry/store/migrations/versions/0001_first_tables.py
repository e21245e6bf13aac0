"""Make the first tables, and what full-text search reads."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None

_LINE_CHARACTERS = 200_000
"""So much of a line of words is searched on PostgreSQL, whose text vectors hold at most 1 MB."""


def upgrade() -> None:
    """Make them; the catalog begins with version 0."""
    _make_tools()
    _make_servers()
    _make_catalog()
    _make_stores()
    _make_episodes()
    if op.get_context().dialect.name == "postgresql":
        _make_text_vectors()
    else:
        _make_text_table()


def _make_tools() -> None:
    op.create_table(
        "tool",
        sa.Column("hash", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, index=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("input_schema", sa.JSON(), nullable=False),
        sa.Column("output_schema", sa.JSON()),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
    )
    op.create_table(
        "vector",
        sa.Column(
            "tool_hash",
            sa.String(),
            sa.ForeignKey("tool.hash", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
    )


def _make_servers() -> None:
    op.create_table(
        "server",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False, index=True, unique=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.String()),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("domain", sa.String(), index=True),
        sa.Column("domain_by", sa.String()),
        sa.Column("language", sa.String()),
        sa.Column("provenance", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False, index=True),
        sa.Column("reason", sa.String()),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("origin", sa.JSON(), nullable=False),
        sa.Column("document_hash", sa.String(), nullable=False),
        sa.Column("tools_hash", sa.String(), index=True),
        sa.Column("revision", sa.Integer(), nullable=False, index=True),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("server_document", "server", ["source", "key"], unique=True)
    op.create_table(
        "server_tool",
        sa.Column(
            "server_id",
            sa.Integer(),
            sa.ForeignKey("server.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("original_name", sa.String(), nullable=False),
        sa.Column("tool_hash", sa.String(), sa.ForeignKey("tool.hash"), index=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON()),
        sa.Column("notes", sa.JSON(), nullable=False),
    )


def _make_catalog() -> None:
    op.create_table(
        "catalog",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.execute("INSERT INTO catalog (id, version) VALUES (1, 0)")


def _make_stores() -> None:
    op.create_table(
        "completion",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
    )
    op.create_table(
        "item",
        sa.Column("run", sa.String(), primary_key=True),
        sa.Column("stage", sa.String(), primary_key=True),
        sa.Column("item", sa.String(), primary_key=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("outcome", sa.JSON(), nullable=False),
    )


def _make_episodes() -> None:
    op.create_table(
        "episode",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False, index=True),
        sa.Column("endpoint", sa.String()),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("status", sa.String(), nullable=False, index=True),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Float()),
        sa.Column("failure", sa.Text()),
        sa.Column("record_bytes", sa.BigInteger(), nullable=False),
    )


def _make_text_table() -> None:
    """Split the three lines of each tool's words into columns that are searched with weights."""
    op.execute(
        "CREATE VIRTUAL TABLE tool_text USING fts5"
        "(hash UNINDEXED, name, description, parameters, tokenize='ascii')"
    )
    op.execute(
        """
        CREATE TRIGGER tool_text_insert AFTER INSERT ON tool BEGIN
            INSERT INTO tool_text (hash, name, description, parameters)
            SELECT
                new.hash,
                name,
                substr(rest, 1, instr(rest, char(10)) - 1),
                substr(rest, instr(rest, char(10)) + 1)
            FROM (
                SELECT
                    substr(words, 1, instr(words, char(10)) - 1) AS name,
                    substr(words, instr(words, char(10)) + 1) AS rest
                FROM (SELECT new.words || char(10) || char(10) AS words)
            );
        END
        """
    )


def _make_text_vectors() -> None:
    """Have the database keep a weighted text vector of each tool's words."""
    lines = [f"left(split_part(words, E'\\n', {line}), {_LINE_CHARACTERS})" for line in (1, 2, 3)]
    weighted = " || ".join(
        f"setweight(to_tsvector('simple', {line}), '{weight}')"
        for line, weight in zip(lines, "ABC", strict=True)
    )
    op.execute(
        f"ALTER TABLE tool ADD COLUMN text_vector tsvector GENERATED ALWAYS AS ({weighted}) STORED"
    )
    op.execute("CREATE INDEX tool_text ON tool USING gin (text_vector)")
