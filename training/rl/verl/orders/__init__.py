"""Between two steps: the command looks at what a step came to and gives orders, and verl's workers follow.

What is kept of a step, which alarms hold and what a supervised phase is to learn is decided by the command,
which knows gold and whoever writes reflections; what learns is verl's. ``learner`` alone loads verl. The
launcher and the trainer import it. To read in this order: ``files``, ``overseer``, ``learner``.
"""
