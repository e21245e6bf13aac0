"""What a session keeps under keys: values, hashes, lists, sets, ranked sets and queues, as a key-value store does.

Knows how computations are recognised, and the session's clock; knows no entities. Only the offline emulator
imports it. To read in this order: :mod:`~.keyspace`, :mod:`~.commands`, :mod:`~.kept_keys`.
"""
