"""Users who go on speaking to the agent after its answers.

A user hears what a person would hear, words alone: no tools, no results, no instructions of the agent. Knows
values of tasks and a model that gives structured answers; knows neither the gateway nor an agent. ``rollout``
imports it. To read in this order: ``user``, ``dialogue``, ``secrets``,
``simulated`` (by ``prompts``).
"""
