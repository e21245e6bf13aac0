"""Values for schemas: what is offered is valid, or nothing is."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import jsonschema_rs

from astra_mcp.schemas import compile_validator
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonValue
from astra_mcp.values.alternatives import NOTHING
from astra_mcp.values.making import Making, Told, ValueContext
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import NoValueError, TooLargeError, UnmetError
from astra_mcp.values.subjects.portraits import Portrait
from astra_mcp.values.wording import VirtualClock, Wording

__all__ = ["ValueMaker"]

_ATTEMPTS: Final = 16
_TOLD_ATTEMPTS: Final = 8
"""So many take what is told into account; then a valid value is worth more."""


class ValueMaker:
    """Makes values of one schema, such as the arguments or the output of a tool."""

    __slots__ = ("__dict__", "_schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Read nothing yet.

        Args:
            schema: JSON Schema 2020-12.
        """
        self._schema = schema

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return compile_validator(self._schema)

    def make(self, seed: int, *, language: str | None = None, share: float = 0.5) -> JsonValue:
        """Make a valid value; equal questions have equal answers.

        Args:
            seed: Decides it.
            language: Of the texts, such as ``en``.
            share: Of the members that are not required, how many to make, in [0, 1].

        Raises:
            NoValueError: None was found.
            SchemaError: The schema is not valid.
        """
        rng = RandomStream.of_seed(derive_seed(seed, "value"))
        return self.fill(rng, Wording(language, VirtualClock(rng).start), share=share)

    def fill(
        self,
        rng: RandomStream,
        wording: Wording,
        *,
        told: Told | None = None,
        noun: str = "",
        portrait: Portrait | None = None,
        share: float = 1.0,
    ) -> JsonValue:
        """Make a valid value around what is known.

        Args:
            rng: Decide what is not known.
            wording: Has the words.
            told: Members that are known; taken where their names and kinds fit.
            noun: What the value is about.
            portrait: The thing that it is about, where that is known.
            share: Of the members that are not required, how many to make, in [0, 1].

        Raises:
            NoValueError: None was found.
            SchemaError: The schema is not valid.
        """
        told_attempts = _TOLD_ATTEMPTS
        for attempt in range(_ATTEMPTS):
            making = Making(self._schema, wording, attempt=attempt, share=share)
            known = dict(told) if told and attempt < told_attempts else NOTHING
            dice = rng.at(attempt) if attempt else rng
            spot = ValueContext(rng=dice, noun=noun, told=known, portrait=portrait)
            try:
                value = making.value(self._schema, spot)
                if self._validator.is_valid(value):
                    return value
            except ValueError:  # a pattern beyond what can be checked
                break
            except TooLargeError:  # as it would be again, unless it was for what is told
                if known is NOTHING:
                    break
                told_attempts = 0
            except (UnmetError, RecursionError):
                continue
        raise NoValueError("no value was found that fits the schema")
