"""The gateway: the only way in which an agent reaches a tool.

Owns episodes (tool list, plan, record, limits, reward), the agent plane (MCP) and the control plane
(HTTP). Knows servers and environments only through the Protocols of :mod:`gateway.api.seams`; never imports
``servers``, ``registry`` or ``training``. ``training`` may import :mod:`gateway.api` alone; the composition
root may import all.
"""
