"""From knowledge to decomposed questions: the first half of synthesis with a model (ASTRA 2.2.1, 2.2.2).

In reading order: ``source`` (what is synthesized from), ``instance`` (a question with its sub-questions),
``decomposition`` (the model writes some), ``quantities``, ``formulas`` and ``topology`` (code judges them
before any further call), ``gating`` (the stage that does, with near-duplicates), ``necessity``
(which need a tool), ``quality`` (the scores of Eq. 14 to 21). Knows the model layer and the pipeline; knows
neither tools' code nor the sandbox. Imported by the composition root.
"""
