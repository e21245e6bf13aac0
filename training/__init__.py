"""Agents against the gateway: rollouts, what becomes of their trajectories, and models that learn from them.

Knows the gateway by :mod:`gateway.api` alone, and reaches tools in no other way. Only :mod:`astra_mcp.cli`
imports it. To read in this order: ``rollout``, ``rewards``, ``export``; then, of training, ``render``,
``checkpoints``, ``rl.core``, ``signals``, ``evaluation``, ``sft``, ``tiny``. Nothing outside ``tiny``,
``sft``, ``rl``, ``render``, ``checkpoints`` and ``evaluation`` imports torch or Transformers.
"""
