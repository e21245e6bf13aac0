"""Chains of tools out of documents: by a model's proposals, by types alone, and over several servers.

Knows documents, models and the runner of pipelines; knows neither tasks nor what checks chains. Imported by
the stages behind it and by the composition root. To read in this order: ``proposing``, ``graph``, ``walking``
and ``gathering`` (what a model proposed, walked on); ``deeds``, ``fields``, ``meanings``,
``joining``, ``offline`` and ``cross_server`` (without a model).
"""
