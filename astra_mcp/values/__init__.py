"""Values out of a JSON Schema, for three who need them: the acceptance, agents of rollouts, and emulators.

The acceptance sends what the schema itself suggests (:mod:`~astra_mcp.values.guesses`) and its neighbours
(:mod:`~astra_mcp.values.neighbours`); an agent that guesses draws arguments by Hypothesis
(:mod:`~astra_mcp.values.arguments`, which is slow to import); an emulator makes up what looks real
(:mod:`~astra_mcp.values.schema_values` and, below it, ``making``, ``alternatives``, ``scalars`` and
``wording``; what things of a kind are like is in ``subjects``). Knows schemas and words;
knows neither servers nor episodes.
"""
