"""Columns of tables with their types, keys and indexes, and the figures of data sets."""

from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.making import Making, ValueContext
from astra_mcp.values.nouns import key_of, singular
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["columns_of", "figures_told", "results_told", "table_told", "type_of", "value_of"]

_ABOUT: Final = frozenset(
    (
        "schema",
        "structure",
        "columns",
        "describe",
        "definition",
        "fields",
        "metadata",
        "details",
        "info",
    )
)
_OF: Final = frozenset(
    (
        "table",
        "tables",
        "columns",
        "collection",
        "dataset",
        "view",
        "entity",
        "object",
        "sobject",
        "model",
    )
)
_TABLES: Final = ("table", "table_name", "tablename", "relation", "table_id", "view_name", "collection", "collection_name",
                  "entity_name", "object_name", "sobject_name", "tables", "table_names", "object_api_name", "view",
                  "dataset", "dataset_name")  # fmt: skip
_DATABASES: Final = frozenset(
    ("mysql", "postgres", "postgresql", "sql", "sqlite", "database", "db", "duckdb", "bigquery", "snowflake", "clickhouse",
     "oracle", "mssql", "mongodb", "vertica", "singlestore", "redshift", "trino", "mariadb", "supabase", "query", "table",
     "tables", "neon", "schema", "schemas", "warehouse", "salesforce", "airtable", "pg")
)  # fmt: skip
_COLUMNS: Final = {
    "user": "email username full_name is_active role last_login_at", "customer": "email full_name phone country city",
    "order": "customer_id status total_amount currency shipped_at", "product": "name sku price stock category is_active",
    "payment": "order_id amount currency method status paid_at", "invoice": "customer_id number total_amount due_date status",
    "employee": "first_name last_name email department_id salary hired_on", "department": "name manager_id budget",
    "category": "name slug parent_id", "session": "user_id token ip_address expires_at",
    "event": "user_id type payload occurred_at", "log": "level message source logged_at",
    "article": "title slug body author_id published_at", "post": "title body author_id published_at likes",
    "comment": "post_id user_id body is_hidden", "item": "order_id product_id quantity unit_price",
    "task": "title description status priority assignee_id due_date", "project": "name owner_id status started_on",
    "student": "first_name last_name email enrolled_on gpa", "course": "title code credits teacher_id",
    "book": "title author isbn price published_on", "account": "owner_id number balance currency opened_on",
    "transaction": "account_id amount currency type booked_at", "movie": "title year rating director runtime_minutes",
    "address": "street city postal_code country", "role": "name description", "page_view": "url user_id viewed_at duration_ms",
    "sale": "product_id quantity revenue sold_on region", "review": "product_id user_id rating body",
    "contact": "first_name last_name email phone company_id", "message": "sender_id recipient_id body sent_at",
}  # fmt: skip
_ANY: Final = "name description status"
_TYPES: Final = (
    ("is_", "boolean"), ("has_", "boolean"), ("_at", "timestamp"), ("_on", "date"), ("date", "date"), ("_id", "bigint"),
    ("amount", "decimal"), ("price", "decimal"), ("balance", "decimal"), ("salary", "decimal"), ("budget", "decimal"),
    ("revenue", "decimal"), ("gpa", "decimal"), ("rating", "decimal"), ("stock", "integer"), ("quantity", "integer"),
    ("year", "integer"), ("credits", "integer"), ("likes", "integer"), ("minutes", "integer"), ("_ms", "integer"),
    ("body", "text"), ("description", "text"), ("message", "text"), ("payload", "json"), ("currency", "char"),
)  # fmt: skip
_DIALECTS: Final = {
    "mysql": {"bigint": "bigint", "boolean": "tinyint(1)", "timestamp": "datetime", "decimal": "decimal(12,2)", "integer": "int", "text": "text", "json": "json", "char": "char(3)", "date": "date", "": "varchar(255)"},
    "postgres": {"bigint": "bigint", "boolean": "boolean", "timestamp": "timestamp with time zone", "decimal": "numeric(12,2)", "integer": "integer", "text": "text", "json": "jsonb", "char": "character(3)", "date": "date", "": "character varying(255)"},
    "sqlite": {"bigint": "INTEGER", "boolean": "INTEGER", "timestamp": "TEXT", "decimal": "REAL", "integer": "INTEGER", "text": "TEXT", "json": "TEXT", "char": "TEXT", "date": "TEXT", "": "TEXT"},
    "clickhouse": {"bigint": "UInt64", "boolean": "UInt8", "timestamp": "DateTime", "decimal": "Decimal(12, 2)", "integer": "Int32", "text": "String", "json": "String", "char": "FixedString(3)", "date": "Date", "": "String"},
    "bigquery": {"bigint": "INT64", "boolean": "BOOL", "timestamp": "TIMESTAMP", "decimal": "NUMERIC", "integer": "INT64", "text": "STRING", "json": "JSON", "char": "STRING", "date": "DATE", "": "STRING"},
    "mongodb": {"bigint": "ObjectId", "boolean": "Boolean", "timestamp": "Date", "decimal": "Double", "integer": "Int32", "text": "String", "json": "Object", "char": "String", "date": "Date", "": "String"},
}  # fmt: skip
_SPOKEN: Final = {
    "mysql": ("mysql", "mariadb", "singlestore"), "sqlite": ("sqlite",), "clickhouse": ("clickhouse",),
    "bigquery": ("bigquery",), "mongodb": ("mongodb", "mongo"),
}  # fmt: skip


def columns_of(table: str) -> list[str]:
    """The columns of a table, by what its rows are."""
    words = key_of(table.rpartition(".")[2]).split("_")
    row = next(
        (
            singular("_".join(words[at:]))
            for at in range(len(words))
            if singular("_".join(words[at:])) in _COLUMNS
        ),
        "",
    )
    return ["id", *(_COLUMNS.get(row, _ANY)).split(), "created_at"]


def type_of(column: str, dialect: str) -> str:
    """The type of a column as the database writes it."""
    kinds = _DIALECTS[dialect]
    if column == "id":
        return kinds["bigint"]
    kind = next(
        (
            kind
            for part, kind in _TYPES
            if (column.startswith(part) if part.endswith("_") else column.endswith(part))
        ),
        "",
    )
    return kinds[kind]


def value_of(asked: Asked, table: str, column: str, row: int) -> JsonValue:
    """What stands in a column of a row, from 1."""
    if column == "id":
        return row
    noun = singular(key_of(table))
    spot = ValueContext(
        rng=asked.rng.at("cell", table, row, column), key=key_of(column), noun=noun, depth=1
    )
    return Making({}, asked.wording).value({}, spot)


def _dialect(asked: Asked) -> str:
    words = asked.server | asked.words
    return next((kind for kind, said in _SPOKEN.items() if not words.isdisjoint(said)), "postgres")


def table_told(asked: Asked) -> Answer | None:
    """What a call is told that asks of which columns a table is made."""
    if (
        not asked.has(_ABOUT)
        or not asked.has(_OF)
        or asked.call.reading.verb not in (Verb.GET, Verb.OTHER, Verb.LIST)
    ):
        return None
    if (asked.server | asked.words).isdisjoint(_DATABASES):
        return None
    tables = asked.texts(*_TABLES)
    if not tables:
        return None
    dialect = _dialect(asked)
    told = [_described(asked, table, dialect) for table in tables]
    if len(told) == 1:
        table = told[0]
        columns = table["columns"]
        if asked.promise.form in (Form.LIST, Form.MARKDOWN) and isinstance(columns, list):
            return Answer({"columns": columns})
        return Answer(table)
    return Answer({"tables": [*told]})


def _described(asked: Asked, table: str, dialect: str) -> JsonObject:
    name = table.rpartition(".")[2]
    columns: list[JsonValue] = []
    links: list[JsonValue] = []
    for column in columns_of(name):
        is_key = column == "id"
        is_link = column.endswith("_id")
        key = (
            "PRI"
            if is_key
            else "MUL"
            if is_link
            else "UNI"
            if column in ("email", "sku", "slug", "isbn")
            else ""
        )
        is_required = (
            is_key or is_link or column in ("created_at", "name", "email", "title", "status")
        )
        default: JsonValue = "CURRENT_TIMESTAMP" if column == "created_at" else None
        columns.append({"name": column, "type": type_of(column, dialect), "nullable": not is_required,
                        "key": key, "default": default})  # fmt: skip
        if is_link:
            links.append({"column": column, "references": f"{column.removesuffix('_id')}s(id)"})
    told: JsonObject = {"table": name, "columns": columns, "primary_key": ["id"]}
    if asked.has(("schema", "structure", "describe", "definition", "details", "table")):
        told |= {
            "foreign_keys": links,
            "row_count": asked.rng.at("rows", name).between(120, 98_000),
        }
    schema = asked.text("schema", "schema_name", "database", "database_name", "db_name")
    return ({"schema": schema} if schema else {}) | told


_STORED: Final = frozenset(("card", "report", "question", "query", "saved"))
_RUNNING: Final = frozenset(("execute", "run", "results", "result"))
_REPORTS: Final = (
    "card_id",
    "report_id",
    "question_id",
    "query_id",
    "report_name",
    "card",
    "name",
    "id",
)
_ROWS: Final = 5


def results_told(asked: Asked) -> Answer | None:
    """What a call is told that has a stored question or report run: a few rows."""
    which = asked.text(*_REPORTS)
    is_asked = asked.has(_STORED) and asked.has(_RUNNING) and "result" in asked.said
    if not is_asked or which is None or asked.call.reading.verb not in (Verb.GET, Verb.OTHER):
        return None
    table = asked.rng.at("table", which).choose(("orders", "customers", "products", "sales"))
    columns: list[JsonValue] = [*columns_of(table)]
    rows: list[JsonValue] = [
        [value_of(asked, table, str(column), at) for column in columns]
        for at in range(1, _ROWS + 1)
    ]
    return Answer(
        {
            "id": which,
            "status": "completed",
            "columns": columns,
            "rows": rows,
            "row_count": len(rows),
        }
    )


_FIGURES: Final = frozenset(("statistics", "stats", "describe", "profile", "statistical", "eda"))
_DATA: Final = frozenset(
    ("data", "dataset", "dataframe", "csv", "column", "columns", "descriptive", "file", "table")
)
_SETS: Final = ("file_path", "path", "filename", "file", "dataset", "df_name", "dataframe", "table", "table_name", "csv_path",
                "dataset_name", "data_path", "filepath", "name")  # fmt: skip
_MEASURED: Final = {
    "age": (18, 79),
    "amount": (5, 980),
    "price": (1, 499),
    "quantity": (1, 40),
    "score": (0, 100),
}


def figures_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the figures of a data set: count, mean, quartiles."""
    is_asked = asked.has(_FIGURES) and asked.has(_DATA)
    where = asked.text(*_SETS)
    if not is_asked or where is None or asked.call.reading.verb not in (Verb.GET, Verb.OTHER):
        return None
    count = asked.rng.at("rows", where).between(180, 24_000)
    wanted = asked.texts("columns", "column", "column_name") or [*_MEASURED][1:4]
    columns: JsonObject = {}
    for name in wanted:
        low, high = next(
            (span for key, span in _MEASURED.items() if key in key_of(name)), (0, 1_000)
        )
        columns[name] = _figures(asked, f"{where}.{name}", count, low, high)
    return Answer(
        {
            "dataset": where,
            "rows": count,
            "columns": len(wanted) if len(wanted) > 3 else 6,
            "statistics": columns,
        }
    )


def _figures(asked: Asked, place: str, count: int, low: int, high: int) -> JsonObject:
    """Figures that can stand together: each quartile is above the one before."""
    dice, span = asked.rng.at("figures", place), high - low
    cuts = [low + span * (at * 0.25 + (dice.at(at).fraction() - 0.5) * 0.12) for at in range(1, 4)]
    first, last = (
        low + span * dice.at("low").fraction() * 0.04,
        high - span * dice.at("high").fraction() * 0.04,
    )
    mean = cuts[1] + span * (dice.at("mean").fraction() - 0.5) * 0.05
    std = span * (0.24 + 0.05 * dice.at("std").fraction())
    numbers = zip(
        ("mean", "std", "min", "25%", "50%", "75%", "max"),
        (mean, std, first, *cuts, last),
        strict=True,
    )
    missing = dice.at("missing").below(max(1, count // 90))
    return {
        "count": count - missing,
        **{name: round(each, 2) for name, each in numbers},
        "missing": missing,
    }
