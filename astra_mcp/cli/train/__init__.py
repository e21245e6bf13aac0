"""``astra-mcp train``: training models, and the curves of runs.

Knows options, tables and pages; what a run does is :mod:`training.sft`'s. PyTorch is loaded when a run
begins. ``command`` holds the commands; of ``train sft``, ``sft`` puts the parts of a run together, ``plan``
shows what it will use, ``validating`` plays held-out environments; ``rl`` does ``train rl``, ``verl``
has verl do it, and ``supervisor`` opens the model that helps both; ``stopping`` hears signals for all, and
``page`` draws the curves.
"""
