"""The agents that come with the product: scripted ones, one that guesses, and any chat model.

Each is a :class:`~training.rollout.agent.Agent` and knows an episode by its view alone. Only commands
import them, each where it is asked for. To read in this order: ``scripted``, ``seen_texts``, ``random``,
``baselines``, ``model_agent``.
"""
