"""Signs of a policy's health: what form its turns have, how that changes, and what is wrong when it does.

What needs logits takes probabilities. Knows nothing of ``supervision``, which names its alarms. Trainers and
the command line import it. To read in this order: ``structure``, ``stored``, ``monitor``, ``probes``,
``rules``, ``alarms``.
"""
