"""The client's side of HTTP/1.1 over kept connections, for many small requests to one origin.

Knows what travels by its bytes alone; no redirects, no proxies. Everything may import it.
In reading order: :mod:`~astra_mcp.http.connection`, :mod:`~astra_mcp.http.keep_alive`.
"""
