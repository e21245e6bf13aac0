"""Which dialect a chat template writes: found by letting it write a call."""

from collections.abc import Mapping, Sequence

from astra_mcp.errors import ConfigError
from training.render.dialects.hermes import Hermes
from training.render.dialects.llama import Llama
from training.render.dialects.mistral import Mistral
from training.render.dialects.turns import ControlTags, Dialect, ParsedCall, ParsedTurn, RenderError

__all__ = ["DIALECTS", "Plain", "find_dialect"]


class Plain:
    """No calls at all, for templates that show none."""

    name = "plain"
    tags = ControlTags()

    def write(self, content: str, calls: Sequence[ParsedCall]) -> str:
        """Give the words.

        Raises:
            RenderError: There are calls.
        """
        if calls:
            raise RenderError("the chat template knows no tool calls; use a model that calls tools")
        return content

    def call_id(self, id: str) -> str:
        """Give an id as it is."""
        return id

    def read(self, text: str) -> ParsedTurn:
        """Take it all for words."""
        return ParsedTurn(content=text)


_AROUND = 100
"""Characters of an unknown dialect that its message shows on either side of the tool's name."""
_ALL: Sequence[Dialect] = (
    Hermes(),
    Llama(),
    Mistral("mistral", ""),
    Mistral("mistral_spaced", " "),
    Plain(),
)
DIALECTS: Mapping[str, Dialect] = {d.name: d for d in _ALL}
"""By name, in the order in which they are tried."""


def find_dialect(written: str, call: ParsedCall) -> Dialect:
    """Find the dialect in which a template wrote a call.

    Args:
        written: What the template made of a turn of the call alone.
        call: That call.

    Raises:
        ConfigError: It is none that is known.
    """
    for dialect in DIALECTS.values():
        if not isinstance(dialect, Plain) and dialect.write("", [call]) in written:
            return dialect
    if call.name not in written:
        return DIALECTS[Plain.name]
    place = written.index(call.name)
    raise ConfigError(
        f"the chat template writes tool calls in none of the dialects {', '.join(DIALECTS)}, "
        f"but so: {written[max(0, place - _AROUND) : place + _AROUND]!r}"
    )
