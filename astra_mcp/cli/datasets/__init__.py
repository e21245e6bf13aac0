"""Environments and trajectories as files for others: RL rows and their import, archives, chats and logs.

To read in this order: ``sft``, ``commands``, ``importing``.
"""
