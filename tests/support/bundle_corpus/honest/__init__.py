"""Honest bundles."""
