"""Families in which a call may change what later calls return."""
