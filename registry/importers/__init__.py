"""One small module for each format that documents come in; each turns a file into a stream of documents.

An importer knows its format alone: neither the database nor the filters. Only :mod:`registry` and the
composition root import it.
"""
