"""The acceptance: runs a bundle's tools in the sandbox and says whether the environment is sound.

One module for each family of checks; ``verify_bundle`` is the only way to a verdict. Knows bundles, the
sandbox, the matcher and the reward; knows neither servers nor the gateway.
"""

from astra_mcp.environments.acceptance.verdict import Check, FailedCheck, Verdict
from astra_mcp.environments.acceptance.verification import (
    verdict_of_faults,
    verify_bundle,
)

__all__ = ["Check", "FailedCheck", "Verdict", "verdict_of_faults", "verify_bundle"]
