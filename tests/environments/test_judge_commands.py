"""``astra-mcp environments verify --judge``, with a model behind a real endpoint."""

from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.completions import Answer, CompletionRequest, Refusal, Reply, open_completions
from astra_mcp.compose.verdicts import StoredJudgements
from astra_mcp.environments.loading import load_bundle

from command_line import Cli
from workshop import Workshop, both, put, remove


def test_the_judge_is_shown_beside_the_acceptance_and_changes_none_of_it(
    tmp_path: Path, workshop: Workshop
) -> None:
    home = tmp_path / "home"
    refused = Workshop(tmp_path / "other")
    refused.change_document(both(put("status", "unverified"), remove("answer")))

    def policy(request: CompletionRequest) -> Reply:
        if "Are all answers hidden?" in request.text:
            return Refusal(400, "no")
        is_against = "Is every dependency needed?" in request.text
        return Answer(content={"reason": "it is", "verdict": "no" if is_against else "yes"})

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_completions(policy)) as server,
    ):
        model = {"MODEL": "scripted", "BASE_URL": server.base_url}
        cli = Cli(home, {f"ASTRA_MCP_MODELS__JUDGE__{name}": v for name, v in model.items()})
        verify = ("environments", "verify", "--judge", "--votes", "1", str(workshop.path))
        done = cli.run(*verify, "--json")
        again = cli.run(*verify, str(refused.path))

    (row,) = done.told["environments"]
    assert (done.returncode, row["verified"], row["judged"]) == (0, True, False)
    assert [j["question"] for j in row["judgements"] if j["verdict"] is False] == [
        "needed_dependencies"
    ]
    assert (done.told["model_calls"], done.told["cached_calls"]) == (6, 0)
    (kept,) = StoredJudgements(home).known().values()
    assert kept.content_hash == load_bundle(workshop.path).content_hash
    assert (kept.judged, kept.against) == ("unsound", ("needed_dependencies",))
    assert again.returncode == 1
    assert "1 of 5 votes failed: the judge model 'scripted' failed" in again.stderr
    assert "hidden_answers: unclear (0 yes, 0 no, 0 unclear, 1 failed)" in again.stdout
    for line in (
        "    judged unsound",
        "      needed_dependencies: no (0 yes, 1 no, 0 unclear): it is",
        "      same_subject: yes (1 yes, 0 no, 0 unclear)",
        "    not judged: only what is verified is",
        "1 judged: 0 sound, 1 unsound, 0 undecided",
        "2 calls of the model, 4 answered by the cache",
    ):
        assert line in again.stdout.splitlines()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judge",), "no judge model is configured: set models.judge.model"),
        (("--judge", "--votes", "2"), "must be odd"),
        (("--votes", "3"), "only --judge asks a model"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_said_before_anything_runs(
    tmp_path: Path, workshop: Workshop, options: tuple[str, ...], words: str
) -> None:
    done = Cli(tmp_path / "home").run("environments", "verify", str(workshop.path), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
