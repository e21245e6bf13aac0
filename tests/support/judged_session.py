"""A session of answers that are held against each other, without a model that gives them."""

from dataclasses import dataclass, field
from typing import Any

from astra_mcp.types import JsonValue, ToolSpec
from servers.emulated.modelled.consistency import contradictions
from servers.emulated.modelled.document_entities import Vocabulary, read_vocabulary
from servers.emulated.modelled.ledger import Ledger
from servers.emulated.modelled.list_rules import note_list
from servers.emulated.modelled.mentions import read_mentions
from servers.emulated.modelled.rules import Rule, Said
from servers.emulated.verbs import Verb


@dataclass
class Session:
    """Answers of one session; those that contradict nothing are taken over."""

    tools: tuple[ToolSpec, ...]
    ledger: Ledger = field(default_factory=Ledger)
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        """Read the documents."""
        self.vocabulary = read_vocabulary(self.tools)

    def judge(
        self, name: str, value: JsonValue, arguments: dict[str, Any], *, fails: bool = False
    ) -> set[Rule]:
        """Say which rules an answer breaks, and take none over."""
        call = self.vocabulary.read(name, arguments)
        said = Said(value, fails, read_mentions(value, call, self.vocabulary))
        return {f.rule for f in contradictions(call, said, self.ledger, self.vocabulary)}

    def hear(
        self, name: str, value: JsonValue, *, fails: bool = False, **arguments: Any
    ) -> set[Rule]:
        """Take an answer, unless it contradicts what was said; then say which rules it breaks."""
        broken = self.judge(name, value, arguments, fails=fails)
        if not broken and not fails:
            call = self.vocabulary.read(name, arguments)
            mentions = read_mentions(value, call, self.vocabulary)
            self.ledger.take(call, value, mentions, self.vocabulary.settable)
            if call.verb is Verb.LIST:
                note_list(call, value, self.ledger)
        return broken
