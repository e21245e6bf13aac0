"""One small module for each format that documents come in; each turns a file into a stream of documents.

An importer knows its format alone: neither the database nor the filters. To add one: a module with a
``FORMAT``, and its line in :data:`registry.importers.detection.FORMATS`. Only the composition root and the
commands import it. To read in this order: :mod:`~registry.importers.formats`,
:mod:`~registry.importers.detection`, :mod:`~registry.importers.reading`, then a format.
"""
