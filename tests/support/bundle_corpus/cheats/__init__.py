"""Cheating and broken bundles, each with its honest twin."""
