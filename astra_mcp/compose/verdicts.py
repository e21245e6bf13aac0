"""The acceptance and what it and judges said of bundles, under the home.

Verdicts of the acceptance have a small file each (its ``VerdictStore``). What judges said is a line for each
time in one file, which lists can read whole.
"""

import logging
import os
import secrets
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from astra_mcp.compose.bundles import open_bundle_sandbox
from astra_mcp.compose.settings import Settings
from astra_mcp.environments.acceptance.remembered import acceptance_version, verify_or_remember
from astra_mcp.environments.acceptance.verdict import FailedCheck, Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.judgement import Judgement, Question, judged
from astra_mcp.environments.verifiers import open_verifiers
from astra_mcp.sandbox import SandboxReport
from astra_mcp.synthesis.environments.publication import Acceptance
from astra_mcp.types import FrozenModel

__all__ = [
    "Judged",
    "JudgedBundle",
    "StoredJudgements",
    "StoredVerdicts",
    "open_acceptance",
    "versioned_acceptance",
]

_log = logging.getLogger("astra_mcp.registry")
_verdicts = TypeAdapter(Verdict)


class StoredVerdicts:
    """The verdicts of one version of the acceptance."""

    def __init__(self, home: Path, version: str) -> None:
        """Look for them in the home; nothing is made there before the first one is kept."""
        self._folder = home / "verdicts" / version[:16]

    def find(self, content_hash: str) -> Verdict | None:
        """What was kept of a bundle; None where nothing was, or what is there is damaged."""
        try:
            head, _, body = self._file(content_hash).read_bytes().partition(b"\n")
            return _verdicts.validate_json(body) if head == _head(body) else None
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _log.warning("a verdict cannot be read: %s", error)
            return None

    def keep(self, content_hash: str, verdict: Verdict) -> None:
        """Keep a verdict; one that cannot be written is logged: it saves time and nothing else."""
        body = _verdicts.dump_json(verdict)
        file = self._file(content_hash)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(_head(body) + b"\n" + body)
            draft.replace(file)
        except OSError as error:
            _log.warning("a verdict cannot be written: %s", error)
            draft.unlink(missing_ok=True)

    def _file(self, content_hash: str) -> Path:
        return self._folder / content_hash[:2] / content_hash


def _head(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()


class Judged(StrEnum):
    """What a judge's votes came to."""

    SOUND = "sound"
    UNSOUND = "unsound"
    UNDECIDED = "undecided"


_JUDGED = {True: Judged.SOUND, False: Judged.UNSOUND, None: Judged.UNDECIDED}


class JudgedBundle(FrozenModel):
    """What was said of one bundle."""

    content_hash: str
    judged: Judged
    against: tuple[Question, ...] = ()
    """Questions that were decided against it."""
    at: datetime


class StoredJudgements:
    """What judges said; of a bundle the last holds, and a changed bundle is another one."""

    def __init__(self, home: Path) -> None:
        """Look for it in the home; nothing is made there before the first one is kept."""
        self._file = home / "judgements.jsonl"
        self._stamp: tuple[int, int] | None = None
        self._known: Mapping[str, JudgedBundle] = {}

    def keep(self, bundle: Bundle, judgements: Sequence[Judgement]) -> None:
        """Keep what was said; what cannot be written is logged, and can be asked for again at no cost.

        Nothing is kept where nothing is decided because the model failed.
        """
        outcome = judged(judgements)
        if outcome is None and any(vote.answer is None for j in judgements for vote in j.votes):
            return
        said = JudgedBundle(
            content_hash=bundle.content_hash,
            judged=_JUDGED[outcome],
            against=tuple(dict.fromkeys(j.question for j in judgements if j.verdict is False)),
            at=datetime.now(UTC),
        )
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._file.open(
                "ab"
            ) as file:  # at once, and apart from a line that was broken off
                file.write(b"\n" + said.model_dump_json().encode() + b"\n")
        except OSError as error:
            _log.warning("what a judge said cannot be kept: %s", error)

    def known(self) -> Mapping[str, JudgedBundle]:
        """Read all by the bundles' content hashes; again where more was kept since."""
        try:
            found = os.stat(self._file)
            stamp = found.st_size, found.st_mtime_ns
            if stamp != self._stamp:
                self._known = {said.content_hash: said for said in self._read()}
                self._stamp = stamp
        except FileNotFoundError:
            return {}
        except OSError as error:
            _log.warning("what judges said cannot be read: %s", error)
        return self._known

    def _read(self) -> Iterator[JudgedBundle]:
        for number, line in enumerate(self._file.read_bytes().splitlines(), start=1):
            try:
                if line:
                    yield JudgedBundle.model_validate_json(line)
            except ValidationError:
                _log.warning("%s:%d is not what a judge said", self._file, number)


@asynccontextmanager
async def open_acceptance(settings: Settings) -> AsyncGenerator[Acceptance]:
    """Open the acceptance of synthesized bundles; what it said of one before is remembered.

    Raises:
        SandboxUnavailableError: This machine cannot isolate tool code.
    """
    async with (
        open_bundle_sandbox(settings, ()) as sandbox,
        versioned_acceptance(settings, sandbox.report) as (accept, _),
    ):
        yield accept


@asynccontextmanager
async def versioned_acceptance(
    settings: Settings, sandbox: SandboxReport
) -> AsyncGenerator[tuple[Acceptance, str]]:
    """Open the acceptance, in processes of its own, and name its version.

    Args:
        settings: Limits, and the home that verdicts are kept under.
        sandbox: What the sandbox of this machine is.
    """
    version = acceptance_version(settings.sandbox, sandbox.backend)
    store = StoredVerdicts(settings.home, version)
    async with open_verifiers(settings.sandbox, unsandboxed=bool(sandbox.missing)) as verifiers:

        async def accept(bundle: Bundle) -> Sequence[FailedCheck]:
            verdict, _ = await verify_or_remember(bundle, verifiers.verify, store)
            return verdict.failed_checks

        yield accept, version
