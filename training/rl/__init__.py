"""Reinforcement learning against the gateway.

``core`` plays episodes token by token and knows no training library; whatever updates a policy stands on it.
"""
