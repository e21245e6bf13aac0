"""What the machine gives a gateway process: room on the disk, files, time that goes on steadily, turns.

Knows neither episodes nor requests. Everything of the gateway may import it, and the composition.
To read in this order: :mod:`~gateway.machine.room`, :mod:`~gateway.machine.files`,
:mod:`~gateway.machine.clock`, :mod:`~gateway.machine.lateness`.
"""
