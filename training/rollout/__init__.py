"""Rollouts: one agent plays episodes through the gateway and leaves trajectories.

An agent sees an episode's prompt and tools and calls them over MCP; only the oracle may ask the control
plane for gold. Commands import this package, and rewards ``arguments``. To read in this order:
``plan``, ``settings``, ``agent``, ``limits``, ``agents``, ``users``, ``arguments``, ``episode``,
``model_usage``, ``run``, ``resume``; beside them ``chain_runner``, by which synthesis executes chains
of tools.
"""
