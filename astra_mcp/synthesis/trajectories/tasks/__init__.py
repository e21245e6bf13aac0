"""Tasks of a server alone, and what becomes of every task until it is kept: varied, judged, compared, stored.

Source: ASTRA sec. 2.1.3. Knows documents, models and drafts of tasks; how chains are found and checked is
others'. Imported by the pipeline of its package and by the composition root. To read in this order:
``shown_tools``, ``server_tasks``; ``personas``, ``augmenting``; ``details``, ``keeping``; ``scoring``,
``near_duplicates``, ``storing``; ``audit``.
"""
