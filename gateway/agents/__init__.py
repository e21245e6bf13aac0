"""The agent plane: MCP of both eras at every endpoint, on a hot path and through the SDK.

Knows episodes by the Protocols of :mod:`~gateway.agents.targets`, and no control plane; only
:mod:`gateway.app` and the composition may import it. To read in this order: :mod:`~gateway.agents.plane`,
:mod:`~gateway.agents.targets`, :mod:`~gateway.agents.endpoints`, :mod:`~gateway.agents.hot_path`,
:mod:`~gateway.agents.relay`, then the rest.
"""
