"""Signs of a policy's health: what form its turns have, how that changes, and what is wrong when it does.

Knows renderers, episodes of policies and trajectories; knows no training library, and what needs logits takes
probabilities. Trainers of both back ends and the command line import it. To read in this order:
``structure``, ``stored``, ``monitor``, ``probes``, ``rules``, ``alarms``.
"""
