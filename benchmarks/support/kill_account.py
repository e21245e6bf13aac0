"""What agents of episodes that outlive gateways were told, held against the records and the ledger.

An episode is judged once it is over, so that a long run keeps nothing of it but counts.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from astra_mcp.call_record import EpisodeId
from astra_mcp.mcp.request_context import Era
from gateway.episodes.record import read_record, record_path

from fault_bench import ENVIRONMENT, SERVERS, Asked
from mcp_wire import Answer, Kind

__all__ = ["KillFigures", "Played"]

_NUMBERED = " is number "
"""Between a nonce and its number in what the environment answers."""


@dataclass(kw_only=True)
class Played:
    """One episode, as its agent knows it."""

    id: EpisodeId
    url: str
    """Where it is called."""
    server: str
    era: Era
    born: int
    """Number of the gateway's life in which it was opened."""
    answered: dict[Asked, Answer] = field(default_factory=dict[Asked, Answer])
    failure: str = ""
    """With which it ended, as it may at a server whose state is not the gateway's."""
    is_wrong: bool = False
    """An answer was not the one that belongs to its call; nothing more is asked of it."""

    @property
    def is_deployed(self) -> bool:
        """False for the environment."""
        return self.server != ENVIRONMENT

    @property
    def is_over(self) -> bool:
        """True where it takes no more calls."""
        return self.is_wrong or bool(self.failure)

    @property
    def results(self) -> list[Asked]:
        """The calls that were answered with a result, in order."""
        return [asked for asked, answer in self.answered.items() if answer.kind is Kind.RESULT]

    def expected(self, asked: Asked) -> str:
        """Say what the right answer to the next call is."""
        number = len(self.results) + 1
        return asked.nonce if self.is_deployed else f"{asked.nonce}{_NUMBERED}{number}"

    def allowed_failure(self, answer: Answer, *, asked_in: int, life: int) -> str:
        """Name a failure that a kill may bring to an episode; empty where this is none.

        Args:
            answer: To a call.
            asked_in: The gateway's life in which the call was first sent.
            life: The gateway's life now.
        """
        if self.server not in SERVERS:
            return ""
        if "delivery unknown" in answer.text and asked_in < life:
            return "under way at the kill"
        wire, isolation = SERVERS[self.server]
        has_state = isolation == "episode" and (wire == "stdio" or self.era is Era.HANDSHAKE)
        if "before its restart" in answer.text and has_state and self.born < life:
            return "its state at the server ended"
        return ""


@dataclass(kw_only=True)
class KillFigures:
    """What came of all kills so far."""

    kills: int = 0
    kills_before_well: int = 0
    """Of them, those that came before everything was well again after the kill before."""
    healed: int = 0
    """Starts after which new episodes of all kinds and all old ones were answered."""
    heal_ms: list[float] = field(default_factory=list[float])
    """From the start of each gateway that healed."""
    episodes: int = 0
    asked: int = 0
    """Calls, each of which may be sent several times."""
    sent: int = 0
    answered: int = 0
    repeated: int = 0
    """Calls that were asked for again after their answer."""
    vanished: int = 0
    """Clients that closed their connection in the middle of a request."""
    under_way: int = 0
    """Calls that no answer had come to when the gateway was killed."""
    most_kills: int = 0
    """That one episode outlived."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """Episodes that ended as they may, by what a kill took from them."""
    doubled: set[str] = field(default_factory=set[str])
    """Nonces that were executed twice, and calls that were answered or recorded in two ways."""
    lost: list[str] = field(default_factory=list[str])
    """Answers that are not in the record, not executed, or not what the record says."""
    wrong: list[str] = field(default_factory=list[str])
    """Whatever else should not be."""

    @property
    def unexpected(self) -> list[str]:
        """Everything that should not be, one line each."""
        doubled = [f"doubled: {one}" for one in sorted(self.doubled)]
        return doubled + [f"lost: {one}" for one in self.lost] + self.wrong

    def summary(self) -> dict[str, Any]:
        """Reduce to figures."""
        names = ("kills", "kills_before_well", "healed", "episodes", "asked", "sent", "answered")
        more = ("repeated", "vanished", "under_way", "most_kills")
        heal = self.heal_ms or [0.0]
        return {
            **{name: getattr(self, name) for name in (*names, *more)},
            **{name: len(getattr(self, name)) for name in ("doubled", "lost", "wrong")},
            **{f"failed_{why.replace(' ', '_')}": n for why, n in sorted(self.failed.items())},
            "heal_p50_ms": round(statistics.median(heal)),
            "heal_max_ms": round(max(heal)),
        }

    def take(self, played: Played, asked: Asked, answer: Answer, failure: str) -> None:
        """Note the first answer to a call.

        Args:
            played: The episode.
            asked: The call.
            answer: To it.
            failure: One that may be, where the answer is one.
        """
        self.answered += 1
        expected = played.expected(asked)
        played.answered[asked] = answer
        played.failure = failure
        if failure or (answer.kind is Kind.RESULT and answer.text == expected):
            return
        said = f"{played.server}: {expected!r} was answered {answer.kind}: {answer.text[:200]}"
        played.is_wrong = True
        before, _, number = answer.text.partition(_NUMBERED)
        if played.is_deployed or before != asked.nonce or not number.isdecimal():
            self.wrong.append(said)
        elif int(number) > len(played.results):
            self.doubled.add(said)
        else:
            self.lost.append(said)

    def take_again(self, played: Played, asked: Asked, again: Answer) -> None:
        """Note another answer to a call that was answered before."""
        self.repeated += 1
        before = played.answered[asked].text
        if again.text == before:
            return
        said = f"{asked.call_id}: {before!r}, and later {again.kind} {again.text[:200]!r}"
        if again.kind is Kind.RESULT:
            self.doubled.add(said)
        else:
            self.lost.append(said)

    def judge(self, played: Played, records: Path, executed: Counter[str]) -> None:
        """Hold what an agent was told against the record and what the servers executed.

        Args:
            played: An episode that is over, or that nobody calls for now.
            records: Folder of all records.
            executed: How often each nonce was executed.
        """
        if played.failure:
            self.failed[played.failure] += 1
        record = read_record(record_path(records, played.id))
        begun = Counter(call.call_id for call in record.calls)
        self.doubled |= {call_id for call_id, times in begun.items() if times > 1}
        recorded = {call.call_id: call.result for call in record.finished_calls}
        for asked, answer in played.answered.items():
            result = recorded.get(asked.call_id)
            told_result = answer.kind is Kind.RESULT
            if result is None and not told_result:
                continue  # a refusal says that nothing was done, and is in no record
            if result is None or (result.text, result.is_error) != (answer.text, not told_result):
                kept = "nothing" if result is None else repr(result.text[:200])
                told = f"{answer.kind} {answer.text[:200]!r}"
                self.lost.append(f"{asked.call_id}: told {told}, recorded {kept}")
            elif told_result and played.is_deployed and not executed[asked.nonce]:
                self.lost.append(f"{asked.call_id}: answered, and not executed")

    def count_executions(self, executed: Counter[str]) -> None:
        """See what was executed twice."""
        self.doubled |= {nonce for nonce, times in executed.items() if times > 1}
