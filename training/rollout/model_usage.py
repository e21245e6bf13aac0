"""What an agent's model took in an episode: from the meter of the model layer to the trajectory, and back."""

from astra_mcp.llm.usage import COST_DIGITS, Usage
from astra_mcp.trajectory import ModelUsage

__all__ = ["spent", "told"]


def told(usage: Usage) -> ModelUsage:
    """Keep what the endpoint told of every answered call; a sum over some of them would be a wrong one."""
    return ModelUsage(
        calls=usage.calls,
        prompt_tokens=None if usage.untold else usage.prompt_tokens,
        completion_tokens=None if usage.untold else usage.completion_tokens,
        cached_tokens=None if usage.untold_cached else usage.cached_tokens,
        cost=None if usage.unpriced else round(usage.cost, COST_DIGITS),
    )


def spent(model: ModelUsage | None) -> Usage:
    """Count again what a trajectory tells; what it does not tell stays untold."""
    if model is None:
        return Usage()
    return Usage(
        calls=model.calls,
        prompt_tokens=model.prompt_tokens or 0,
        completion_tokens=model.completion_tokens or 0,
        cached_tokens=model.cached_tokens or 0,
        cost=model.cost or 0.0,
        untold=model.prompt_tokens is None,
        untold_cached=model.cached_tokens is None,
        unpriced=model.cost is None,
    )
