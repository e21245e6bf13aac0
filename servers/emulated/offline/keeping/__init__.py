"""What a session keeps under keys, as a key-value store does: values, hashes, lists, sets and queues.

Knows how computations are recognised, and the session's clock; knows no entities. Only the offline emulator
imports it. To read in this order: :mod:`~.keyspace`, :mod:`~.commands`, :mod:`~.kept_keys`.
"""
