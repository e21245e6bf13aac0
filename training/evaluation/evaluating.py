"""Evaluate a policy on environments of a gateway, greedy and at T = 1."""

from collections.abc import Sequence

from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest
from training.evaluation.figures import Evaluation, Figures, figures_of
from training.render.renderer import Renderer
from training.render.tokens import Tokenizer
from training.rl.core.playing import play_policy
from training.rl.core.policy import Policy, PolicyLimits
from training.rollout.plan import Source, plan_rollouts
from training.rollout.users.user import Users

__all__ = ["CONCURRENCY", "evaluate"]

CONCURRENCY = 64
"""Episodes at once, and contexts in a batch."""


async def evaluate(  # noqa: PLR0913 - the parts of a policy, and what it plays
    gateway: GatewayClient,
    policy: Policy,
    renderer: Renderer,
    tokenizer: Tokenizer,
    sources: Sequence[tuple[Source, str | None]],
    *,
    samples: int,
    root_seed: int,
    limits: PolicyLimits | None = None,
    users: Users | None = None,
    concurrency: int = CONCURRENCY,
    distractors: DistractorRequest | None = None,
) -> Evaluation:
    """Play each source once greedily, and so many times at T = 1.

    Args:
        gateway: An open client of the control plane.
        policy: Writes the turns.
        renderer: Of its chat template.
        tokenizer: Of the policy.
        sources: What is played, each with the version of its environment.
        samples: Episodes of each source at T = 1; 0 for none. They share the episode's seed.
        root_seed: Seeds of episodes and draws derive from it: two policies meet the same episodes.
        limits: Of each episode; by default those of the policy.
        users: Speak to the policy; see :func:`~training.rl.core.playing.play_policy`.
        concurrency: Episodes at once.
        distractors: Asked for with each episode; None: the gateway decides.

    Raises:
        ValueError: There are no sources, or more samples than are played at once.
        RefusedError: The gateway does not know a source.
    """
    if not sources:
        raise ValueError("an evaluation needs at least one environment")

    async def play(num_samples: int, temperature: float) -> Figures:
        planned = plan_rollouts(
            sources,
            num_episodes=1,
            num_samples=num_samples,
            root_seed=root_seed,
            distractors=distractors,
        )
        played = await play_policy(
            gateway,
            policy,
            renderer,
            tokenizer,
            planned,
            temperature=temperature,
            limits=limits,
            users=users,
            concurrency=concurrency,
        )
        return figures_of(played)

    return Evaluation(
        greedy=await play(1, 0.0), sampled=await play(samples, 1.0) if samples else None
    )
