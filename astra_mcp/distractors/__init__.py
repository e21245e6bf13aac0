"""Task-irrelevant tools by their similarity to those of an episode: ASTRA (arXiv:2601.21558) eq. (24)-(28).

Knows documents, vectors, domains and seeds; not where tools come from, which of them can be called, or what
an episode is. The gateway meets it in the composition root, which alone imports it.
"""
