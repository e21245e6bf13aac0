"""Values out of a JSON Schema: what a caller guesses, and what an emulated server makes up.

Knows schemas and words; knows neither servers nor episodes. The acceptance, the agents of rollouts and the
emulators may import it. To read in this order: :mod:`~astra_mcp.values.guesses`, then
:mod:`~astra_mcp.values.making` and what it draws from: ``dice``, ``scalars``, ``wording``, ``patterns``.
"""

__all__: list[str] = []
