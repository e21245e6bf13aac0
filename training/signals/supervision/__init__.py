"""Signals that a supervisor gives a run of reinforcement learning, each a setting of the same run.

Within a group, members may play what is known to be right, or be given a hint (``guidance``); between steps,
the policy may learn from what it failed at, or from what is said about it (``schedule``). Knows no tensor,
and of ``health`` the names of alarms alone. Trainers and the command line import it. To read in this order:
``settings``, ``questions``, ``gold``, ``hints``, ``reviews``, ``guidance``; ``schedule``, ``step_files``,
``errors``, ``lessons``, ``reflections``, ``phase``.
"""
