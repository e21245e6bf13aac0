"""Environments: the bundle format, its loading, its acceptance, its judge and its template.

Values in, values out: knows folders, tools and the sandbox, never the registry, a server or the
gateway. ``registry``, ``servers`` and the composition root may import it.
"""
