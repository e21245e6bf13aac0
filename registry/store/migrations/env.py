"""What Alembic runs to migrate: on the connection, and in the transaction, that it is given."""

from alembic import context

__all__: list[str] = []

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
