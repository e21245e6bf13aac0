"""What is said where a schema cannot be read, or only with a change."""

from astra_mcp.errors import AstraError

__all__ = ["NotConvertibleError", "Notes", "json_type"]

_MAX_NOTES = 40
_MAX_PLACE = 200


class NotConvertibleError(AstraError, ValueError):
    """A schema says what cannot be mapped; the message names the place in it."""

    def __init__(self, place: str, fault: str) -> None:
        super().__init__(place, fault)
        self.place = place
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}"


class Notes:
    """What was changed, in the order of its discovery; each place and change once."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}
        self.num_widened = 0
        """So many changes let more values pass than the schema as found, whether or not they are noted;
        whoever negates a schema must know."""

    def changed(self, place: str, what: str) -> None:
        """Note a change after which the same values are valid as before."""
        self._notes[f"{place[-_MAX_PLACE:]}: {what}"] = None

    def widened(self, place: str, what: str) -> None:
        """Note a change after which more values are valid than before."""
        self.num_widened += 1
        self.changed(place, what)

    def take_over(self, others: "Notes") -> None:
        """Note all that others noted."""
        self._notes.update(others._notes)
        self.num_widened += others.num_widened

    def all(self) -> tuple[str, ...]:
        """At most 40, and how many more there are."""
        notes = tuple(self._notes)
        if len(notes) <= _MAX_NOTES:
            return notes
        return (*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more changes of these kinds")


def json_type(value: object) -> str:
    """What JSON calls the type of a value, for people."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
