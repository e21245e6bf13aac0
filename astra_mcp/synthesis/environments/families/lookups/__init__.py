"""Families in which no call changes anything: what is asked for is found, over one hop or several.

Each family has a module: ``ledgers``, ``dosages``, ``measurements`` and ``permissions``, with what they are about in
``themes``; ``asides`` gives their tools optional parameters.
"""
