"""Deployed servers: real MCP servers behind the gateway, as processes, at URLs, or mounted in this process.

Their messages pass through as plain JSON, in the era of the client wherever the server speaks it. Satisfies
the gateway's ``Upstream`` and ``RelaySession`` structurally; never imports ``gateway`` or ``registry``. To
read in this order: :mod:`~servers.deployed.config`, :mod:`~servers.deployed.peer`,
:mod:`~servers.deployed.connecting`, :mod:`~servers.deployed.session`, :mod:`~servers.deployed.server`,
:mod:`~servers.deployed.collection`; how bytes travel is in :mod:`~servers.deployed.transports`.
"""

from servers.deployed.collection import DeployedServers, open_deployed
from servers.deployed.server import DeployedServer, DeployedStatus
from servers.deployed.session import DeployedSession

__all__ = [
    "DeployedServer",
    "DeployedServers",
    "DeployedSession",
    "DeployedStatus",
    "open_deployed",
]
