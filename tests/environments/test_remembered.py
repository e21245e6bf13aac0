"""A verdict is remembered as long as neither the bundle nor anything that decides has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from astra_mcp.compose.verdicts import StoredJudgements, StoredVerdicts
from astra_mcp.environments.acceptance import Check, FailedCheck, Verdict, remembered
from astra_mcp.environments.acceptance.remembered import (
    DECIDING,
    acceptance_version,
    verify_or_remember,
)
from astra_mcp.environments.acceptance.verdict import Spent
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.judging.judgement import Answer, Judgement, Question, Vote
from astra_mcp.environments.loading import load_bundle
from astra_mcp.sandbox import SandboxLimits
from servers.bundled import bundled_folder

REFUSED = Verdict("ash", (FailedCheck(Check.ECHOED_ANSWER, "it is", "x"),), Spent(1, 2, 0.5, 3.0))
SLOW = Verdict("ash", (FailedCheck(Check.LIMITS, "too slow"),))


class Acceptance:
    """In the place of the acceptance: says what it is told to, and counts."""

    def __init__(self) -> None:
        self.says = REFUSED
        self.num_asked = 0

    async def __call__(self, bundle: Bundle) -> Verdict:
        del bundle
        self.num_asked += 1
        return self.says


async def test_a_verdict_is_found_again_until_the_bundle_the_acceptance_or_its_file_changes(
    tmp_path: Path,
) -> None:
    acceptance = Acceptance()
    bundle = load_bundle(create_bundle("ash", tmp_path))
    store = StoredVerdicts(tmp_path / "home", "1" * 64)

    async def asked(**changes: object) -> bool:
        other = bundle.model_copy(update=changes)
        verdict, is_remembered = await verify_or_remember(other, acceptance, store, again=False)
        assert verdict == REFUSED
        return not is_remembered

    assert await asked()
    assert not await asked()
    assert await asked(code=bundle.code + "\n")
    store = StoredVerdicts(tmp_path / "home", "2" * 64)
    assert await asked()
    assert not await asked()
    for file in (tmp_path / "home" / "verdicts").rglob(bundle.content_hash):
        file.write_bytes(file.read_bytes().replace(b"it is", b"it was"))
    assert await asked()
    assert (await verify_or_remember(bundle, acceptance, store, again=True))[1] is False
    assert acceptance.num_asked == 5


async def test_a_refusal_that_may_be_the_machine_s_doing_is_not_remembered(
    tmp_path: Path,
) -> None:
    acceptance = Acceptance()
    bundle = load_bundle(create_bundle("ash", tmp_path))
    store = StoredVerdicts(tmp_path / "home", "1" * 64)
    acceptance.says = SLOW
    for _ in range(2):
        assert await verify_or_remember(bundle, acceptance, store, again=False) == (SLOW, False)


def test_all_that_the_acceptance_imports_is_part_of_its_version() -> None:
    listing = (
        "import sys, astra_mcp.environments.acceptance\n"
        "for name, module in sys.modules.items():\n"
        "    if name.startswith('astra_mcp.'): print(module.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", listing], stdout=subprocess.PIPE, check=True)
    package = Path(remembered.__file__).parents[2]
    imported = [Path(line).relative_to(package) for line in done.stdout.decode().splitlines()]
    assert len(imported) > len(DECIDING)
    assert [file for file in imported if file.parts[0] not in DECIDING] == []
    assert all((package / name).exists() for name in DECIDING)


def test_other_limits_are_another_acceptance() -> None:
    usual, longer = SandboxLimits(), SandboxLimits(hard_seconds=9.0)
    assert acceptance_version(usual, "zygote") != acceptance_version(longer, "zygote")


def test_the_last_judgement_of_a_bundle_holds_and_damage_costs_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    one, other = (
        load_bundle(bundled_folder() / n) for n in ("rental-move-in", "cinema-family-outing")
    )
    said = StoredJudgements(home)
    assert said.known() == {}
    for answer in (Answer.NO, Answer.YES):
        said.keep(one, [Judgement(Question.SAME_SUBJECT, (Vote(answer, ""),))])
    with (home / "judgements.jsonl").open("a") as file:
        file.write('{"content_hash": "broken of')
    said.keep(other, [Judgement(Question.SAME_SUBJECT, (Vote(Answer.UNCLEAR, ""),))])
    said.keep(one, [Judgement(Question.SAME_SUBJECT, (Vote(None, "it did not answer"),))])
    found = said.known()
    assert {hash_: each.judged for hash_, each in found.items()} == {
        one.content_hash: "sound",
        other.content_hash: "undecided",
    }
    assert "judgements.jsonl:5 is not what a judge said" in caplog.text
    assert said.known() is found


def test_a_judgement_that_cannot_be_kept_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("a file")
    bundle = load_bundle(bundled_folder() / "rental-move-in")
    StoredJudgements(tmp_path / "home").keep(bundle, [])
    assert "what a judge said cannot be kept" in caplog.text
