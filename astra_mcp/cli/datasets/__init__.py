"""Environments as files for others: RL rows, their import, and archives for desktop clients.

To read in this order: ``commands``, ``importing``.
"""
