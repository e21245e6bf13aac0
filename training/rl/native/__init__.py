"""GRPO in plain PyTorch for small models: on a CPU or one GPU, through the gateway.

Plays groups by :mod:`training.rl.core`, judges by :mod:`training.evaluation`, and keeps checkpoints; takes
from :mod:`training.sft` what loads and saves a model, and the folder of a run. PyTorch and Transformers are
the extra ``train``; ``settings`` loads neither. The command line and benchmarks import it. To read in this
order: ``settings``, ``objective``, ``credit``, ``agenda``, ``generation``, ``questions``, ``batch``,
``update``, ``lesson_updates``, ``supervision``, ``measuring``, ``watching``, ``trainer``.
"""
