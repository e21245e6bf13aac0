"""Made-up answers without a model: they follow the documents, and one call knows what others did.

Every value is decided by the session's seed, the server's version and the calls so far; entities that a
call made, changed or took away are so for all tools of the server. Knows documents, schemas and its own
lists of words; knows neither models nor the servers that use it.
"""
