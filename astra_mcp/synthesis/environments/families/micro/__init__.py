"""Families for small models: few, short tools, and names of one closed vocabulary that all bundles share.

Worlds and questions are new in each bundle, words are not: a policy of some hundred thousand parameters learns to copy
names most easily that it has seen. Where data is split by entity, names are made up, and no two splits share one.
To read in this order: ``vocabulary``, ``tables``, ``boxes``, ``relations``, ``routes``.
"""
