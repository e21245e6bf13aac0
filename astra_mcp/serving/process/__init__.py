"""One gateway process, or a supervisor with its workers, from the socket to the last word of the log.

Knows neither options nor tables; only the commands may import it. To read in this order:
:mod:`~astra_mcp.serving.process.lifecycle`, :mod:`~astra_mcp.serving.process.gateway_process`,
:mod:`~astra_mcp.serving.process.worker`, :mod:`~astra_mcp.serving.process.supervisor`, then the rest.
"""
