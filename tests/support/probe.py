"""Tool code that looks at whatever it can reach, and a bundle of it: what it tells must not depend on where it runs.

It asks every clock, random generator and process number that it finds, and walks frames, classes and modules.
"""

__all__ = ["PROBE"]

PROBE = """
import datetime, gc as _absent
"""
