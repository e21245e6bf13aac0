"""For the tests of those who write servers, agents and orchestrators: a gateway in the process of the test.

Everything but the tools is the product itself: episodes, records, rewards and both planes. It stands beside
:mod:`astra_mcp.compose`; nothing of the product imports it. To read in this order: ``server`` (tools made of
functions), ``gateway`` (their catalog, what its environments ask, how it is served), ``model`` (turns that
were written down, in the place of a model).
"""

from astra_mcp.testing.gateway import (
    InMemoryCatalog,
    Question,
    RunningGateway,
    open_test_gateway,
)
from astra_mcp.testing.scripted_model import ScriptedModel
from astra_mcp.testing.server import InMemoryServer

__all__ = [
    "InMemoryCatalog",
    "InMemoryServer",
    "Question",
    "RunningGateway",
    "ScriptedModel",
    "open_test_gateway",
]
