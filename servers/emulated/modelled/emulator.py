"""The emulator that asks a model."""

from astra_mcp.llm.model import Model
from astra_mcp.seeds import generator
from astra_mcp.types import EmulatorKind
from servers.emulated.document import EmulatedDocument
from servers.emulated.modelled.asking import Writer
from servers.emulated.modelled.state import ModelState
from servers.emulated.modelled.vocabulary import Vocabulary, read_vocabulary

__all__ = ["ModelEmulator"]

_MAX_VOCABULARIES = 256
"""Of documents, kept; reading those of a server with hundreds of tools takes some 50 ms."""


class ModelEmulator:
    """Satisfies :class:`~servers.emulated.emulator.Emulator`.

    Source: ASTRA (arXiv:2601.21558) sec. 2.1.4: a stateful tool-response emulation that retains the
    session's invocations and outputs.
    Deviation: answers are held against a ledger of what was given out; the paper names no check.
    """

    def __init__(self, model: Model, *, hint_share: float = 0.0) -> None:
        """Open no session yet.

        Args:
            model: Of the role ``emulator``.
            hint_share: In this share of the sessions that have a prompt, the model is shown it.

        Raises:
            ValueError: The share is none.
        """
        if not 0 <= hint_share <= 1:
            msg = f"hint_share must be from 0 to 1, not {hint_share:g}"
            raise ValueError(msg)
        self._model = model
        self._hint_share = hint_share
        self._vocabularies: dict[str, Vocabulary] = {}

    @property
    def kind(self) -> EmulatorKind:
        """A model."""
        return EmulatorKind.MODEL

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> ModelState:
        """Begin a session.

        Args:
            document: Of the server.
            seed: Another one asks the model anew.
            prompt: What the user asked for; whether the model is shown it is drawn from the seed.
        """
        is_told = generator(seed, "hint").random() < self._hint_share
        writer = Writer(self._model, document, (prompt or "") if is_told else "")
        return ModelState(document, self._vocabulary(document), writer, seed=seed)

    def _vocabulary(self, document: EmulatedDocument) -> Vocabulary:
        known = self._vocabularies.get(document.version)
        if known is None:
            known = read_vocabulary(document.tools)
            if len(self._vocabularies) >= _MAX_VOCABULARIES:
                del self._vocabularies[next(iter(self._vocabularies))]
            self._vocabularies[document.version] = known
        return known
