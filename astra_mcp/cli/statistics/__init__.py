"""``astra-mcp environments stats``: what environments hold, beside what the paper says of its own.

In reading order: ``counting`` (which environments, and their counts), ``comparison`` (the figures written
down, ours beside the paper's), ``tables`` (the terminal), ``page`` (the HTML report, loaded when one is
written).
"""
