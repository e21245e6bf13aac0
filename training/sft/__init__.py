"""Supervised fine-tuning: chats with tools become examples, and a model learns its own turns of them.

Knows the rows of :mod:`training.export`, the renderer and checkpoints; a validator that plays environments is
given to it. PyTorch, Transformers and Accelerate are the extra ``train``; what a command needs before it
begins (``settings``, ``presets``, ``configuring``, ``run_folder``) loads none of them. The command line alone
imports it. To read in this order: ``settings``, ``presets``, ``configuring``; ``conversations``,
``examples``, ``mixture``, ``schedule``, ``preparing``, ``estimate``; ``batches``, ``model``, ``devices``,
``run_folder``, ``training``.
"""
