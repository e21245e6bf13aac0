"""What a policy earns on environments: greedy and at T = 1, through the gateway.

Knows how policies play (:mod:`training.rl.core`), not what trained them. ``sampler`` imports torch, and is
imported by whoever has a model in this process. To read in this order: ``figures``, ``evaluating``,
``sampler``.
"""
