"""``registry import --judge`` and ``registry label`` with a model behind a real endpoint."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.completions import (
    Answer,
    CompletionRequest,
    Policy,
    Refusal,
    Reply,
    open_completions,
)

from command_line import Cli

SENTENCES = ("Tell the height of the tide at an hour", "Tell the width of the river at a mile")
SHORT = "Water roses"
"""So little that the rule leaves it to a judge."""


def answer(request: CompletionRequest) -> Reply:
    """Find whatever is asked about vague, and say that everything is about the weather."""
    if "is_clear" in json.dumps(request.messages):
        return Answer(content={"reason": "two words", "is_clear": False})
    return Answer(content={"reason": "tides", "domain": "weather"})


def refuse(request: CompletionRequest) -> Reply:
    """Fail."""
    del request
    return Refusal(400, "no")


Registry = Callable[..., tuple[int, dict[str, Any]]]


@contextmanager
def registry_asking(home: Path, policy: Policy) -> Generator[Registry]:
    """Runs commands whose model is behind an endpoint; each returns how it exits and what it tells."""
    opening = open_completions(policy)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as server:
        model = {"MODEL": "scripted", "BASE_URL": server.base_url}
        cli = Cli(home, {f"ASTRA_MCP_MODELS__JUDGE__{name}": v for name, v in model.items()})

        def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
            done = cli.run("registry", *map(str, arguments), "--json")
            return done.returncode, done.told

        yield run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two services whose labels say no domain; a tool of the first one is described in two words."""
    texts = {
        "alpha": (*SENTENCES, "List the tides of all harbours", SHORT),
        "beta": (*SENTENCES, "List the rivers of all valleys"),
    }
    functions: list[dict[str, Any]] = [
        {"name": f"{service}.tool_{n}", "description": text, "parameters": {}}
        for service, described in texts.items()
        for n, text in enumerate(described)
    ]
    path = tmp_path / "functions.json"
    path.write_text(json.dumps(functions))
    return path


def test_a_judge_decides_what_the_rule_leaves_open(file: Path, home: Path) -> None:
    with registry_asking(home, answer) as registry:
        code, told = registry("import", file, "--judge")
    assert code == 0
    assert told["tools"]["rejected"] == {"vague_description": 1}
    assert told["servers"]["kept"] == 2
    assert (told["model_calls"], told["cached_calls"]) == (1, 0)
    assert told["tokens"] > 0


def test_an_import_whose_judge_fails_keeps_the_rest_and_exits_with_1(
    file: Path, home: Path
) -> None:
    with registry_asking(home, refuse) as registry:
        code, told = registry("import", file, "--judge")
    assert code == 1
    assert told["tools"]["rejected"] == {"undecided": 1}
    assert told["servers"]["kept"] == 2
    with registry_asking(home, answer) as registry:
        code, told = registry("import", file, "--judge")
    assert code == 0
    assert told["tools"]["rejected"] == {"vague_description": 1}


def test_an_import_whose_budget_is_spent_tells_what_was_imported_before_it_ended(
    file: Path, home: Path
) -> None:
    file.with_name("clear.json").write_text(file.read_text().replace(SHORT, SENTENCES[0]))
    with registry_asking(home, answer) as registry:
        code, told = registry("import", file.parent, "--judge", "--max-calls", "0")
    assert code == 1
    assert told["stopped"] == "the budget of 0 calls is spent"
    assert (told["added"], told["tools"]["kept"]) == (2, 7)
    assert told["model_calls"] == 0


def test_servers_without_a_domain_get_one_by_a_model_and_no_answer_is_paid_twice(
    file: Path, home: Path
) -> None:
    with registry_asking(home, answer) as registry:
        registry("import", file)
        code, told = registry("label")
        assert (code, told["by"], told["labelled"]) == (0, "model", {"weather": 2})
        assert (told["model_calls"], told["failed"]) == (2, {})
        _, again = registry("label")
        assert (again["model_calls"], again["labelled"]) == (0, {})
        _, listed = registry("list", "--domain", "weather")
    assert listed["total"] == 2


def test_a_model_that_fails_leaves_servers_without_a_domain_and_says_why(
    file: Path, home: Path
) -> None:
    with registry_asking(home, refuse) as registry:
        registry("import", file)
        code, told = registry("label", "--by", "model")
    assert code == 1
    assert sum(told["failed"].values()) == 2
    assert told["labelled"] == {}
