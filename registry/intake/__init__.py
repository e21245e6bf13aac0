"""From documents to stored rows: importing in batches, and what models are asked about what lies there.

Knows documents and the store; only the composition and the commands may import it. To read in this order:
:mod:`~registry.intake.importing`, :mod:`~registry.intake.storing`, :mod:`~registry.intake.stored_rows`,
:mod:`~registry.intake.removing`, :mod:`~registry.intake.judging`, :mod:`~registry.intake.domain_labels`, then
the rest.
"""
