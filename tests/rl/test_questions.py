"""What a run plays: environments by name, and rows of files with what each asks for."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError, UnknownNameError
from gateway.api.wire import DistractorRequest
from training.rl.native.questions import find_held_out, find_questions
from training.rl.native.settings import RlSettings

from small_gateway import NAME, SmallGateway, open_small_gateway


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


def settings(*data: dict[str, Any], **sections: Any) -> RlSettings:
    return RlSettings.model_validate(
        {
            "model": "model",
            "out": "run",
            "data": data,
            "training": {"learning_rate": 0.1},
            **sections,
        }
    )


def write(file: Path, *episodes: object) -> str:
    rows = [{"extra_info": {"episode": json.dumps(episode)}} for episode in episodes]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def episode(**more: object) -> dict[str, object]:
    return {"source": {"kind": "environment", "name": NAME}, "seed": 3, **more}


async def test_a_row_says_what_is_asked_for_and_its_set_says_the_rest(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    own = episode(distractors={"mode": "banded", "k": 2}, failures={"rate": 0.5})
    file = write(tmp_path / "rows.jsonl", own, episode())
    usual = {"distractors": {"mode": "random"}, "failures": {"rate": 0.1}}
    first, second, named = await find_questions(
        harbour.client, settings({"file": file, **usual}, {"environments": [NAME]})
    )
    assert first.distractors is not None
    assert first.failures is not None
    assert (first.distractors.mode, first.failures.rate) == ("banded", 0.5)
    assert second.distractors is not None
    assert second.failures is not None
    assert (second.distractors.mode, second.failures.rate) == ("random", 0.1)
    assert (named.distractors, named.failures, named.mixture) == (None, None, ())
    assert first.version == second.version == named.version is not None
    held_out = await find_held_out(
        harbour.client, settings({"file": file}, validation={"environments": [NAME]})
    )
    assert held_out == [(named.source, named.version)]


async def test_shares_of_distractors_are_for_what_asks_for_none(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    file = write(tmp_path / "rows.jsonl", episode(distractors={"mode": "none"}), episode())
    shares = [{"mode": "none", "share": 0.25}, {"mode": "banded", "k": 2, "share": 0.75}]
    own, mixed, named = await find_questions(
        harbour.client,
        settings(
            {"file": file, "distractors": shares},
            {"environments": [NAME], "distractors": shares},
        ),
    )
    assert (own.distractors, own.mixture) == (DistractorRequest(mode="none"), ())
    assert mixed.mixture == named.mixture
    assert [(each.mode, each.k, each.share) for each in mixed.mixture] == [
        ("none", 3, 0.25),
        ("banded", 2, 0.75),
    ]
    assert own.as_json() != mixed.as_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "row 1 has no extra_info.episode"),
        ("{", "row 1 is no JSON"),
        ('{"extra_info": {"episode": "{"}}', "row 1: extra_info.episode is no JSON"),
        ('{"extra_info": {"episode": "{}"}}', r"row 1: extra_info\.episode\.source: "),
        (
            json.dumps({"extra_info": {"episode": json.dumps(episode(labels={"a": "b"}))}}),
            r"row 1: extra_info\.episode\.labels: a run cannot ask for it",
        ),
        ("", "nothing to play"),
    ],
)
async def test_a_row_that_is_none_is_named_with_its_file(
    harbour: SmallGateway, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as told:
        await find_questions(harbour.client, settings({"file": str(file)}))
    assert "rows.jsonl" in str(told.value) or not text


async def test_environments_that_there_are_not_are_named(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    with pytest.raises(UnknownNameError, match=r"data\.0\.environments.*did you mean harbour"):
        await find_questions(harbour.client, settings({"environments": ["harbor"]}))
    other = write(tmp_path / "rows.jsonl", {"source": {"kind": "environment", "name": "harbor"}})
    with pytest.raises(UnknownNameError, match=r"rows\.jsonl: row 1.*did you mean harbour"):
        await find_questions(harbour.client, settings({"file": other}))
    wrong = settings({"environments": [NAME]}, validation={"environments": ["harbor"]})
    with pytest.raises(UnknownNameError, match=r"validation\.environments"):
        await find_held_out(harbour.client, wrong)


_WRONG: list[tuple[dict[str, Any], str]] = [
    ({"data": [{}]}, "either environments or a file"),
    ({"data": []}, "at least 1"),
    ({"objective": {"kl_weight": 0.1}}, "go together"),
    ({"training": {"learning_rate": 0.1, "mini_batches": 65}}, "has no 65 parts"),
    ({"limits": {"concurrency": 4}}, "8 episodes are played together"),
    ({"objective": {"credit_weight": 2.0}}, "credit_weight is for credit"),
    ({"objective": {"entropy_weight": float("inf")}}, "finite"),
    ({"training": {"learning_rate": 0.1, "betas": [0.9, 1.5]}}, "less than 1"),
    (
        {"data": [{"environments": [NAME], "distractors": [{"mode": "none", "share": 0.5}]}]},
        "shares come to 0.5, not to 1",
    ),
    ({"data": [{"environments": [NAME], "distractors": "banded"}]}, "write a table"),
]


@pytest.mark.parametrize(("sections", "message"), _WRONG)
def test_settings_that_do_not_go_together_are_refused(
    sections: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        settings(*sections.pop("data", [{"environments": [NAME]}]), **sections)
