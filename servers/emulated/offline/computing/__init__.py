"""What follows from a call's arguments, or from the session's clock and dice: computed, not made up.

A tool is taken for a computation only where every word of its name and every argument that it needs is
explained by it; the rest is left to those who make answers up. Knows readings of tools and the session's
dice; knows neither entities nor who asks. Only the offline emulator imports it. To read in this order:
:mod:`~.operands`, :mod:`~.computation`, :mod:`~.recognition`, :mod:`~.binding`, :mod:`~.answering`, then the
subjects.
"""
