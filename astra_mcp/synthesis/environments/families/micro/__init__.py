"""Families for small models: few, short tools, and names of one closed vocabulary that all bundles share.

Worlds and questions are new in each bundle, words are not: a policy of some hundred thousand parameters can copy a
name that it has seen, and not spell one that it has not.
"""
