"""Signals that a supervisor gives a run of reinforcement learning, each a setting of the same run.

Within a group, members may play what is known to be right, or be given a hint (``guidance``); between steps,
the policy may learn from what it failed at, or from what is said about it (``schedule``). Knows the renderer,
rollouts, ``training.rl.core`` and trajectories; knows no tensor and no trainer, which import it. To read in
this order: ``settings``, ``questions``, ``gold``, ``hints``, ``guidance``; ``schedule``, ``stored``,
``errors``, ``lessons``; ``reviews``, ``reflections``; ``phase``.
"""
