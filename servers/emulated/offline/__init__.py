"""Made-up answers without a model: they follow the documents, and one call knows what others did.

Every value is decided by the session's seed, the server's version and the calls so far; entities that a
call made, changed or took away are so for all tools of the server. Knows documents, schemas and its own
lists of words; knows neither models nor the servers that use it. Only :mod:`astra_mcp.compose` imports it.
To read in this order: ``emulator``; what is known beforehand (``learning``, ``fields``, ``promises``); what
exists (``store``, ``finding``, ``selection``, ``result_lists``); what is told of all else (``facts``,
``series``, ``outcomes`` on ``acts``, ``running``, the folder ``payloads``); last ``forms``.
"""
