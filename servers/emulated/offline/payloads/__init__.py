"""What a tool is for, written from what it is asked: page texts, trees, table columns, logs, plans.

Each module knows one kind of payload and says ``None`` where a call asks for none of it. Knows documents,
arguments and its own sentences; fetches, runs and keeps nothing. Only :mod:`servers.emulated.offline.emulator`
imports it. To read in this order: ``asking`` (what a call asks), ``telling`` (who answers); then the kinds,
each for itself: ``pages`` on ``passages``, ``transcripts``, ``trees``, ``commands``, ``tables``, ``records``
(logs, measurements), ``services``, ``thinking``, ``drafts``, ``sources`` and ``files``.
"""
