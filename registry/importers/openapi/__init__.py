"""OpenAPI 3.0 and 3.1: a document is a server, each of its operations a tool.

Knows the format alone. Only :mod:`registry.importers.detection` imports it. To read in this order:
:mod:`~registry.importers.openapi.document`, :mod:`~registry.importers.openapi.operations`,
:mod:`~registry.importers.openapi.arguments`, :mod:`~registry.importers.openapi.schemas`, then the rest.
"""
