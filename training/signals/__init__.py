"""What keeps reinforcement learning alive on either back end: seeing how a policy fares, and helping it.

Knows the renderer, rollouts, episodes of policies and trajectories; knows no training library and no
trainer. Trainers and the command line import it. To read in this order: ``health``, ``supervision``.
"""
