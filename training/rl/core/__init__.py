"""Plays episodes by a policy of tokens: what was sampled is kept as it was, and what came back is appended.

Knows the one renderer, rollouts and the gateway's client; knows no training library, so a policy is whatever
satisfies :class:`~training.rl.core.policy.Policy`. Evaluation and trainers import it. To read in this order:
``policy``, ``rounds``, ``token_log``, ``policy_agent``, ``playing``.
"""
