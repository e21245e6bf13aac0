"""One schema of arguments for every tool, whatever dialect its author wrote.

The result is valid JSON Schema 2020-12 whose root is an object with ``properties`` and which holds no
reference. Arguments that were valid stay valid: where a meaning cannot be carried over, it is widened,
never narrowed, and noted. Knows schemas alone, neither tools nor servers; only :mod:`registry.documents`
imports it. To read in this order: :mod:`~registry.schemas.argument_schemas`,
:mod:`~registry.schemas.translation`, :mod:`~registry.schemas.keywords`,
:mod:`~registry.schemas.constraints`, then the rest.
"""
