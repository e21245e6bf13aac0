"""Reinforcement learning against the gateway.

``core`` plays episodes token by token, makes batches of them, and knows no training library; ``native``
stands on it and updates small models in plain PyTorch.
"""
