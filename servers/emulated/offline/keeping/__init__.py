"""What a session keeps under keys and paths, as key-value stores and file servers do.

Knows how computations are recognised, and the session's clock; knows no entities. Only the offline emulator
imports it. To read in this order: :mod:`~.keyspace`, :mod:`~.commands`, :mod:`~.file_tree`,
:mod:`~.file_commands`, :mod:`~.kept`.
"""
