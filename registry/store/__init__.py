"""The registry's database: tables and migrations, and reading and writing of everything but documents.

Of all packages only those of ``registry`` know SQLModel. Knows no format of documents. To read in this order:
:mod:`~registry.store.tables`, :mod:`~registry.store.database`, :mod:`~registry.store.servers`, then the rest.
"""
