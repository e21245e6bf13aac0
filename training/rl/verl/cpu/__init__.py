"""verl on a CPU, for tests and very small models: a platform, and a server that samples with Transformers.

verl loads ``plugin`` in each of its processes, where ``VERL_USE_EXTERNAL_MODULES`` names it; nothing of verl
is edited. Nobody else imports it. To read in this order: ``platform``, ``replica``, ``plugin``.
"""
