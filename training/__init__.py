"""Agents against the gateway: rollouts, and what becomes of their trajectories.

Knows the gateway by :mod:`gateway.api` alone, and reaches tools in no other way. Only :mod:`astra_mcp.cli`
imports it.
"""
